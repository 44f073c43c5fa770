"""Vectors that other plugins made, for the index of ours: a model's work that need not be done
again, if it was the same model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import batched
from typing import Final

from ..catalogue.catalogue import Catalogue
from ..errors import EmbeddingFailed, StateUnavailable
from ..index.embedding.ports import Embedder, Fingerprint, Vector
from ..index.embedding_cache import SqliteVectorCache, TextKey
from ..log import logger
from ..models.data_models import StoredMemory
from ..models.key import Key
from ..text.normalising import content_hash, embedded_text, normalise
from .adoption_staging import AdoptionStaging
from .legacy_port import StagedBatch, StagedVector

SAME_MODEL: Final = 0.99
"""Cosine from which on two vectors of a text are taken for those of one model."""
_SAMPLES: Final = 8
_SLICE: Final = 100


class LegacyVectors:
    """Puts them into the cache, under the keys by which the index looks for them."""

    def __init__(
        self,
        staging: AdoptionStaging,
        cache: SqliteVectorCache,
        catalogue: Catalogue,
        ready: Callable[[], Fingerprint | None],
    ) -> None:
        """``ready``: the space that the index is written in, None while it is in none."""
        self._ready = ready
        self._staging = staging
        self._cache = cache
        self._catalogue = catalogue
        self._embedder: Embedder | None = None
        self._is_known = False
        self._fingerprint: Fingerprint | None = None
        self._agreed: dict[str, frozenset[str]] = {}

    async def use(self, embedder: Embedder | None) -> None:
        """The embedder was chosen, or that there is none: what is staged of its model is of use
        from now on. Never raises; what it cannot use is embedded like anything else."""
        self._embedder, self._fingerprint, self._agreed = embedder, None, {}
        self._is_known = True
        try:
            staged = await asyncio.to_thread(self._with_vectors)
            if staged and embedder is not None:
                self._fingerprint = await embedder.prepare()
                await asyncio.to_thread(self._cache.open)
            for one in staged:
                for some in batched(list(self._catalogue.all()), _SLICE):
                    await self.give(one.batch, some)
                if one.done:
                    await self.discard(one.batch)
        except (EmbeddingFailed, StateUnavailable) as error:
            logger.debug("the earlier vectors cannot be used: {}", error)

    def _space(self) -> Fingerprint | None:
        """None without an embedder, and while that is not known yet."""
        return None if self._embedder is None else self._fingerprint or self._ready()

    def _with_vectors(self) -> list[StagedBatch]:
        """Blocks."""
        batches = self._staging.batches()
        return [one for one in batches if self._staging.has_vectors(one.batch)]

    async def give(self, batch: str, memories: Sequence[StoredMemory]) -> int:
        """Those of some memories that are about to be indexed: how many there were. An embedder
        that is not ready yet is not waited for.

        Raises StateUnavailable.
        """
        fingerprint = self._space()
        if self._embedder is None or fingerprint is None:
            return 0
        stores = await self._agreeing(batch, self._embedder, fingerprint)
        if not stores:
            return 0
        return await asyncio.to_thread(self._put, batch, memories, stores, fingerprint)

    async def discard(self, batch: str) -> None:
        """All of a batch is in the vault: what could be used was, as far as the embedder is known.

        Raises StateUnavailable.
        """
        waits = self._embedder is not None and self._space() is None
        if not self._is_known or waits:
            return
        self._agreed.pop(batch, None)
        await asyncio.to_thread(self._staging.drop_vectors, batch)

    def _put(
        self,
        batch: str,
        memories: Sequence[StoredMemory],
        stores: frozenset[str],
        fingerprint: Fingerprint,
    ) -> int:
        """Blocks."""
        found: dict[TextKey, Vector] = {}
        for stored in memories:
            key = Key(stored.scope.name, stored.memory.memory_id)
            text = embedded_text(stored.memory)
            for kept in self._staging.vectors(batch, (key.scope, key.memory_id), fingerprint.dim):
                unit = _unit(kept.vector)
                if kept.store in stores and unit is not None and _says(kept.text, text):
                    found.setdefault(TextKey(key.scope, content_hash(text)), unit)
        if found:
            self._cache.put(fingerprint, found)
        return len(found)

    async def _agreeing(
        self, batch: str, embedder: Embedder, fingerprint: Fingerprint
    ) -> frozenset[str]:
        """The stores whose vectors are of this model: a sample, embedded again, is the same."""
        if batch not in self._agreed:
            samples = await asyncio.to_thread(
                self._staging.samples, batch, fingerprint.dim, _SAMPLES
            )
            agreed = set()
            try:
                for store, sample in samples.items():
                    if await _agrees(sample, embedder):
                        logger.info("vectors_reused", store=store)
                        agreed.add(store)
            except EmbeddingFailed as error:  # asked once: a walk does not wait for it
                logger.debug("the earlier vectors cannot be compared: {}", error)
            self._agreed[batch] = frozenset(agreed)
        return self._agreed[batch]


async def _agrees(sample: Sequence[StagedVector], embedder: Embedder) -> bool:
    """Raises EmbeddingFailed."""
    some = [kept for kept in sample if kept.text.strip()][: 2 * _SAMPLES]
    units = [_unit(kept.vector) for kept in some]
    if not some or any(unit is None for unit in units):
        return False
    rows = await embedder.embed_documents([kept.text for kept in some])
    return all(
        unit is not None and float(row @ unit) > SAME_MODEL
        for row, unit in zip(rows, units, strict=True)
    )


def _unit(vector: Vector) -> Vector | None:
    """Of length one; None for one that has no direction."""
    import numpy as np

    length = float(np.linalg.norm(vector))
    if not np.isfinite(length) or length == 0:
        return None
    unit: Vector = (vector / length).astype(np.float32)
    return unit


def _says(theirs: str, ours: str) -> bool:
    """The same words: they put commas where we put blanks."""
    return normalise(theirs) == normalise(ours)
