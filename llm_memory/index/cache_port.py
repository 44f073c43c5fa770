"""Vectors that cost a model's work, kept so that a rebuilt index costs none."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from .embedding.ports import Fingerprint, Vector


@dataclass(frozen=True, slots=True)
class TextKey:
    """A text by its hash, and the scope that it was said in."""

    scope: str
    content_hash: str


class VectorCache(Protocol):
    """Best effort: what fails is a miss, and nothing raises. Every method blocks."""

    def open(self, *, create: bool = True) -> bool:
        """Make ready. Idempotent. Without ``create`` only if there is something kept.

        False where nothing is kept and nothing will be: all that is asked is a miss.
        """
        ...

    def get(self, fingerprint: Fingerprint, keys: Sequence[TextKey]) -> dict[TextKey, Vector]:
        """The vectors that are known, each of shape ``(dim,)``."""
        ...

    def put(self, fingerprint: Fingerprint, vectors: Mapping[TextKey, Vector]) -> None:
        """Add or replace."""
        ...

    def forget(self, keys: Collection[TextKey]) -> None:
        """Remove, whatever model the vectors are of."""
        ...

    def keep_only(self, fingerprint: Fingerprint | None, keys: Collection[TextKey]) -> None:
        """Remove the vectors of all other texts, and of all models but this one, which is in use
        now, and the last one before it. None leaves every model's."""
        ...

    def close(self) -> None:
        """Give back the file. Idempotent; nothing is known afterwards."""
        ...
