"""A pre-scope plugin's collection on the configured server: read, and its missing scopes filled in.

Metadata only. Nothing in it is deleted, no document and no vector is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Final

from ..errors import IndexUnavailable
from ..index.child.program import Json
from ..index.chroma.records import PREFIX
from ..index.chroma.scope_where import scope_where
from ..index.chroma.vector_store import ChromaConnection, listed
from ..models.scope import ScopeFilter
from .ports import ForeignRecord, Value

_PARTS: Final[Json] = ["documents", "metadatas"]


class LegacyCollection:
    """Implements the ``ForeignCollection`` port. Thread-safe: many readers, one writer."""

    def __init__(self, connect: Callable[[], ChromaConnection], name: str) -> None:
        """
        Args:
            connect: Called for each opening.
            name: The collection's. One that is named as ours are is taken for one of ours: it
                holds a copy of a vault, and no plugin's records.
        """
        self._connect = connect
        self._name = name
        self._writing = Lock()
        self._chroma: ChromaConnection | None = None

    @property
    def label(self) -> str:
        return self._name

    def open(self) -> str:
        self.close()
        if not self._name or self._name.startswith(PREFIX):
            return ""
        chroma = self._connect()
        try:
            named = [one["id"] for one in chroma.listed() if one["name"] == self._name]
        except IndexUnavailable:
            chroma.close()
            raise
        self._chroma = chroma
        return str(named[0]) if named else ""

    def count(self) -> int:
        found = self._opened().call(self._name, "count")[0]["found"]
        return found if isinstance(found, int) else 0

    def page(self, offset: int, limit: int) -> Sequence[ForeignRecord]:
        return self._records(offset=offset, limit=limit)

    def read(self, record_ids: Sequence[str]) -> Sequence[ForeignRecord]:
        # Chroma takes no ids for all of them.
        return self._records(ids=[*record_ids]) if record_ids else ()

    def search(
        self, words: Sequence[str], scope_filter: ScopeFilter, limit: int
    ) -> Sequence[ForeignRecord]:
        if not words:
            return ()
        # One pattern is one look through the documents; of several conditions each is one.
        pattern = "(?i)" + "|".join(map(re.escape, words))
        document: Json = {"$regex": pattern}
        return self._records(where=scope_where(scope_filter), where_document=document, limit=limit)

    def change(
        self,
        record_ids: Sequence[str],
        decide: Callable[[Sequence[ForeignRecord]], Mapping[str, Mapping[str, Value | None]]],
    ) -> None:
        with self._writing:
            decided = decide(self.read(record_ids)).items()
            changes = {identifier: dict(change) for identifier, change in decided if change}
            if changes:
                metadatas: list[Json] = [{**change} for change in changes.values()]
                self._opened().call(self._name, "update", ids=[*changes], metadatas=metadatas)

    def close(self) -> None:
        chroma, self._chroma = self._chroma, None
        if chroma is not None:
            chroma.close()

    def _records(self, **arguments: Json) -> list[ForeignRecord]:
        found, _ = self._opened().call(self._name, "get", include=_PARTS, **arguments)
        return [
            ForeignRecord(
                str(identifier),
                document if isinstance(document, str) else None,
                metadata if isinstance(metadata, dict) else None,
            )
            for identifier, document, metadata in zip(
                listed(found["ids"]),
                listed(found["documents"]),
                listed(found["metadatas"]),
                strict=True,
            )
        ]

    def _opened(self) -> ChromaConnection:
        if self._chroma is None:
            raise IndexUnavailable("the earlier collection is not open", code="closed")
        return self._chroma
