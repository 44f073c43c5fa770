"""Compares the vector index, and the cache of vectors, with what is recallable now."""

from __future__ import annotations

import asyncio

from ..catalogue.catalogue import key_of
from ..log import logger
from ..models.passages import Passage
from ..runtime.cooperative import cooperative
from .embedding.ports import Fingerprint
from .embedding_cache import SqliteVectorCache
from .index_queue import IndexQueue
from .index_writer import asks_key, record_hash, text_key
from .passages import Passages
from .store_calls import StoreCalls
from .vector.ports import VectorStore

_SLICE = 200
"""Passages looked at between two looks at the event loop."""


class IndexComparison:
    """Raises IndexUnavailable, as the store's calls do."""

    def __init__(
        self,
        passages: Passages,
        queue: IndexQueue,
        store: VectorStore,
        calls: StoreCalls,
        cache: SqliteVectorCache,
    ) -> None:
        self._passages = passages
        self._queue = queue
        self._store = store
        self._calls = calls
        self._cache = cache

    async def open_cache(self, fingerprint: Fingerprint | None) -> None:
        """With the vectors of what is living, and no others. None without an embedder: then those
        of the last model stay, and what is forgotten still goes."""
        if await self._calls.run(self._cache.open, create=fingerprint is not None):
            await self.clear_cache(fingerprint)

    async def clear_cache(self, fingerprint: Fingerprint | None) -> bool:
        """Take the vectors of what no longer lives out of the cache. Returns False if that
        failed."""
        living = list(self._passages.all())
        return await self._calls.run(self._keep_only, fingerprint, living)

    def _keep_only(self, fingerprint: Fingerprint | None, living: list[Passage]) -> bool:
        """Blocks."""
        keys = {
            key for passage in cooperative(living) for key in (text_key(passage), asks_key(passage))
        }
        return self._cache.keep_only(fingerprint, keys)

    async def compare(self) -> None:
        """Put on the list whatever differs between the catalogue and the collection."""
        indexed = await self._calls.run(self._store.hashes)
        # A copy: others write while we pause.
        for number, stored in enumerate(list(self._passages.all())):
            key = key_of(stored)
            if indexed.pop(key, None) == record_hash(stored):
                # It was put on the list since the start, and is in the index already.
                self._queue.mark_written([(key, stored)])
            else:
                self._queue.suggest(key, stored)
            if number % _SLICE == 0:
                await asyncio.sleep(0)
        for key in self._passages.gone(indexed):
            self._queue.suggest(key, None)
        if self._queue:
            logger.info("index_behind", count=len(self._queue))
