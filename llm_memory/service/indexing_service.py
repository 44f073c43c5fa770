"""Keeps the index equal to the catalogue, behind the bot."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from itertools import islice

from ..errors import EmbeddingFailed, IndexUnavailable
from ..log import logger
from ..models.data_models import StoredMemory
from ..models.notices import Notice, NoticeCode
from ..models.scope import ScopeFilter
from ..models.status import IndexState
from ..policies.text import content_hash, embedded_text
from ..ports import Embedder, IndexManifest, IndexRecord, Key, Neighbours, Vector, VectorStore
from .catalogue import Catalogue, key_of
from .notice_board import NoticeBoard

BATCH = 50
"""Records a write: Chroma holds the interpreter's lock while it writes."""
_PAUSE_SECONDS = 0.05
_RETRY_SECONDS = (2.0, 5.0, 15.0, 60.0)
_WELL_SECONDS = 120.0
"""An index that served for so long is tried again soon when it fails."""
_UNREADABLE = "language"
_CHANGED = "model_changed"
_HALVINGS = BATCH.bit_length()


class IndexingService:
    """Owns the vector store and the embedder. ``run`` is its one task; it ends by cancellation."""

    def __init__(
        self,
        catalogue: Catalogue,
        store: VectorStore,
        manifest: IndexManifest,
        notices: NoticeBoard,
    ) -> None:
        self._catalogue = catalogue
        self._store = store
        self._manifest = manifest
        self._notices = notices
        self._embedder: Embedder | None = None
        self._pending: dict[Key, StoredMemory | None] = {}
        self._work = asyncio.Event()
        self._batch = BATCH
        self._fault: IndexUnavailable | None = None
        self.state = IndexState.WAITING

    @property
    def label(self) -> str:
        """The embedder's name for the status, empty while none is chosen."""
        return self._embedder.label if self._embedder else ""

    @property
    def floor(self) -> float:
        """The embedder's own relevance floor."""
        return self._embedder.floor if self._embedder else 0.0

    @property
    def pending(self) -> tuple[StoredMemory, ...]:
        """Acknowledged, but not in the index yet: the newest last."""
        return tuple(stored for stored in self._pending.values() if stored is not None)

    def enqueue(self, stored: StoredMemory) -> None:
        """A memory is new or was changed."""
        self._pending.pop(key_of(stored), None)
        self._pending[key_of(stored)] = stored
        self._work.set()

    def enqueue_removal(self, stored: StoredMemory) -> None:
        """A memory is gone."""
        self._pending.pop(key_of(stored), None)
        self._pending[key_of(stored)] = None
        self._work.set()

    async def query(self, text: str, scope_filter: ScopeFilter, k: int) -> Neighbours:
        """Visible neighbours of a text.

        Raises:
            IndexUnavailable: the index is not ready.
            EmbeddingFailed: no vector for this text now.
        """
        if self.state is not IndexState.READY or self._embedder is None:
            raise IndexUnavailable(f"index is {self.state}")
        vector: Vector = await self._embed_query(self._embedder, text)
        try:
            return await asyncio.to_thread(self._store.query, vector, scope_filter, k)
        except IndexUnavailable as error:
            self._hand_over(error)
            raise

    def _hand_over(self, fault: IndexUnavailable) -> None:
        """Let the owner of the index deal with it, behind the bot."""
        self._fault = fault
        self._work.set()

    async def _embed_query(self, embedder: Embedder, text: str) -> Vector:
        try:
            vector = await embedder.embed_query(text)
        except EmbeddingFailed as error:
            if error.code != _UNREADABLE:  # the model is well, and the scan reads this one
                self._report_embedder(error)
            if error.code == _CHANGED:
                self._hand_over(IndexUnavailable(str(error)))
            raise
        self._notices.clear(NoticeCode.EMBEDDER_FAILING)
        return vector

    async def run(self, embedder: Embedder) -> None:
        """Open, catch up, then follow the catalogue until cancelled. Faults are retried."""
        self._embedder = embedder
        attempt = 0
        while True:
            started = time.monotonic()
            try:
                await self._open(embedder)
                await self._follow(embedder)
            except EmbeddingFailed as error:
                self._report_embedder(error)
                self.state = IndexState.WAITING
            except IndexUnavailable as error:
                # The vault answers meanwhile. A reopened store is compared with it from the start.
                logger.debug("向量索引暂不可用：{}", error)
                self._notices.post(Notice(NoticeCode.INDEX_OFF, params={"detail": str(error)}))
                self.state = IndexState.OFF
                with contextlib.suppress(IndexUnavailable):
                    await asyncio.to_thread(self._store.reset)
            if time.monotonic() - started > _WELL_SECONDS:
                attempt = 0
            await asyncio.sleep(_RETRY_SECONDS[min(attempt, len(_RETRY_SECONDS) - 1)])
            attempt += 1

    def _report_embedder(self, error: EmbeddingFailed) -> None:
        params = {"embedder": self.label, "detail": str(error)}
        self._notices.post(Notice(NoticeCode.EMBEDDER_FAILING, params=params))

    async def _open(self, embedder: Embedder) -> None:
        fingerprint = await embedder.prepare()
        self._notices.clear(NoticeCode.EMBEDDER_FAILING)
        await asyncio.to_thread(self._store.open)
        collection = self._store.name_for(fingerprint)
        complete = await asyncio.to_thread(self._manifest.active) == collection
        await asyncio.to_thread(self._store.use, collection)
        await self._compare()
        if not complete:
            self.state = IndexState.BUILDING
            await self._fill(embedder)
            await asyncio.to_thread(self._manifest.activate, collection, fingerprint)
            await self._drop_others(collection)
        self.state = IndexState.READY
        self._notices.clear(NoticeCode.INDEX_OFF)

    async def _fill(self, embedder: Embedder) -> None:
        """Write all that is pending; texts that the embedder cannot take stay on the list, once
        each of them has failed by itself."""
        failures = 0
        while self._pending and failures <= len(self._pending) + _HALVINGS:
            try:
                await self._write_batch(embedder)
                failures = 0
            except EmbeddingFailed as error:
                self._report_embedder(error)
                self._raise_if_changed(error)
                await asyncio.sleep(_RETRY_SECONDS[min(failures, len(_RETRY_SECONDS) - 1)])
                failures += 1

    def _raise_if_changed(self, error: EmbeddingFailed) -> None:
        if error.code == _CHANGED:  # other vectors than those in the collection
            raise IndexUnavailable(str(error)) from error

    async def _compare(self) -> None:
        """Put on the list whatever differs between the catalogue and the collection."""
        indexed = await asyncio.to_thread(self._store.hashes)
        # A copy: others write while we pause.
        for number, stored in enumerate(list(self._catalogue.all())):
            if indexed.pop(key_of(stored), None) != _hash(stored):
                self._pending.setdefault(key_of(stored), stored)
            if number % 500 == 0:
                await asyncio.sleep(0)
        for key in indexed:
            if self._catalogue.get(key) is None:
                self._pending.setdefault(key, None)
        if self._pending:
            logger.info("索引需要更新 {} 条", len(self._pending))
        self._work.set()

    async def _drop_others(self, active: str) -> None:
        for name in await asyncio.to_thread(self._store.collections):
            if name != active:
                await asyncio.to_thread(self._store.drop, name)

    async def _follow(self, embedder: Embedder) -> None:
        attempt = 0
        while True:
            await self._work.wait()
            self._work.clear()
            if self._fault is not None:
                fault, self._fault = self._fault, None
                raise fault
            while self._pending:
                try:
                    await self._write_batch(embedder)
                    attempt = 0
                except EmbeddingFailed as error:
                    self._report_embedder(error)
                    self._raise_if_changed(error)
                    await asyncio.sleep(_RETRY_SECONDS[min(attempt, len(_RETRY_SECONDS) - 1)])
                    attempt += 1

    async def _write_batch(self, embedder: Embedder) -> None:
        batch = list(islice(self._pending.items(), self._batch))
        gone = [key for key, stored in batch if stored is None]
        living = [stored for _, stored in batch if stored is not None]
        if gone:
            await asyncio.to_thread(self._store.delete, gone)
        if living:
            texts = [embedded_text(stored.memory) for stored in living]
            try:
                vectors = await embedder.embed_documents(texts)
            except EmbeddingFailed:
                self._make_way(batch)
                raise
            self._batch = min(self._batch * 2, BATCH)
            await asyncio.to_thread(self._store.upsert, [_record(s) for s in living], vectors)
            self._notices.clear(NoticeCode.EMBEDDER_FAILING)
        self._settle(batch)
        await asyncio.sleep(_PAUSE_SECONDS)

    def _make_way(self, batch: Sequence[tuple[Key, StoredMemory | None]]) -> None:
        """One text that the embedder cannot take must not hold up the others: ask for fewer, and
        put a single one at the end of the list."""
        if len(batch) == 1:
            key, stored = batch[0]
            if self._pending.get(key) is stored:
                self._pending[key] = self._pending.pop(key)
        self._batch = max(1, len(batch) // 2)

    def _settle(self, batch: Sequence[tuple[Key, StoredMemory | None]]) -> None:
        """Off the list, unless it changed again while it was written."""
        for key, stored in batch:
            if key in self._pending and self._pending[key] is stored:
                del self._pending[key]

    async def close(self) -> None:
        """Release the store and the embedder. ``run`` must have ended."""
        self.state = IndexState.OFF
        await asyncio.to_thread(self._store.close)
        if self._embedder is not None:
            await self._embedder.close()


def _hash(stored: StoredMemory) -> str:
    memory = stored.memory
    about = f"{memory.kind}|{memory.strength}|{memory.active}|{memory.role}|{stored.path}"
    return content_hash(f"{about}|{memory.created_at.isoformat()}|{embedded_text(memory)}")


def _record(stored: StoredMemory) -> IndexRecord:
    memory = stored.memory
    return IndexRecord(
        key=key_of(stored),
        text=embedded_text(memory),
        content_hash=_hash(stored),
        metadata={
            "kind": memory.kind.value,
            "topic": stored.path,
            "role": memory.role,
            "strength": memory.strength,
            "active": memory.active,
            "created_at": memory.created_at.timestamp(),
            "who": memory.provenance.who,
            "conversation_id": memory.provenance.conversation,
        },
    )
