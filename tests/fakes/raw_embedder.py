"""A host's embedding service that answers well, or what it is told to."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from typing import Any


class FakeRawEmbedder:
    """Plain lists of floats. ``fault`` replaces what is answered; ``calls`` keeps what was sent."""

    def __init__(self, *, dim: int = 128, model: str = "fake-1") -> None:
        self.label = "provider:fake"
        self.model = model
        self._dim = dim
        self.fault: Callable[[list[list[float]]], Any] | None = None
        self.calls: list[list[str]] = []

    async def embed(self, texts: Sequence[str]) -> Any:
        self.calls.append(list(texts))
        vectors = [self.one(text) for text in texts]
        return vectors if self.fault is None else self.fault(vectors)

    def one(self, text: str) -> list[float]:
        """Hashed words and Han characters; never of zeros, never of unit length."""
        vector = [0.01] * self._dim
        for word in re.findall(r"[a-z]{3,}|[\u4e00-\u9fff]", text.lower()):
            vector[zlib.crc32(word.encode()) % self._dim] += 1.0
        return vector
