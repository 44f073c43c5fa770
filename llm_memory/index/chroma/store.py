"""Vectors in Chroma, in a folder of ours or on a server, through the program that holds it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import batched
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ...errors import EngineClosed, IndexFull, IndexUnavailable, StateUnavailable
from ...models.passages import Key
from ...models.scope import ScopeFilter
from ...storage.child_process import python_program
from ..child.process import CLOSED, Asked, Child, ChildFailed, Here
from ..child.program import Json
from ..embedding.ports import Fingerprint
from ..ports import BROKEN, PAGE, IndexRecord, Neighbours, Page
from ..vectors import finite
from .records import (
    SPACE,
    USED,
    Described,
    collection_metadata,
    collection_name,
    is_ours,
    record_id,
    sound_records,
    stored_metadata,
    visible,
)
from .scope_where import scope_where

if TYPE_CHECKING:
    from ..embedding.ports import Vector, Vectors

SERVER: Final = "server"
_PROGRAM: Final = "llm_memory.index.chroma.program"
_IDLE_SECONDS: Final = 60.0
_SECONDS: Final = 120.0
"""Without a sign from the program: a thousand records on the slowest disk."""
_SERVER_SECONDS: Final = 20.0
_OUTSIDE: Final = frozenset({CLOSED, "missing", "full", "in_use", "unreadable", "no_child"})
"""Codes that blame no folder."""
_WRITTEN: Final = 500
_HNSW: Final[Json] = {
    "space": SPACE,
    "sync_threshold": 1000,
    "ef_construction": 40,
    "ef_search": 200,
}


def chroma_program() -> Asked:
    """Where Chroma lives: in a process of its own, which is there while it is asked."""
    alone = bool(python_program(Path(__file__)))
    return Child(_PROGRAM, idle_seconds=_IDLE_SECONDS) if alone else Here(_PROGRAM)


class ChromaConnection:
    """One Chroma, whoever asks it. For any thread."""

    def __init__(
        self, where: Mapping[str, Json], program: Asked, *, seconds: float = _SECONDS
    ) -> None:
        """``where`` is ``{"folder": …}`` or ``{"url": …, "headers": {…}}``. See ``in_folder`` and
        ``at_server``."""
        self._where = where
        self._program = program
        self._seconds = seconds

    @classmethod
    def in_folder(cls, folder: Path) -> ChromaConnection:
        return cls({"folder": str(folder)}, chroma_program())

    @classmethod
    def at_server(cls, url: str, headers: Mapping[str, str]) -> ChromaConnection:
        """An empty ``url`` is an address that cannot be used. The headers are for a proxy before
        the server, which has no authentication of its own; no error tells them."""
        where: dict[str, Json] = {"url": url, "headers": dict(headers)}
        return cls(where, chroma_program(), seconds=_SERVER_SECONDS)

    @property
    def has_folder(self) -> bool:
        return "folder" in self._where

    def ask(
        self, what: str, body: bytes = b"", *, urgent: bool = False, **fields: Json
    ) -> tuple[Mapping[str, Json], bytes]:
        """Raises IndexUnavailable."""
        if self._where.get("url") == "":
            raise IndexUnavailable("chroma_url is no address", code=SERVER)
        try:
            return self._program.ask(
                what, {**self._where, **fields}, body, seconds=self._seconds, urgent=urgent
            )
        except ChildFailed as error:
            raise self._translated(error) from None

    def _translated(self, error: ChildFailed) -> IndexUnavailable:
        text, headers = str(error), self._where.get("headers")
        for secret in headers.values() if isinstance(headers, dict) else ():
            text = text.replace(str(secret), "***") if secret else text
        if error.code == "full":
            return IndexFull(text)
        if error.code in _OUTSIDE:
            return IndexUnavailable(text, code=error.code)
        return IndexUnavailable(text, code=BROKEN if self.has_folder else SERVER)

    def call(
        self,
        name: str,
        call: str,
        body: bytes = b"",
        *,
        dim: int = 0,
        urgent: bool = False,
        **arguments: Json,
    ) -> tuple[Mapping[str, Json], bytes]:
        """A method of a collection. Raises IndexUnavailable."""
        return self.ask(
            "call", body, urgent=urgent, name=name, call=call, dim=dim, arguments=arguments
        )

    def listed(self) -> list[Described]:
        """Everybody's collections. Raises IndexUnavailable."""
        found = self.ask("listed")[0]["collections"]
        return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []

    def close(self) -> None:
        self._program.close()


