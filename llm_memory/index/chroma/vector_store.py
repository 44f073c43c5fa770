"""Vectors in Chroma, in a folder of ours or on a server, through the program that holds it."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import batched
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ...errors import EngineClosed, IndexUnavailable, StateUnavailable
from ...models.passages import Key
from ...models.scope import ScopeFilter
from ..calls import SLOW
from ..child.process import (
    CLOSED,
    DIED,
    HANGS,
    LOADING,
    NO_CHILD,
    NOT_STARTED,
    Child,
    ChildFailed,
)
from ..child.program import Answer, Json
from ..embedding.ports import Fingerprint
from ..ports import BROKEN, PAGE, IndexRecord, Neighbours, Page
from ..vectors import finite
from .records import (
    SPACE,
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
PROGRAM: Final = "llm_memory.index.chroma.program"
_NO_PROXY: Final = {"NO_PROXY": "*", "no_proxy": "*"}
"""A server is a neighbour: a proxy would see vectors and headers."""
_IDLE_SECONDS: Final = 60.0
_FOLDER_SECONDS: Final = 120.0
"""Without a sign from the program: a thousand records on the slowest disk."""
_SERVER_SECONDS: Final = 20.0
_OUTSIDE: Final = {code: code for code in (CLOSED, "missing", "full", "in_use", "unreadable")} | {
    NOT_STARTED: NO_CHILD
}
"""Codes that blame no folder, and what they are called here."""
_DEATHS: Final = 3
"""So many at one question are the folder's fault; fewer, that of whoever ended the program."""
_WRITTEN: Final = 500
_NEW: Final[dict[str, Json]] = {
    "configuration": {"hnsw": {"space": SPACE, "ef_construction": 40, "ef_search": 200}},
    "embedding_function": None,  # the default one fetches a model
}


