"""An embedder without a model, for benchmarks that measure an index and not understanding: hashed
words, as long as one likes, as quick as reading a file."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Fingerprint
from astrbot_plugin_scoped_memory.llm_memory.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Vector


class HashedWords:
    """The port Embedder. ``embedded`` counts its work."""

    label = "hashed"

    def __init__(self, dim: int) -> None:
        self.embedded = 0
        self._dim = dim
        self._tokenizer = Tokenizer(use_jieba=False)

    async def prepare(self) -> Fingerprint:
        return Fingerprint("hashed", self._dim)

    async def embed_query(self, text: str) -> Vector:
        return self._one(text)

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector | None]:
        self.embedded += len(texts)
        return await asyncio.to_thread(lambda: [self._one(text) for text in texts])

    async def close(self) -> None:
        """It holds nothing."""

    def _one(self, text: str) -> Vector:
        vector = np.full(self._dim, 1e-6, dtype=np.float32)  # no text has no direction
        for token in self._tokenizer.tokens(text):
            number = int.from_bytes(blake2b(token.encode(), digest_size=8).digest(), "little")
            vector[number % self._dim] += 1.0 if number >> 63 else -1.0
        unit: Vector = vector / np.linalg.norm(vector)
        return unit
