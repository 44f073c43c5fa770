"""What is known of an embedder, without an examination."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Fingerprint
from astrbot_plugin_scoped_memory.llm_memory.models.settings import Pace
from astrbot_plugin_scoped_memory.llm_memory.recall.embedder_trust import Cohort, EmbedderTrust
from astrbot_plugin_scoped_memory.llm_memory.text.scripts import Language


class FixedTrust(EmbedderTrust):
    """The same for every embedder."""

    def __init__(self, weight: float = 0.4) -> None:
        super().__init__(Path("/nowhere"), Pace())
        self._weight = weight

    def _known(self, fingerprint: Fingerprint) -> Mapping[Language, Cohort]:
        return dict.fromkeys(Language, Cohort(self._weight, (0.0,) * fingerprint.dim, 0.1))