class ChromaConnection:
    """One Chroma, whoever asks it. For any thread."""

    def __init__(self, where: Mapping[str, Json], seconds: float) -> None:
        """See the two below. So long without a sign from the program it is ended."""
        self._where = where
        self._seconds = seconds
        self.has_folder = "folder" in where
        self._program = Child(
            PROGRAM, idle_seconds=_IDLE_SECONDS, or_here=True, environment=_NO_PROXY
        )

    @classmethod
    def in_folder(cls, folder: Path, seconds: float = _FOLDER_SECONDS) -> ChromaConnection:
        return cls({"folder": str(folder)}, seconds)

    @classmethod
    def at_server(
        cls, url: str, headers: Mapping[str, str], seconds: float = _SERVER_SECONDS
    ) -> ChromaConnection:
        """An empty ``url`` is an address that cannot be used. The headers are for a proxy before
        the server, which has no authentication of its own; no error tells them."""
        return cls({"url": url, "headers": dict(headers)}, seconds)

    def call(self, name: str, call: str, body: bytes = b"", /, **arguments: Json) -> Answer:
        """A method of the collection ``name``, of the client where that is empty. Raises
        IndexUnavailable."""
        return self._ask("call", body, {"name": name, "call": call, "arguments": arguments})

    def stay(self, stays: bool) -> None:
        """Whether its program stays however long nothing is asked: a start costs seconds."""
        self._program.idle_seconds = None if stays else _IDLE_SECONDS

    def listed(self) -> list[Mapping[str, Json]]:
        """Everybody's collections. Raises IndexUnavailable."""
        if self.has_folder and not os.path.lexists(str(self._where["folder"])):
            return []
        found = listed(self.call("", "list_collections")[0]["found"])
        return [one for one in found if isinstance(one, dict)]

    def remove(self) -> None:
        """The folder. Chroma fills what is free in a new file with whatever stood in its memory:
        another process writes the next one. Raises IndexUnavailable."""
        if os.path.lexists(str(self._where["folder"])):
            self._ask("remove")
            self._program.end()

    def _ask(
        self, what: str, body: bytes = b"", told: Mapping[str, Json] | None = None, deaths: int = 1
    ) -> Answer:
        if self._where.get("url") == "":
            raise IndexUnavailable("chroma_url is no address", code=SERVER)
        fields = {**self._where, **(told or {})}
        urgent = fields.get("call") == "query"
        try:
            return self._program.ask(what, fields, body, seconds=self._seconds, urgent=urgent)
        except ChildFailed as error:
            if error.code == DIED and deaths < _DEATHS:
                return self._ask(what, body, told, deaths + 1)
            text, headers = str(error), self._where.get("headers")
            for secret in headers.values() if isinstance(headers, dict) else ():
                text = text.replace(str(secret), "***") if secret else text
            code = _OUTSIDE.get(error.code, BROKEN if self.has_folder else SERVER)
            if error.code == DIED and LOADING in text:
                code = "missing"
            elif error.code == HANGS and self.has_folder:
                code = SLOW  # another program's lock, or the disk
            raise IndexUnavailable(text, code=code) from None

    def close(self) -> None:
        """Idempotent; what is asked later fails with ``closed``."""
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
        """The collection in use; empty while it has to be looked for."""

    def load(self, fingerprint: Fingerprint, most: int) -> Iterator[Page]:
        """See ``VectorStore``."""
        self._fingerprint, self._name = fingerprint, ""
        name, dim = self._in_use()
        small = int(str(self._chroma.call(name, "count")[0]["found"])) <= most
        self._chroma.stay(not small)
        wanted: list[Json] = ["metadatas", "embeddings"] if small else ["metadatas"]
        odd: list[str] = []
        offset, size = 0, PAGE
        while size == PAGE:
            found, raw = self._chroma.call(name, "get", limit=PAGE, offset=offset, include=wanted)
            ids = [str(one) for one in listed(found["ids"])]
            offset, size = offset + len(ids), len(ids)
            records, rows = _page(ids, listed(found["metadatas"]), raw, dim if small else 0)
            odd += [one for one, record in zip(ids, records, strict=True) if record is None]
            sound = [at for at, record in enumerate(records) if record is not None]
            if sound:
                kept = [record for record in records if record is not None]
                yield kept, None if rows is None else rows[sound]
        self._delete([name], odd)

    def _in_use(self) -> tuple[str, int]:
        """The name of the collection, which is there and the only one of ours."""
        if (fingerprint := self._fingerprint) is None:
            raise IndexUnavailable("nothing was loaded", code=CLOSED)
        if not self._name:
            owner, ours = self._owner(), self._ours()
            name = collection_name(fingerprint, owner)
            if name not in ours:
                about: Json = {"owner": owner, "model": fingerprint.model}
                self._chroma.call("", "create_collection", name=name, metadata=about, **_NEW)
            self._drop_collections(ours - {name})
            self._name = name
        return self._name, fingerprint.dim

    def _owner(self) -> str:
        try:
            return self._ask_owner()
        except (StateUnavailable, EngineClosed) as error:
            raise IndexUnavailable(str(error), code=SERVER) from error

    def _ours(self) -> set[str]:
        """The names of our collections."""
        owner = self._owner()
        return {str(one["name"]) for one in self._chroma.listed() if is_ours(one, owner)}

    def write(self, records: Sequence[IndexRecord], vectors: Vectors) -> None:
        """See ``VectorStore``."""
        name, dim = self._in_use()
        rows = finite(vectors, dim)
        # The last of equal keys wins; Chroma refuses a batch that has two.
        latest = {record_id(record.key): at for at, record in enumerate(records)}
        for some in batched(latest.items(), _WRITTEN):
            ids, at = [one for one, _ in some], [number for _, number in some]
            metadatas = stored_metadata([records[number] for number in at], rows[at])
            body = rows[at].tobytes()
            self._chroma.call(name, "upsert", body, ids=[*ids], metadatas=metadatas)

    def drop(self, keys: Collection[Key] | None) -> None:
        """See ``VectorStore``."""
        if keys is not None:
            self._delete(self._ours(), [*dict.fromkeys(map(record_id, keys))])
            return
        self._name = ""
        if self._chroma.has_folder:
            self._chroma.remove()
        else:
            self._drop_collections(self._ours())

    def _delete(self, names: Collection[str], ids: Sequence[str]) -> None:
        for name in names:
            for some in batched(ids, _WRITTEN):
                self._chroma.call(name, "delete", ids=[*some])

    def _drop_collections(self, names: Collection[str]) -> None:
        for name in names:
            self._chroma.call("", "delete_collection", name=name)

    def query(self, vector: Vector, scope_filter: ScopeFilter, k: int) -> Neighbours:
        """See ``VectorStore``."""
        where = scope_where(scope_filter)
        name, dim = self._in_use()
        body, parts = finite([vector], dim).tobytes(), ("ids", "metadatas", "distances")
        if k <= 0:
            return Neighbours(())
        asked: dict[str, Json] = {"n_results": k, "where": where, "include": [*parts[1:]]}
        found, _ = self._chroma.call(name, "query", body, **asked)
        ids, metadatas, distances = (listed(listed(found[part])[0]) for part in parts)
        return visible(ids, metadatas, distances, scope_filter)

    def close(self) -> None:
        """See ``VectorStore``."""
        self._chroma.close()


def _page(
    ids: Sequence[str], metadatas: Sequence[Json], raw: bytes, dim: int
) -> tuple[list[IndexRecord | None], Vectors | None]:
    """Raises IndexUnavailable: vectors are missing. ``dim`` is 0 where none were asked for."""
    import numpy as np

    try:
        rows = np.frombuffer(raw, dtype="<f4").reshape(len(ids), dim) if dim else None
        return sound_records(ids, metadatas, rows), rows
    except ValueError as error:
        raise IndexUnavailable(f"a page of {len(ids)}: {error}", code=BROKEN) from error


def listed(value: Json) -> list[Json]:
    """What came as a list."""
    return value if isinstance(value, list) else []
