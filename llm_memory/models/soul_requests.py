"""What is asked of the manner that a persona has learned, and what becomes of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from .soul import (
    Finding,
    SoulEvaluation,
    SoulEvent,
    SoulLine,
    SoulProposal,
    SoulState,
    SoulVersion,
)


@dataclass(frozen=True, slots=True)
class SoulView:
    """What is in force for a persona.

    Attributes:
        role: The persona's folder.
        rules: The list lines that are injected; empty injects nothing.
        open: The proposal that waits, with its state and its newest verdict.
        by_hand: SOUL.md holds other bytes, which are not in force.
        by_night: The night has put the version in force there, and no admin.
        broken: The first broken line of the chain, 0 for none.
        newer: A newer version of the plugin wrote the chain: nothing is changed.
    """

    role: str
    version: SoulVersion
    text: str
    rules: tuple[str, ...] = ()
    open: SoulProposal | None = None
    state: SoulState | None = None
    verdict: SoulEvaluation | None = None
    by_hand: bool = False
    by_night: bool = False
    broken: int = 0
    newer: bool = False


@dataclass(frozen=True, slots=True)
class ShowSoul:
    """What is in force, what waits, what is wrong."""


@dataclass(frozen=True, slots=True)
class ProposeSoul:
    """An admin's wish, in his own words."""

    wish: str


@dataclass(frozen=True, slots=True)
class ApplySoul:
    """Evaluate a proposal if it was not, and put it in force; the open one without a number."""

    number: int = 0


@dataclass(frozen=True, slots=True)
class VetoSoul:
    """End a proposal, the open one without a number; of the one in force: give its predecessor
    back at once."""

    number: int = 0


@dataclass(frozen=True, slots=True)
class RollbackSoul:
    """Give an earlier version back, the one before without a number."""

    version: int = 0


@dataclass(frozen=True, slots=True)
class DiffSoul:
    """What a proposal changes, the open one without a number."""

    number: int = 0


@dataclass(frozen=True, slots=True)
class LogSoul:
    """The chain, the newest first."""


@dataclass(frozen=True, slots=True)
class VerifySoul:
    """Whether chain, versions and SOUL.md are as they were written."""


@dataclass(frozen=True, slots=True)
class AdoptSoul:
    """Put what a person wrote into SOUL.md in force, through the same evaluation."""


@dataclass(frozen=True, slots=True)
class DiscardSoul:
    """Write the version in force over what a person wrote; that is kept beside."""


SoulReading = ShowSoul | DiffSoul | LogSoul | VerifySoul
"""Changes nothing."""
SoulChange = ProposeSoul | ApplySoul | VetoSoul | RollbackSoul | AdoptSoul | DiscardSoul
type SoulRequest = SoulReading | SoulChange


class SoulFault(StrEnum):
    """Why nothing was done."""

    NOT_ALLOWED = "not_allowed"
    OFF = "off"
    OPEN_PROPOSAL = "open_proposal"
    """Another one waits."""
    SAME = "same"
    """It would change nothing."""
    ONCE_A_DAY = "once_a_day"
    STALE = "stale"
    """Another version is in force than the one it was made from."""
    CONFLICT = "conflict"
    """A person has edited SOUL.md: adopt or discard that first."""
    DENIED = "denied"
    """``findings`` and ``verdict`` say why."""
    NO_SUCH = "no_such"
    """There is no such number, or ``detail`` is the proposal's state."""
    NOTHING_WAITS = "nothing_waits"
    """No number was given, and no proposal is open."""
    NO_TARGET = "no_target"
    """There is no earlier version, it was vetoed, or it has the bytes in force."""
    NOTHING_BY_HAND = "nothing_by_hand"
    PAGE_SHUT = "page_shut"
    """SOUL.md is no file that can be read; ``detail`` says why."""
    BROKEN = "broken"
    """The chain is; ``detail`` is its line."""
    NEWER = "newer"
    """A newer version of the plugin wrote it."""
    BUDGET = "budget"
    """The day's tokens are used up; it stays proposed."""
    UNJUDGED = "unjudged"
    """The model failed, answered in another form than it was asked for, or had to be asked too
    often. It stays proposed."""
    NOT_WRITTEN = "not_written"
    """``detail`` is what the disk said."""


@dataclass(frozen=True, slots=True)
class SoulRefused:
    """Nothing was changed."""

    fault: SoulFault
    detail: str = ""
    findings: tuple[Finding, ...] = ()
    verdict: SoulEvaluation | None = None
    tokens: int = 0
    """What a model has cost that worded the wish, in vain."""


@dataclass(frozen=True, slots=True)
class SoulProposed:
    """A proposal waits. ``worded`` is the rule that a model made of the wish, empty where it stands
    as it was typed, and ``tokens`` what that has cost."""

    proposal: SoulProposal
    verdict: SoulEvaluation | None = None
    worded: str = ""
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class SoulChanged:
    """Another text is in force: applied, adopted, rolled back or given back by a veto."""

    event: SoulEvent
    version: SoulVersion
    text: str
    before: str
    verdict: SoulEvaluation | None = None
    """Of what was applied or adopted."""


@dataclass(frozen=True, slots=True)
class SoulEnded:
    """A proposal was vetoed, or what a person wrote discarded."""

    event: SoulEvent
    number: int = 0
    kept: str = ""
    """Where a discarded text lies."""


@dataclass(frozen=True, slots=True)
class SoulText:
    """A diff, as lines."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SoulLog:
    """The chain, the newest line first; the part before ``broken``, 0 for all of it."""

    lines: tuple[SoulLine, ...]
    broken: int = 0


@dataclass(frozen=True, slots=True)
class SoulVerified:
    """The first line that is wrong, 0 for none; ``why`` names a file or a field."""

    line: int = 0
    why: str = ""
    lines: int = 0
    """How many were looked at."""


type SoulOutcome = (
    SoulView
    | SoulProposed
    | SoulChanged
    | SoulEnded
    | SoulText
    | SoulLog
    | SoulVerified
    | SoulRefused
)
