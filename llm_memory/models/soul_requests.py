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


class SoulAction(StrEnum):
    """What is asked. Without a number the open proposal is meant, or the version before."""

    SHOW = "show"
    """What is in force, what waits, what is wrong."""
    PROPOSE = "propose"
    """An admin's wish, in his own words."""
    APPLY = "apply"
    """Evaluate a proposal if it was not, and put it in force."""
    VETO = "veto"
    """End a proposal; of the one in force: give its predecessor back at once."""
    ROLLBACK = "undo"
    """Give an earlier version back."""
    DIFF = "diff"
    """What a proposal changes."""
    LOG = "log"
    """The chain, the newest first."""
    VERIFY = "verify"
    """Whether chain, versions and SOUL.md are as they were written."""
    ADOPT = "adopt"
    """Put what a person wrote into SOUL.md in force, through the same evaluation."""
    DISCARD = "discard"
    """Write the version in force over what a person wrote; that is kept beside."""


@dataclass(frozen=True, slots=True)
class SoulRequest:
    """``number`` is that of a proposal or a version, 0 for none; ``wish`` is for a proposal."""

    action: SoulAction
    number: int = 0
    wish: str = ""

    @property
    def is_reading(self) -> bool:
        """It changes nothing."""
        readings = (SoulAction.SHOW, SoulAction.DIFF, SoulAction.LOG, SoulAction.VERIFY)
        return self.action in readings


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
