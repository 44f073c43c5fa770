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
from ..child.process import CLOSED, DIED, HANGS, LOADING, NO_CHILD, NOT_STARTED, Child, ChildFailed
from ..child.program import Answer, Json
from ..embedding.ports import Fingerprint
from ..ports import BROKEN, PAGE, IndexRecord, Neighbours, Page
from ..vectors import finite
from .records import collection_name, is_ours, record_id, sound_page, stored_metadata, visible
from .scope_where import scope_where

if TYPE_CHECKING:
    from ..embedding.ports import Vector, Vectors

SERVER: Final = "server"
_IDLE_SECONDS: Final = 60.0
_FOLDER_SECONDS: Final = 120.0
"""Without a sign from the program: a thousand records on the slowest disk."""
_SERVER_SECONDS: Final = 20.0
_SURE: Final = {
    **{one: one for one in (BROKEN, CLOSED, NO_CHILD, "missing", "full", "in_use", "unreadable")},
    NOT_STARTED: NO_CHILD,
}
"""Codes that say what it is, and what they are called here."""
_DEATHS: Final = 3
"""So many at one question are the folder's fault; fewer, that of whoever ended the program."""
_WRITTEN: Final = 500
_NEW: Final[dict[str, Json]] = {
    "configuration": {"hnsw": {"space": "cosine", "ef_construction": 40, "ef_search": 200}},
    "embedding_function": None,  # the default one fetches a model
}


class ChromaConnection:
    """One Chroma, whoever asks it. For any thread."""

    def __init__(self, where: dict[str, Json], seconds: float) -> None:
        """See the two below. So long without a sign from the program it is ended."""
        self._where = where
        self._seconds = seconds
        self.has_folder = "folder" in where
        self._program = Child("llm_memory.index.chroma.program", idle_seconds=_IDLE_SECONDS)

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
        return self._ask("call", body, name=name, call=call, arguments=arguments)

    def stay(self, stays: bool) -> None:
        """Whether its program stays however long nothing is asked: a start costs seconds."""
        self._program.idle_seconds = None if stays else _IDLE_SECONDS

    def listed(self) -> list[Mapping[str, Json]]:
        """Everybody's collections. Raises IndexUnavailable."""
        if self.has_folder and not os.path.lexists(str(self._where["folder"])):
            return []
        found, _ = self.call("", "list_collections")
        return [one for one in listed(found["found"]) if isinstance(one, dict)]

    def remove(self) -> None:
        """The folder. Chroma fills what is free in a new file with whatever stood in its memory:
        another process removes this one, and writes the next. Raises IndexUnavailable."""
        if os.path.lexists(str(self._where["folder"])):
            self._program.end()
            self._ask("remove")

    def _ask(self, what: str, body: bytes = b"", **told: Json) -> Answer:
        if self._where.get("url") == "":
            raise IndexUnavailable("chroma_url is no address", code=SERVER)
        fields, urgent = self._where | told, told.get("call") == "query"
        deaths = 0
        while True:
            try:
                return self._program.ask(what, fields, body, seconds=self._seconds, urgent=urgent)
            except ChildFailed as error:
                deaths += 1
                if error.code != DIED or deaths == _DEATHS:
                    raise self._translated(error) from None

    def _translated(self, error: ChildFailed) -> IndexUnavailable:
        text, headers = str(error), self._where.get("headers")
        for secret in headers.values() if isinstance(headers, dict) else ():
            text = text.replace(str(secret), "***") if secret else text
        code = _SURE.get(error.code, BROKEN if self.has_folder else SERVER)
        if error.code == DIED and "SIGKILL" in text:
            code = NO_CHILD  # for want of memory; a damaged folder ends it in another way
        elif error.code == DIED and LOADING in text:
            code = "missing"
        elif error.code == HANGS and self.has_folder:
            code = SLOW  # another program's lock, or the disk
        return IndexUnavailable(text, code=code)

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
        self._fingerprint, self._name = fingerprint, ""
        name, dim = self._in_use()
        count = int(str(self._chroma.call(name, "count")[0]["found"]))
        dim = dim if count <= most else 0  # then no vectors are asked for
        self._chroma.stay(not dim)
        wanted: list[Json] = ["metadatas", "embeddings"] if dim else ["metadatas"]
        odd: set[str] = set()
        for offset in range(0, count, PAGE):
            found, raw = self._chroma.call(name, "get", limit=PAGE, offset=offset, include=wanted)
            ids = [str(one) for one in listed(found["ids"])]
            page, others = sound_page(ids, listed(found["metadatas"]), raw, dim)
            odd |= others
            yield page
        self._delete([name], odd)

    def _in_use(self) -> tuple[str, int]:
        """The name of the collection, which is there and the only one of ours."""
        if (fingerprint := self._fingerprint) is None:
            raise IndexUnavailable("nothing was loaded", code=CLOSED)
        if not self._name:
            owner, ours = self._ours()
            name = collection_name(fingerprint, owner)
            if name not in ours:
                about: Json = {"owner": owner, "model": fingerprint.model}
                self._chroma.call("", "create_collection", name=name, metadata=about, **_NEW)
            self._drop_collections(ours - {name})
            self._name = name
        return self._name, fingerprint.dim

    def _ours(self) -> tuple[str, set[str]]:
        """Who we are, and the names of our collections."""
        try:
            owner = self._ask_owner()
        except (StateUnavailable, EngineClosed) as error:
            raise IndexUnavailable(str(error), code=SERVER) from error
        return owner, {str(one["name"]) for one in self._chroma.listed() if is_ours(one, owner)}

    def write(self, records: Sequence[IndexRecord], vectors: Vectors) -> None:
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
        if keys is not None:
            self._delete(self._ours()[1], {*map(record_id, keys)})
            return
        self._name = ""
        if self._chroma.has_folder:
            self._chroma.remove()
        else:
            self._drop_collections(self._ours()[1])

    def _delete(self, names: Collection[str], ids: Collection[str]) -> None:
        for name in names:
            for some in batched(ids, _WRITTEN):
                self._chroma.call(name, "delete", ids=[*some])

    def _drop_collections(self, names: Collection[str]) -> None:
        for name in names:
            self._chroma.call("", "delete_collection", name=name)

    def query(self, vector: Vector, scope_filter: ScopeFilter, k: int) -> Neighbours:
        where = scope_where(scope_filter)
        name, dim = self._in_use()
        body, parts = finite([vector], dim).tobytes(), ("ids", "metadatas", "distances")
        asked: dict[str, Json] = {"n_results": k, "where": where, "include": [*parts[1:]]}
        found, _ = self._chroma.call(name, "query", body, **asked)
        ids, metadatas, distances = (listed(listed(found[part])[0]) for part in parts)
        return visible(ids, metadatas, distances, scope_filter)

    def close(self) -> None:
        self._chroma.close()


def listed(value: Json) -> list[Json]:
    """What came as a list."""
    return value if isinstance(value, list) else []
