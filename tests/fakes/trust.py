"""What is known of embedders, without a file."""

from __future__ import annotations

from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Fingerprint
from astrbot_plugin_scoped_memory.llm_memory.recall.embedder_trust import (
    Cohort,
    JsonTrustBook,
    Trust,
)
from astrbot_plugin_scoped_memory.llm_memory.text.scripts import Language


class FixedTrust(JsonTrustBook):
    """The same for every embedder, whatever it is told."""

    def __init__(self, weight: float = 0.4) -> None:
        self._weight = weight

    def read(self, fingerprint: Fingerprint) -> Trust | None:
        centre = (0.0,) * fingerprint.dim
        return Trust(dict.fromkeys(Language, Cohort(self._weight, centre, 0.1)))

    def write(self, fingerprint: Fingerprint, trust: Trust) -> None:
        """Known already."""


class InMemoryTrust(JsonTrustBook):
    """Over a dictionary."""

    def __init__(self) -> None:
        self.known: dict[Fingerprint, Trust] = {}

    def read(self, fingerprint: Fingerprint) -> Trust | None:
        return self.known.get(fingerprint)

    def write(self, fingerprint: Fingerprint, trust: Trust) -> None:
        self.known = {fingerprint: trust}
