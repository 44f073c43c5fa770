"""What was found out about embedders, kept with the index: a cache."""

from __future__ import annotations

from typing import Protocol

from ..index.embedding.ports import Fingerprint
from .rules.trust import Trust


class TrustBook(Protocol):
    """Best effort: what cannot be read is not known. Both methods block; nothing raises."""

    def read(self, fingerprint: Fingerprint) -> Trust | None:
        """What is known of an embedder, by the present examination."""
        ...

    def write(self, fingerprint: Fingerprint, trust: Trust) -> None:
        """Keep it; what was known of other embedders goes."""
        ...
