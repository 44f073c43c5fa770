"""An embedder without a model: hashed characters and pairs of them. It can be made to fail."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from astrbot_plugin_scoped_memory.llm_memory.errors import EmbeddingFailed
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import (
    Fingerprint,
    Vector,
)


class FakeEmbedder:
    """``failing`` makes every call raise; ``calls`` counts embedded texts."""

    def __init__(self, label: str = "fake", dim: int = 256) -> None:
        self.label = label
        self.dim = dim
        self.failing = False
        self.failing_documents = False
        self.calls = 0
        self.closed = False

    async def prepare(self) -> Fingerprint:
        self._check()
        return Fingerprint(self.label, self.dim, "1")

    async def embed_query(self, text: str) -> Vector:
        self._check()
        self.calls += 1
        return self.one(text)

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector | None]:
        self._check()
        if self.failing_documents:
            raise EmbeddingFailed("made to fail")
        self.calls += len(texts)
        return [self.one(text) for text in texts]

    async def close(self) -> None:
        self.closed = True

    def _check(self) -> None:
        if self.failing:
            raise EmbeddingFailed("made to fail")

    def one(self, text: str) -> Vector:
        vector = np.zeros(self.dim, np.float32)
        lowered = text.lower()
        for gram in [*lowered, *map("".join, pairwise(lowered))]:
            if gram.strip():
                vector[zlib.crc32(gram.encode()) % self.dim] += 1.0
        length = float(np.linalg.norm(vector))
        return vector / length if length else vector
