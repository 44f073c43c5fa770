"""Writes what is on the queue into the index, a batch at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from ..catalogue.catalogue import key_of
from ..catalogue.rules.passage_text import asks_text, embedded_passage
from ..errors import EmbeddingFailed, IndexFull, IndexUnavailable
from ..log import logger
from ..models.data_models import StoredMemory
from ..models.passages import Key, NoteChunk, Passage, place_name
from ..models.settings import Pace
from ..models.status import Notice
from ..runtime.notice_board import NoticeBoard
from ..text.normalising import content_hash
from .embedding.failures import OF_THE_TEXT
from .embedding.ports import Embedder, Fingerprint, Vector, Vectors
from .embedding_cache import SqliteVectorCache, TextKey
from .index_faults import CHANGED, DIED, IndexFaults
from .index_queue import Entry, IndexQueue
from .store_calls import BUSY, StoreCalls
from .vector.ports import IndexRecord, VectorStore

NOTE_KIND = "笔记"
"""Where the index says of a memory what it is about."""
_NO_DIRECTION = 1e-3
"""The length of a sum of vectors that says nothing."""


class IndexWriter:
    """Embeds, through the cache, and writes. Of one ``IndexingService``."""

    def __init__(
        self,
        queue: IndexQueue,
        store: VectorStore,
        calls: StoreCalls,
        cache: SqliteVectorCache,
        faults: IndexFaults,
        notices: NoticeBoard,
        pace: Pace,
    ) -> None:
        self._queue = queue
        self._store = store
        self._calls = calls
        self._cache = cache
        self._faults = faults
        self._notices = notices
        self._pace = pace
        self._batch = pace.batch
        self._forgotten: set[TextKey] = set()
        self._embedded = 0
        self._refused: dict[Key, int] = {}

    def forget(self, stored: Passage) -> None:
        """The vector of what is gone must not stay behind: it tells of its words."""
        self._forgotten.update({text_key(stored), asks_key(stored)})

    async def sweep(self) -> None:
        """Take the vectors of what is gone out of the cache; what fails is tried again."""
        forgotten = frozenset(self._forgotten)
        if not forgotten:
            return
        is_gone = await self._calls.run(lambda: self._cache.forget(forgotten))
        if is_gone:
            self._forgotten.difference_update(forgotten)

    async def fill(self, embedder: Embedder, fingerprint: Fingerprint) -> None:
        """Write all that is pending; texts that the embedder cannot take stay on the list, once
        each of them has failed by itself."""
        failures = 0
        # A batch is halved so often before the text that is to blame is alone.
        while self._queue and failures <= len(self._queue) + self._pace.batch.bit_length():
            wrote = await self.write(embedder, fingerprint, failures)
            failures = 0 if wrote else failures + 1

    async def write(self, embedder: Embedder, fingerprint: Fingerprint, failures: int) -> bool:
        """One batch, and the pause after it. False if nothing could be written now."""
        try:
            await self._write_batch(embedder, fingerprint)
        except EmbeddingFailed as error:
            self._faults.unwritten = True
            self._faults.report_embedder(error)
            if error.code == CHANGED:  # other vectors than those in the collection
                raise IndexUnavailable(str(error), code=CHANGED) from error
            if error.code == DIED:
                raise
            if not self._queue:  # what the embedder cannot take is done without
                self._faults.unwritten = False
                self._notices.clear("embedder_failing")
                return False
            await self._faults.wait(self._pace.retry(failures))
            return False
        except IndexFull as error:
            params = {"detail": str(error)}
            self._notices.post(Notice("index_full", params=params))
            await self._faults.wait(self._pace.retry(failures))
            return False
        except IndexUnavailable as error:
            if error.code != BUSY:
                raise
            self._faults.report_index(error)
            await self._faults.wait(self._pace.retry(failures))
            return False
        self._faults.unwritten = False
        self._notices.clear("embedder_failing")
        self._notices.clear("index_full")
        self._notices.clear("index_off")
        await asyncio.sleep(self._pace.pause_seconds)
        return True

    async def _write_batch(self, embedder: Embedder, fingerprint: Fingerprint) -> None:
        """Bring the oldest entries into the index and take them off the list.

        Raises:
            EmbeddingFailed: nothing was written; the next batch is a smaller one.
            IndexFull: nothing was written.
            IndexUnavailable: some may be in the index, all are still on the list.
        """
        entries = self._queue.first(self._batch)
        gone = [key for key, stored in entries if stored is None]
        living = [stored for _, stored in entries if stored is not None]
        await self.sweep()
        if gone:
            await self._calls.run(self._store.delete, gone)
        if living:
            try:
                vectors = await self._indexed_vectors(living, embedder, fingerprint)
            except EmbeddingFailed as error:
                self._make_way(entries, error.code)
                raise
            self._embedded += 1
            self._batch = min(self._batch * 2, self._pace.batch)
            await self._calls.run(self._store.upsert, [record_of(s) for s in living], vectors)
        self._queue.mark_written(entries)

    async def vectors(
        self, passages: Sequence[Passage], embedder: Embedder, fingerprint: Fingerprint
    ) -> Vectors:
        """The vectors of what passages say, shape ``(len(passages), dim)``.

        Raises EmbeddingFailed.
        """
        import numpy as np

        texts = {text_key(passage): embedded_passage(passage) for passage in passages}
        known = await self._embed(texts, embedder, fingerprint)
        return np.stack([known[text_key(passage)] for passage in passages])

    async def _indexed_vectors(
        self, passages: Sequence[Passage], embedder: Embedder, fingerprint: Fingerprint
    ) -> Vectors:
        """The same with the questions that each answers: ``normalise(e(text) + e(questions))``.

        Questions that the embedder cannot take are left out.
        """
        import numpy as np

        rows = await self.vectors(passages, embedder, fingerprint)
        asking = [at for at, passage in enumerate(passages) if asks_text(passage)]
        texts = {asks_key(passages[at]): asks_text(passages[at]) for at in asking}
        known = await self._embed_readable(texts, embedder, fingerprint)
        for at in asking:
            if (asks := known.get(asks_key(passages[at]))) is not None:
                joined = rows[at] + asks
                length = np.linalg.norm(joined)
                rows[at] = joined / length if length > _NO_DIRECTION else rows[at]
        return rows

    async def _embed(
        self, texts: Mapping[TextKey, str], embedder: Embedder, fingerprint: Fingerprint
    ) -> dict[TextKey, Vector]:
        """Through the cache. Raises EmbeddingFailed."""
        known = await self._calls.run(self._cache.get, fingerprint, list(texts))
        missing = {key: text for key, text in texts.items() if key not in known}
        if missing:
            rows = await embedder.embed_documents(list(missing.values()))
            fresh = {key: row for key, row in zip(missing, rows, strict=True) if row is not None}
            await self._calls.run(self._cache.put, fingerprint, fresh)
            if len(fresh) < len(missing):
                raise EmbeddingFailed("rejected: a text has no vector")
            known = {**known, **fresh}
        return known

    async def _embed_readable(
        self, texts: Mapping[TextKey, str], embedder: Embedder, fingerprint: Fingerprint
    ) -> dict[TextKey, Vector]:
        """The same, without texts that the embedder refuses for what they are."""
        try:
            return await self._embed(texts, embedder, fingerprint)
        except EmbeddingFailed as error:
            if error.code not in OF_THE_TEXT:
                raise
            if len(texts) == 1:
                return {}
        found: dict[TextKey, Vector] = {}
        for key, text in texts.items():
            found |= await self._embed_readable({key: text}, embedder, fingerprint)
        return found

    def _make_way(self, entries: list[Entry], code: str) -> None:
        """One text that the embedder cannot take must not hold up the others: ask for fewer, and
        put a single one at the end of the list. Where it is the text's own fault, off the list."""
        if len(entries) == 1:
            key, _ = entry = entries[0]
            before = self._refused.pop(key, None)
            if before is not None and (code in OF_THE_TEXT or self._embedded > before):
                logger.info("not_embedded", code=code)
                self._queue.park(entry)
            else:
                self._refused[key] = self._embedded
                self._queue.postpone(entry)
        self._batch = max(1, len(entries) // 2)


def text_key(passage: Passage) -> TextKey:
    """Where the cache keeps the vector of a passage."""
    return TextKey(place_name(passage), content_hash(embedded_passage(passage)))


def asks_key(passage: Passage) -> TextKey:
    """Where the cache keeps the vector of the questions that it answers."""
    return TextKey(place_name(passage), content_hash(asks_text(passage)))


def record_hash(passage: Passage) -> str:
    """Changes with whatever the index holds of a passage."""
    text = embedded_passage(passage)
    if isinstance(passage, NoteChunk):
        # Its id changes with its words; that its file was saved again means nothing.
        return content_hash(f"{passage.note_id}|{text}")
    memory = passage.memory
    about = f"{memory.kind}|{memory.strength}|{memory.active}|{memory.role}|{passage.path}"
    asks = asks_text(passage)
    asked = f"|{asks}" if asks else ""
    return content_hash(f"{about}|{memory.created_at.isoformat()}|{text}{asked}")


def record_of(passage: Passage) -> IndexRecord:
    """What the index holds of a passage."""
    return IndexRecord(
        key=key_of(passage),
        text=embedded_passage(passage),
        content_hash=record_hash(passage),
        metadata=_note_fields(passage)
        if isinstance(passage, NoteChunk)
        else _memory_fields(passage),
    )


def _memory_fields(stored: StoredMemory) -> dict[str, str | int | float | bool]:
    memory = stored.memory
    return {
        "kind": memory.kind.value,
        "topic": stored.path,
        "role": memory.role,
        "strength": memory.strength,
        "active": memory.active,
        "created_at": memory.created_at.timestamp(),
        "who": memory.provenance.who,
        "conversation_id": memory.provenance.conversation,
    }


def _note_fields(chunk: NoteChunk) -> dict[str, str | int | float | bool]:
    return {"kind": NOTE_KIND, "topic": chunk.path}
