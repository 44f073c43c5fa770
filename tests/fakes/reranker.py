"""A reranker that remembers what it was shown."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any


class FakeReranker:
    """The port Reranker: ``score`` of each text, or whatever ``answer`` makes of the texts.

    ``shown`` are all texts of all calls. While ``held`` is set, a call waits for its release.
    """

    label = "fake"

    def __init__(
        self,
        score: Callable[[str], float] = lambda text: 0.5,
        *,
        answer: Callable[[Sequence[str]], Any] | None = None,
    ) -> None:
        self.answer = answer or (lambda texts: [score(text) for text in texts])
        self.calls: list[tuple[str, list[str]]] = []
        self.asked = asyncio.Event()
        self.release = asyncio.Event()
        self.release.set()
        self.cancelled = 0

    @property
    def shown(self) -> list[str]:
        return [text for _, texts in self.calls for text in texts]

    async def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        self.calls.append((query, list(texts)))
        self.asked.set()
        while not self.release.is_set():
            try:
                await self.release.wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
        answer: Sequence[float] = self.answer(texts)
        return answer
