"""What is asked of the manner that a persona has learned, and what becomes of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from .data_models import Refused
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
    """What is in force for a persona, and what waits.

    Attributes:
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
    PROPOSE = "propose"
    APPLY = "apply"
    VETO = "veto"
    """End a proposal; of the one in force: give its predecessor back at once."""
    ROLLBACK = "undo"
    DIFF = "diff"
    LOG = "log"
    VERIFY = "verify"
    ADOPT = "adopt"
    """Put what a person wrote into SOUL.md in force, through the same evaluation."""
    DISCARD = "discard"
    """Write the version in force over what a person wrote; that is kept beside."""


READINGS: Final = (SoulAction.SHOW, SoulAction.DIFF, SoulAction.LOG, SoulAction.VERIFY)


@dataclass(frozen=True, slots=True)
class SoulRequest:
    """``number`` is that of a proposal or a version, 0 for none; ``wish`` is an admin's words."""

    action: SoulAction
    number: int = 0
    wish: str = ""


@dataclass(frozen=True, slots=True)
class SoulDenied(Refused):
    """A text has not passed."""

    findings: tuple[Finding, ...] = ()
    verdict: SoulEvaluation | None = None


@dataclass(frozen=True, slots=True)
class SoulProposed:
    """A proposal waits."""

    proposal: SoulProposal
    verdict: SoulEvaluation | None = None


@dataclass(frozen=True, slots=True)
class SoulChanged:
    """Another text is in force. ``verdict``: of what was applied or adopted."""

    event: SoulEvent
    version: SoulVersion
    text: str
    before: str
    verdict: SoulEvaluation | None = None


@dataclass(frozen=True, slots=True)
class SoulEnded:
    """A proposal was vetoed, or what a person wrote discarded; ``kept``: where that lies."""

    event: SoulEvent
    number: int = 0
    kept: str = ""


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
    """The first line that is wrong, 0 for none; ``why`` names a file or a field. ``lines`` were
    looked at."""

    line: int = 0
    why: str = ""
    lines: int = 0


type SoulOutcome = (
    SoulView | SoulProposed | SoulChanged | SoulEnded | SoulText | SoulLog | SoulVerified | Refused
)
