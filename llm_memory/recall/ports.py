"""A second opinion on how well texts answer a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Reranker(Protocol):
    """Reads question and text together, which embedders do not. Trusted with nothing: its caller
    sets the deadline and looks at what it answers."""

    @property
    def label(self) -> str:
        """What a trace calls it."""
        ...

    async def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """One score a text, in the order of the texts, the greater the better: probabilities from
        0 to 1, or logits. Raises RerankFailed."""
        ...
