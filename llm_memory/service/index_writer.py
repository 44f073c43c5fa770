"""Writes what is on the queue into the index, a batch at a time."""

from __future__ import annotations

from ..errors import EmbeddingFailed
from ..log import logger
from ..models.data_models import StoredMemory
from ..policies.text import content_hash, embedded_text
from ..ports import (
    Embedder,
    Fingerprint,
    IndexRecord,
    Key,
    TextKey,
    VectorCache,
    Vectors,
    VectorStore,
)
from .catalogue import key_of
from .index_queue import Entry, IndexQueue
from .store_calls import StoreCalls

_OWN_FAULTS = frozenset({"language", "zero_vector", "not_finite"})
"""Codes that tell of the text, not of the embedder's health. After any other code a text is to
blame if others were embedded between two of its failures."""


class IndexWriter:
    """Embeds, through the cache where an embedding costs something, and writes.

    Args:
        batch: The most texts that an embedder is asked for at once.
    """

    def __init__(
        self,
        queue: IndexQueue,
        store: VectorStore,
        calls: StoreCalls,
        cache: VectorCache,
        *,
        batch: int,
    ) -> None:
        self._queue = queue
        self._store = store
        self._calls = calls
        self._cache = cache
        self._most = batch
        self._batch = batch
        self._forgotten: list[TextKey] = []
        self._embedded = 0
        self._refused: dict[Key, int] = {}

    @property
    def halvings(self) -> int:
        """How often a batch fails before the text that is to blame is alone."""
        return self._most.bit_length()

    def forget(self, stored: StoredMemory) -> None:
        """The vector of a forgotten memory must not stay behind: it tells of its words."""
        self._forgotten.append(text_key(stored))

    async def write_batch(self, embedder: Embedder, fingerprint: Fingerprint) -> None:
        """Bring the oldest entries into the index and take them off the list.

        Raises:
            EmbeddingFailed: nothing was written; the next batch is a smaller one.
            IndexFull: nothing was written.
            IndexUnavailable: some may be in the index, all are still on the list.
        """
        entries = self._queue.first(self._batch)
        gone = [key for key, stored in entries if stored is None]
        living = [stored for _, stored in entries if stored is not None]
        if self._forgotten:
            forgotten, self._forgotten = self._forgotten, []
            await self._calls.run(self._cache.forget, forgotten)
        if gone:
            await self._calls.run(self._store.delete, gone)
        if living:
            try:
                vectors = await self._vectors(living, embedder, fingerprint)
            except EmbeddingFailed as error:
                self._make_way(entries, error.code)
                raise
            self._embedded += 1
            self._batch = min(self._batch * 2, self._most)
            await self._calls.run(self._store.upsert, [record_of(s) for s in living], vectors)
        self._queue.settle(entries)

    async def _vectors(
        self, memories: list[StoredMemory], embedder: Embedder, fingerprint: Fingerprint
    ) -> Vectors:
        """Shape ``(len(memories), dim)``."""
        if not embedder.costly:
            return await embedder.embed_documents([embedded_text(s.memory) for s in memories])
        import numpy as np

        keys = [text_key(stored) for stored in memories]
        known = await self._calls.run(self._cache.get, fingerprint, keys)
        missing = {
            key: embedded_text(stored.memory)
            for key, stored in zip(keys, memories, strict=True)
            if key not in known
        }
        if missing:
            rows = await embedder.embed_documents(list(missing.values()))
            fresh = dict(zip(missing, rows, strict=True))
            await self._calls.run(self._cache.put, fingerprint, fresh)
            known = {**known, **fresh}
        return np.stack([known[key] for key in keys])

    def _make_way(self, entries: list[Entry], code: str) -> None:
        """One text that the embedder cannot take must not hold up the others: ask for fewer, and
        put a single one at the end of the list. Where it is the text's own fault, off the list."""
        if len(entries) == 1:
            key, _ = entry = entries[0]
            before = self._refused.pop(key, None)
            if before is not None and (code in _OWN_FAULTS or self._embedded > before):
                logger.info("有一条记忆嵌入不了（{}），只按字词想起", code)
                self._queue.park(entry)
            else:
                self._refused[key] = self._embedded
                self._queue.postpone(entry)
        self._batch = max(1, len(entries) // 2)


def text_key(stored: StoredMemory) -> TextKey:
    """Where the cache keeps the vector of a memory."""
    return TextKey(stored.scope.name, content_hash(embedded_text(stored.memory)))


def record_hash(stored: StoredMemory) -> str:
    """Changes with whatever the index holds of a memory."""
    memory = stored.memory
    about = f"{memory.kind}|{memory.strength}|{memory.active}|{memory.role}|{stored.path}"
    return content_hash(f"{about}|{memory.created_at.isoformat()}|{embedded_text(memory)}")


def record_of(stored: StoredMemory) -> IndexRecord:
    """What the index holds of a memory."""
    memory = stored.memory
    return IndexRecord(
        key=key_of(stored),
        text=embedded_text(memory),
        content_hash=record_hash(stored),
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
