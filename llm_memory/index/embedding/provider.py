"""An embedding service that the host application is configured with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from ...errors import EmbeddingFailed
from ..rules.deduplication import CAUTIOUS, MergeThresholds
from .languages import (
    PROBE_MEMORIES,
    PROBE_QUERIES,
    Language,
    check_language,
    unsupported_languages,
)
from .merge_calibration import MERGE_PROBES, merge_thresholds
from .ports import Fingerprint
from .vectors import unit_rows

if TYPE_CHECKING:
    from .ports import Vector, Vectors


class RawEmbedder(Protocol):
    """What a host offers. Nothing is promised of its answers; ``CheckedEmbedder`` sees to that."""

    @property
    def label(self) -> str:
        """``provider:<id>``."""
        ...

    @property
    def model(self) -> str:
        """The model's name as configured; empty if the host does not say."""
        ...

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector a text. May raise anything, hang, or answer nonsense."""
        ...


class ProviderEmbedder:
    """A raw embedder as an ``Embedder``. Belongs inside a ``CheckedEmbedder``.

    ``prepare`` embeds a few built-in sentences: that tells the dimension, the merge
    thresholds and which languages the model can read, and that the service answers at all.

    Args:
        raw: The host's service.
    """

    def __init__(self, raw: RawEmbedder) -> None:
        self._raw = raw
        self._unsupported: frozenset[Language] = frozenset()
        self._merge_thresholds = CAUTIOUS
        self._prepared_model = ""

    @property
    def label(self) -> str:
        return self._raw.label

    @property
    def merge_thresholds(self) -> MergeThresholds:
        return self._merge_thresholds

    @property
    def colocated_index(self) -> None:
        return None

    async def prepare(self) -> Fingerprint:
        """Asks the service, which tells the dimension, too."""
        self._prepared_model = self._raw.model
        probes = [*PROBE_QUERIES, *PROBE_MEMORIES]
        vectors = unit_rows(await self._raw.embed(probes), len(probes), 0)
        self._unsupported = unsupported_languages(
            vectors[: len(PROBE_QUERIES)], vectors[len(PROBE_QUERIES) :]
        )
        statements = unit_rows(
            await self._raw.embed(MERGE_PROBES), len(MERGE_PROBES), vectors.shape[1]
        )
        self._merge_thresholds = merge_thresholds(statements, self._unsupported)
        return Fingerprint(f"{self._raw.label}/{self._raw.model}", vectors.shape[1])

    async def embed_query(self, text: str) -> Vector:
        self._check_model()
        check_language(text, self._unsupported)
        rows = await self._raw.embed([_sendable(text)])
        vector: Vector = unit_rows(rows, 1, 0)[0]
        return vector

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            raise EmbeddingFailed("wrong_count: nothing to embed")
        self._check_model()
        return unit_rows(await self._raw.embed([_sendable(t) for t in texts]), len(texts), 0)

    def _check_model(self) -> None:
        """Raises ``model_changed`` where the owner gave the service another model meanwhile."""
        model = self._raw.model  # empty while the service is away: an outage, not a change
        if model and model != self._prepared_model:
            raise EmbeddingFailed(f"model_changed: {model}")

    async def close(self) -> None:
        """The service belongs to the host."""


def _sendable(text: str) -> str:
    """Without halves of surrogate pairs, which no request can carry; never empty, which many
    services refuse."""
    whole = text.encode(errors="replace").decode()
    return whole if whole.strip() else "."
