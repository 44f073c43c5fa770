"""What a recall answers, and how it can explain itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from .data_models import StoredMemory


class Arm(StrEnum):
    """What answered a recall."""

    DENSE = "dense"
    SCAN = "scan"
    NONE = "none"


class DropReason(StrEnum):
    """Why a candidate did not become a hit."""

    FLOOR = "below_floor"
    SCOPE = "scope_check"
    GONE = "not_in_vault"
    LIMIT = "over_limit"
    BUDGET = "over_budget"


@dataclass(frozen=True, slots=True)
class Hit:
    """A recalled memory: a preview and a pointer.

    Attributes:
        preview: At most ``preview_chars`` characters.
        pointer: ``<file>#<id>``, for expand.
        scope_name: The scope the memory is stored in.
        relevance: 0 to 1, above the floor; comparable within one recall only.
        tokens: An estimate of what the preview costs in a prompt.
    """

    memory_id: str
    pointer: str
    scope_name: str
    preview: str
    who: str
    created_at: datetime
    relevance: float
    tokens: int


@dataclass(frozen=True, slots=True)
class Trace:
    """How a recall came to its hits. Carries the scopes that it could see.

    ``scopes`` are names, ``milliseconds`` by stage, ``dropped`` counts by reason.
    """

    scopes: tuple[str, ...] = ()
    arm: Arm = Arm.NONE
    candidates: int = 0
    dropped: dict[DropReason, int] = field(default_factory=dict)
    milliseconds: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recall:
    """Hits, best first. Empty when nothing is relevant: that is an answer, too."""

    hits: tuple[Hit, ...] = ()
    trace: Trace = field(default_factory=Trace)

    @property
    def tokens(self) -> int:
        """The estimated tokens of all previews together."""
        return sum(hit.tokens for hit in self.hits)


@dataclass(frozen=True, slots=True)
class Expanded:
    """The whole entry behind a pointer."""

    memory: StoredMemory


@dataclass(frozen=True, slots=True)
class PointerNotVisible:
    """No such entry for this conversation, whether or not it exists elsewhere."""

    pointer: str


Expansion = Expanded | PointerNotVisible
