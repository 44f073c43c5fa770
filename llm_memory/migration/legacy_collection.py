"""A pre-scope plugin's collection on the configured server: read, and its missing scopes filled in.

Metadata only. Nothing in it is deleted, no document and no vector is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, cast

from ..errors import IndexUnavailable
from ..index.chroma.scope_where import scope_where
from ..index.vector.connection import Client, Connection
from ..index.vector.faults import attempt, translated
from ..index.vector.names import PREFIX
from ..models.scope import ScopeFilter
from .ports import ForeignRecord, Value

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection
    from chromadb.api.types import Metadatas, Where, WhereDocument

_PARTS: Final = ["documents", "metadatas"]


class LegacyCollection:
    """Implements the ``ForeignCollection`` port. Thread-safe: many readers, one writer."""

    def __init__(self, connection: Connection, name: str) -> None:
        """
        Args:
            connection: Opened and closed here.
            name: The collection's. One that is named as ours are is taken for one of ours: it
                holds a copy of a vault, and no plugin's records.
        """
        self._connection = connection
        self._name = name
        self._opening = Lock()
        self._writing = Lock()
        self._client: Client | None = None
        self._collection: Collection | None = None

    @property
    def label(self) -> str:
        return self._name

    def open(self) -> str:
        with self._opening:
            self._collection = None
            if not self._name or self._name.startswith(PREFIX):
                return ""
            if self._client is None:
                self._client = self._connection.open()
            try:
                with translated("looking for an earlier collection"):
                    return self._find(self._client)
            except IndexUnavailable:
                self._disconnect()
                raise

    def _find(self, client: Client) -> str:
        if not any(found.name == self._name for found in client.list_collections()):
            return ""
        # Without an embedding function: the default one fetches a model.
        self._collection = client.get_collection(self._name, embedding_function=None)
        return str(self._collection.id)

    def count(self) -> int:
        return self._ask("counting", lambda collection: int(collection.count()))

    def page(self, offset: int, limit: int) -> Sequence[ForeignRecord]:
        return self._records(
            lambda collection: collection.get(offset=offset, limit=limit, include=_parts())
        )

    def read(self, record_ids: Sequence[str]) -> Sequence[ForeignRecord]:
        if not record_ids:  # Chroma takes no ids for all of them
            return ()
        named = list(record_ids)
        return self._records(lambda collection: collection.get(ids=named, include=_parts()))

    def search(
        self, words: Sequence[str], scope_filter: ScopeFilter, limit: int
    ) -> Sequence[ForeignRecord]:
        if not words:
            return ()
        # One pattern is one look through the documents; of several conditions each is one.
        pattern = "(?i)" + "|".join(map(re.escape, words))
        where = cast("Where", scope_where(scope_filter))
        document = cast("WhereDocument", {"$regex": pattern})
        return self._records(
            lambda collection: collection.get(
                where=where, where_document=document, limit=limit, include=_parts()
            )
        )

    def change(
        self,
        record_ids: Sequence[str],
        decide: Callable[[Sequence[ForeignRecord]], Mapping[str, Mapping[str, Value | None]]],
    ) -> None:
        with self._writing:
            changes = {
                identifier: dict(change)
                for identifier, change in decide(self.read(record_ids)).items()
                if change
            }
            if changes:
                ids, metadatas = list(changes), cast("Metadatas", list(changes.values()))
                self._ask("patching", lambda c: c.update(ids=ids, metadatas=metadatas))

    def close(self) -> None:
        with self._opening:
            self._disconnect()

    def _disconnect(self) -> None:
        self._client = self._collection = None
        self._connection.close()

    def _records(self, call: Callable[[Collection], Any]) -> list[ForeignRecord]:
        found = self._ask("reading", call)
        documents, metadatas = found["documents"] or [], found["metadatas"] or []
        return [
            ForeignRecord(identifier, document, metadata)
            for identifier, document, metadata in zip(
                found["ids"], documents, metadatas, strict=True
            )
        ]

    def _ask[T](self, doing: str, call: Callable[[Collection], T]) -> T:
        collection = self._collection
        if collection is None:
            raise IndexUnavailable("the earlier collection is not open", code="closed")
        return attempt(doing, lambda: call(collection))


def _parts() -> Any:
    return list(_PARTS)
