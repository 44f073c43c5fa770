"""What recall asks of others: a second opinion on texts, and what is known of embedders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..index.embedding.ports import Fingerprint
from .rules.trust import Trust


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


class TrustBook(Protocol):
    """What was found out about embedders, kept with the index: a cache. What cannot be read is not
    known. Both methods block and raise nothing."""

    def read(self, fingerprint: Fingerprint) -> Trust | None:
        """Returns what is known of an embedder, by the present examination."""
        ...

    def write(self, fingerprint: Fingerprint, trust: Trust) -> None:
        """Keep it; what was known of other embedders goes."""
        ...
