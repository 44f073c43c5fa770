"""An embedding service that the host application is configured with, or one at an address."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from ...errors import EmbeddingFailed
from .ports import CONTROL, Fingerprint, unit

if TYPE_CHECKING:
    from .ports import Vector


class RawEmbedder(Protocol):
    """What a host offers. Nothing is promised of its answers; ``GuardedEmbedder`` sees to that."""

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
    """A raw embedder as what a ``GuardedEmbedder`` takes. ``prepare`` embeds a text: that tells the
    dimension, and that the service answers at all."""

    def __init__(self, raw: RawEmbedder) -> None:
        self.label = raw.label
        self._raw = raw
        self._prepared_model = ""

    async def prepare(self) -> Fingerprint:
        model = self._raw.model
        row = next(iter(await self._raw.embed([CONTROL])), ())
        self._prepared_model = model
        return Fingerprint(f"{self.label}/{model}", len(unit(row, 0)))

    async def embed_query(self, text: str) -> Vector:
        return next(iter(await self.embed_documents([text])), ())  # type: ignore[arg-type]

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Raises ``model_changed`` where the owner gave the service another model meanwhile."""
        rows = await self._raw.embed(texts)
        model = self._raw.model  # empty while the service is away: an outage, not a change
        if model and model != self._prepared_model:
            raise EmbeddingFailed(f"model_changed: {model}")
        return rows  # type: ignore[return-value]  # which the guard looks at

    async def close(self) -> None:
        """The service belongs to the host."""
