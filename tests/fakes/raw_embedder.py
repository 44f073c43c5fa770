"""A host's embedding service that answers well, or in any of the ways that services have."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from astrbot_plugin_scoped_memory.tests.fakes.embedder import FakeEmbedder


class FakeRawEmbedder:
    """Plain lists of floats. ``fault`` replaces what is answered; ``calls`` keeps what was sent."""

    def __init__(self, *, dim: int = 128, told_dim: int = 0, model: str = "fake-1") -> None:
        self.label = "provider:fake"
        self.model = model
        self.dim = told_dim
        self._texts = FakeEmbedder(dim=dim)
        self.fault: Callable[[list[list[float]]], Any] | None = None
        self.hanging = False
        self.calls: list[list[str]] = []

    async def embed(self, texts: Sequence[str]) -> Any:
        self.calls.append(list(texts))
        if self.hanging:
            await asyncio.Event().wait()
        vectors = [[float(x) for x in row] for row in await self._texts.embed_documents(texts)]
        for vector in vectors:
            vector[0] += 0.01  # never of zeros, never of unit length
        return vectors if self.fault is None else self.fault(vectors)