class ChromaStore:
    """See ``VectorStore``."""

    def __init__(self, chroma: ChromaConnection, owner: Callable[[], str] = str) -> None:
        """``owner``: who we are where others store things, too: the same at each start, and of no
        other installation; empty in a folder of our own."""
        self._chroma = chroma
        self._ask_owner = owner
        self._fingerprint: Fingerprint | None = None
        self._name = ""
        """The collection in use; empty before it was looked for."""
        self._beside = ""

    def load(self, fingerprint: Fingerprint, most: int) -> Iterator[Page]:
        """See ``VectorStore``."""
        self._fingerprint, self._name = fingerprint, ""
        self._name = self._begin(fingerprint)
        count = self._chroma.call(self._name, "count")[0]["found"]
        small = isinstance(count, int) and count <= most
        wanted: list[Json] = ["metadatas", "embeddings"] if small else ["metadatas"]
        odd: list[str] = []
        offset, size = 0, PAGE
        while size == PAGE:
            found, raw = self._chroma.call(
                self._name, "get", limit=PAGE, offset=offset, include=wanted
            )
            ids = [str(one) for one in _list(found["ids"])]
            offset, size = offset + len(ids), len(ids)
            records, rows = _page(ids, found, raw, fingerprint.dim if small else 0)
            odd += [one for one, record in zip(ids, records, strict=True) if record is None]
            sound = [at for at, record in enumerate(records) if record is not None]
            if sound:
                kept = [record for record in records if record is not None]
                yield kept, None if rows is None else rows[sound]
        self._delete(self._name, odd)

    def _begin(self, fingerprint: Fingerprint) -> str:
        """The name of its collection, which is there. The last one before it is kept, older ones
        go."""
        owner = self._owner()
        name, used = collection_name(fingerprint, owner), self._used(owner)
        newest = max(used.values(), default=0)
        about = collection_metadata(fingerprint, owner, newest + 1)
        if name not in used:
            self._chroma.ask("make", name=name, metadata=about, hnsw=_HNSW)
        elif used.pop(name) < newest:
            self._chroma.ask("mark", name=name, metadata=about)
        self._beside, *older = sorted(used, key=lambda one: -used[one]) or [""]
        for one in older:
            self._chroma.ask("delete", name=one)
        return name

    def _owner(self) -> str:
        try:
            return self._ask_owner()
        except (StateUnavailable, EngineClosed) as error:
            raise IndexUnavailable(str(error), code=SERVER) from error

    def _used(self, owner: str) -> dict[str, int]:
        """Our collections, and when each was loaded last, in turns."""
        used: dict[str, int] = {}
        for found in self._chroma.listed():
            about = found["metadata"]
            if is_ours(found, owner) and isinstance(about, dict):
                turn = about.get(USED)
                used[str(found["name"])] = turn if isinstance(turn, int) else 0
        return used

    def write(self, records: Sequence[IndexRecord], vectors: Vectors) -> None:
        """See ``VectorStore``."""
        name, dim = self._in_use()
        rows = finite(vectors, dim)
        # The last of equal keys wins; Chroma refuses a batch that has two.
        latest = {record_id(record.key): at for at, record in enumerate(records)}
        for some in batched(latest.items(), _WRITTEN):
            ids: list[Json] = [one for one, _ in some]
            at = [number for _, number in some]
            metadatas = stored_metadata([records[number] for number in at], rows[at])
            body = rows[at].tobytes()
            self._chroma.call(name, "upsert", body, dim=dim, ids=ids, metadatas=metadatas)
            if self._beside:
                self._chroma.call(self._beside, "delete", ids=ids)

    def _in_use(self) -> tuple[str, int]:
        if self._fingerprint is None:
            raise IndexUnavailable("nothing was loaded", code=CLOSED)
        if not self._name:  # all was dropped meanwhile
            self._name = self._begin(self._fingerprint)
        return self._name, self._fingerprint.dim

    def drop(self, keys: Collection[Key] | None) -> None:
        """See ``VectorStore``."""
        if keys is not None:
            for name in self._used(self._owner()):
                self._delete(name, [*dict.fromkeys(map(record_id, keys))])
            return
        self._name = ""
        if self._chroma.has_folder:
            self._chroma.ask("remove")
        else:
            for name in self._used(self._owner()):
                self._chroma.ask("delete", name=name)

    def _delete(self, name: str, ids: Sequence[str]) -> None:
        for some in batched(ids, _WRITTEN):
            self._chroma.call(name, "delete", ids=[*some])

    def query(self, vector: Vector, scope_filter: ScopeFilter, k: int) -> Neighbours:
        """See ``VectorStore``."""
        where = scope_where(scope_filter)
        name, dim = self._in_use()
        body = finite([vector], dim).tobytes()
        if k <= 0:
            return Neighbours(())
        found, _ = self._chroma.call(
            name,
            "query",
            body,
            dim=dim,
            urgent=True,
            n_results=k,
            where=where,
            include=["metadatas", "distances"],
        )
        ids, metadatas, distances = (
            _list(_list(found[part])[0]) for part in ("ids", "metadatas", "distances")
        )
        numbers = [float(d) if isinstance(d, int | float) else math.nan for d in distances]
        return visible(map(str, ids), metadatas, numbers, scope_filter)

    def close(self) -> None:
        """See ``VectorStore``."""
        self._chroma.close()


def _page(
    ids: Sequence[str], found: Mapping[str, Json], raw: bytes, dim: int
) -> tuple[list[IndexRecord | None], Vectors | None]:
    """Raises IndexUnavailable: vectors are missing. ``dim`` is 0 where none were asked for."""
    import numpy as np

    try:
        rows = np.frombuffer(raw, dtype="<f4").reshape(len(ids), dim) if dim else None
        return sound_records(ids, _list(found["metadatas"]), rows), rows
    except ValueError as error:
        raise IndexUnavailable(f"a page of {len(ids)}: {error}", code=BROKEN) from error


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
