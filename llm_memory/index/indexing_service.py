"""Keeps the index equal to the vault, behind the bot, whatever becomes of the index."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from ..catalogue.catalogue import Catalogue
from ..catalogue.unread_turns import UnreadTurns
from ..errors import EmbeddingFailed, IndexUnavailable
from ..log import logger
from ..models.passages import Passage
from ..models.scope import ScopeFilter
from ..models.settings import EngineSettings
from ..models.status import IndexState, Notice
from ..runtime.notice_board import NoticeBoard
from ..vault.notes.note_book import NoteBook
from .embedding.ports import Embedder, Fingerprint, Vector, Vectors
from .embedding_cache import SqliteVectorCache
from .index_comparison import IndexComparison
from .index_faults import DIED, IndexFaults
from .index_queue import IndexQueue, Lag
from .index_writer import IndexWriter
from .manifest import JsonManifest
from .passages import Passages
from .rules.circuit_breaker import CircuitBreaker
from .rules.common_part import apart_from
from .rules.deduplication import CAUTIOUS, MergeThresholds
from .store_calls import BUSY, StoreCalls
from .vector.ports import Neighbours, VectorStore

WORDS_ALONE = "lexical"
"""The label where there is no embedder: what the setting calls it."""
WORN = "worn"
FAULTY = "faulty"
_LETTING_GO_SECONDS = 30.0


class IndexingService:
    """Owns the vector store and the embedder. ``run`` is its one task; it ends by cancellation."""

    def __init__(
        self,
        catalogue: Catalogue,
        note_book: NoteBook,
        unread: UnreadTurns,
        store: VectorStore,
        manifest: JsonManifest,
        cache: SqliteVectorCache,
        notices: NoticeBoard,
        settings: EngineSettings,
    ) -> None:
        passages = self._passages = Passages(catalogue, note_book, unread=unread)
        self._store = store
        self._manifest = manifest
        self._cache = cache
        self._notices = notices
        pace = self._pace = settings.pace
        self._embedder: Embedder | None = None
        self._fingerprint: Fingerprint | None = None
        self._prepared = asyncio.Event()
        self._queue = IndexQueue()
        self.faults = IndexFaults(notices, self._queue, lambda: self.label)
        self._calls = StoreCalls(
            store, query_seconds=pace.query_seconds, on_fault=self.faults.of_query
        )
        self._comparison = IndexComparison(passages, self._queue, store, self._calls, cache)
        self._writer = IndexWriter(
            self._queue, store, self._calls, cache, self.faults, notices, pace
        )
        self._doubtful = False
        self._comparing = False
        self._unwanted: asyncio.Future[None] | None = None
        self.state: IndexState = "waiting"
        unread.follow_with(self)
        note_book.follow_with(self)

    @property
    def label(self) -> str:
        """The embedder's name for the status, empty while none is chosen."""
        if self._embedder is None:
            return WORDS_ALONE if self.words_alone else ""
        return self._embedder.label

    @property
    def words_alone(self) -> bool:
        """Whether it was decided to do without vectors."""
        return self.state == "lexical"

    async def prepared(self, known: Fingerprint | None = None) -> Fingerprint:
        """Wait for the space that vectors lie in, if it is another than the one ``known``."""
        while self._fingerprint is None or self._fingerprint == known:
            await self._prepared.wait()
        return self._fingerprint

    @property
    def backlog(self) -> int:
        """How many are acknowledged, but not in the index yet."""
        return self._queue.lacking

    @property
    def leaving(self) -> int:
        """How many are gone, but may still be in the index."""
        return self._queue.removals

    @property
    def in_step(self) -> bool:
        """Whether it holds just what lives, but for what the embedder cannot take: ``backlog``."""
        looks = self._doubtful or self._comparing
        return self.state == "ready" and not self._queue and not looks

    def lag(self) -> AbstractContextManager[Lag]:
        """Follows what the index may not know while it is asked."""
        return self._queue.lag()

    def enqueue(self, stored: Passage) -> None:
        """It is new or was changed."""
        if not self.words_alone:
            self._queue.put(stored)

    def enqueue_removal(self, stored: Passage) -> None:
        """It is gone."""
        self._writer.forget(stored)
        if self.words_alone:
            self._queue.changed.set()
        else:
            self._queue.remove(stored)

    def recheck(self) -> None:
        """Compare with the vault soon: much of it was read only now."""
        self._doubtful = True
        self._queue.changed.set()

    async def embed(self, text: str) -> Vector:
        """A query's vector.

        Raises:
            IndexUnavailable: the index is not ready, so that the vector would be of no use.
            EmbeddingFailed: none for this text now.
        """
        if self.state != "ready" or self._embedder is None:
            raise IndexUnavailable(f"index is {self.state}", code="not_ready")
        try:
            vector = await self._embedder.embed_query(text)
        except EmbeddingFailed as error:
            self.faults.of_query(error)
            raise
        self.faults.embedded()
        return vector

    @property
    def merge_thresholds(self) -> MergeThresholds | None:
        """None while nothing can be compared."""
        if self.state != "ready" or self._embedder is None:
            return None
        return CAUTIOUS

    async def vectors(self, passages: Sequence[Passage]) -> Vectors:
        """Of what is stored, or about to be: those that the index will hold, so that they are
        embedded once. Raises IndexUnavailable, EmbeddingFailed."""
        if self.state != "ready" or not (self._embedder and self._fingerprint):
            raise IndexUnavailable(f"index is {self.state}", code="not_ready")
        return await self._writer.vectors(passages, self._embedder, self._fingerprint)

    async def neighbours(
        self, text: str, scope_filter: ScopeFilter, k: int, common: Sequence[float] = ()
    ) -> tuple[Vector, Neighbours]:
        """The vector of a query's text apart from ``common``, and its visible neighbours. Raises
        IndexUnavailable, EmbeddingFailed."""
        vector = apart_from(await self.embed(text), common)
        return vector, await self.nearest(vector, scope_filter, k)

    async def nearest(self, vector: Vector, scope_filter: ScopeFilter, k: int) -> Neighbours:
        """The visible neighbours of a vector. Raises IndexUnavailable."""
        return await self._ask(lambda: self._store.query(vector, scope_filter, k))

    async def _ask[T](self, ask: Callable[[], T]) -> T:
        if self.state != "ready":
            raise IndexUnavailable(f"index is {self.state}", code="not_ready")
        try:
            found = await self._calls.query(ask)
        except (IndexUnavailable, EmbeddingFailed) as error:
            self.faults.of_query(error)
            raise
        self.faults.answered()
        return found

    async def run(self, embedder: Embedder | None) -> None:
        """Open, catch up, then follow the catalogue until cancelled. Faults are retried.

        With None the store is never opened. Of what an earlier model left on our disk the cached
        vectors stay for its return, but for those of what is forgotten; the index, in which nobody
        would notice what is forgotten, goes.
        """
        self._embedder = embedder
        self._fingerprint = None
        if embedder is None:
            await self._do_without()
            return
        breaker = CircuitBreaker()
        failures = 0
        while True:
            try:
                self._fingerprint = fingerprint = await embedder.prepare()
                self._prepared.set()
                self._prepared = asyncio.Event()
                self._notices.clear("embedder_failing")
                failures = 0
                await self._open(embedder, fingerprint)
                await self._follow(embedder, fingerprint)
            except EmbeddingFailed as error:
                self.faults.report_embedder(error)
                self.state = "waiting"
                self.faults.forget()
                wait = self._pace.retry(failures)
                if error.code == DIED:  # it may load each time, and die of its first query
                    breaker, decision = breaker.failed(
                        time.monotonic(), DIED, self._pace.retry_seconds
                    )
                    wait = decision.wait
                await asyncio.sleep(wait)
                failures += 1
            except IndexUnavailable as error:
                breaker, decision = breaker.failed(
                    time.monotonic(), error.code, self._pace.retry_seconds
                )
                await self._go_offline(error, rebuild=decision.rebuild)
                await asyncio.sleep(decision.wait)

    async def clear_traces(self) -> None:
        """Leave no vector in the cache but those of what lives. Raises IndexUnavailable: some may
        be left."""
        if self.leaving:
            raise IndexUnavailable(f"{self.leaving} deletions to write", code=BUSY)
        cleared = await self._comparison.clear_cache(self._fingerprint)
        if not (cleared and await self._calls.run(self._cache.checkpoint_wal)):
            raise IndexUnavailable("the cache of vectors cannot be written", code=BUSY)

    async def begin_anew(self) -> None:
        """Delete the index on our disk; it is built again behind, out of the cache. A record that
        was deleted leaves its id and its vector there otherwise.

        Raises IndexUnavailable: it may be there still.
        """
        if self.state != "ready":
            raise IndexUnavailable(f"index is {self.state}", code="not_ready")
        self._unwanted = self._unwanted or asyncio.get_running_loop().create_future()
        self._queue.changed.set()
        try:
            async with asyncio.timeout(_LETTING_GO_SECONDS):
                await asyncio.shield(self._unwanted)
        except TimeoutError as error:
            raise IndexUnavailable("the index is busy", code=BUSY) from error

    async def _discard(self) -> None:
        self.state = "building"
        await self._calls.run(self._store.discard, WORN)
        unwanted, self._unwanted = self._unwanted, None
        if unwanted is not None and not unwanted.done():
            unwanted.set_result(None)

    async def _do_without(self) -> None:
        self.state = "lexical"
        self._queue.clear()
        await self._comparison.open_cache(None)
        cleared = False
        while True:
            self._queue.changed.clear()
            await self._writer.sweep()
            cleared = cleared or await self._clear()
            await self._queue.changed.wait()

    async def _clear(self) -> bool:
        """Delete the index of an earlier model. False where that has to wait."""
        try:
            await self._calls.run(self._manifest.deactivate)
            await self._calls.run(self._store.clear)
        except IndexUnavailable as error:
            logger.warning("old_vectors_kept", error=error)
            return False
        return True

    async def _go_offline(self, error: IndexUnavailable, *, rebuild: bool) -> None:
        """The vault answers meanwhile. A reopened store is compared with it from the start."""
        logger.debug("the vector index cannot be used for now: {}", error)
        self.faults.report_index(error)
        self.state = "off"
        with contextlib.suppress(IndexUnavailable):
            await self._calls.run(self._store.reset)
            if rebuild:
                await self._calls.run(self._store.discard, FAULTY)
        # Only now: queries that were under way have failed of the same fault meanwhile.
        self.faults.forget()

    async def _open(self, embedder: Embedder, fingerprint: Fingerprint) -> None:
        run = self._calls.run
        active = await run(self._manifest.active)
        cause = await run(self._store.open)
        if cause and cause != WORN:  # being worn is no fault, and mended behind
            self._notices.post(Notice("index_rebuilt", params={"cause": cause}))
        collection = self._store.name_for(fingerprint)
        known = await run(self._store.use, collection)
        complete = known and active == collection
        if not known and active is not None:
            # What is begun now is not complete before it is filled, whatever stops us.
            await run(self._manifest.deactivate)
        self._queue.unpark()
        await self._compare()
        await self._comparison.open_cache(fingerprint)
        if not complete:
            self.state = "building"
            await self._writer.fill(embedder, fingerprint)
            await run(self._manifest.activate, collection, fingerprint)
            await self._drop_others(collection)
        self.state = "ready"
        self._notices.clear("index_off")
        self._notices.clear("index_rebuilt")
        if not self._queue:
            self._notices.clear("index_full")

    async def _compare(self) -> None:
        self._doubtful, self._comparing = False, True
        try:
            await self._comparison.compare()
        finally:
            self._comparing = False

    async def _drop_others(self, active: str) -> None:
        for name in await self._calls.run(self._store.collections):
            if name != active:
                await self._calls.run(self._store.drop, name)

    async def _follow(self, embedder: Embedder, fingerprint: Fingerprint) -> None:
        """Write what is new; back when the collection had better be built anew."""
        failures = 0
        settled = False
        while True:
            self._queue.changed.clear()
            self.faults.raise_first()
            if self._doubtful:
                await self._compare()
            if self._unwanted is not None:
                await self._discard()
                return
            if self._queue:
                settled = False
                wrote = await self._writer.write(embedder, fingerprint, failures)
                failures = 0 if wrote else failures + 1
            else:
                seconds = self._pace.look_seconds if settled else self._pace.idle_seconds
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await self._queue.changed.wait()
                    continue
                expected = len(self._passages) - self._queue.parked
                if await self._calls.run(self._store.count) != expected:
                    await self._compare()  # another program has written to it
                    if self._queue:
                        continue
                settled = True
                if await self._calls.run(self._store.worn):
                    await self._discard()
                    return

    async def close(self) -> None:
        """Release the store and the embedder. ``run`` must have ended."""
        self.state = "off"
        await self._calls.close(self._cache.close)
        if self._embedder is not None:
            await self._embedder.close()
