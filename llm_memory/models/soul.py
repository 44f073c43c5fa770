"""The manner that a persona has learned, what is asked of it, and what becomes of that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal

from ..texts import Said
from .data_models import NO_TIME, Refused
from .scope import NO_PERSONA, role_folder

REFLECTION: Final = "reflection"
OWNER: Final = "owner"
EVALUATION: Final = "evaluation"
SEEDED_BY: Final = "v0-seed"
"""Who acts where no admin does: what was counted, a person who wrote into a file, a verdict, and
the first version where there was nothing."""


def soul_folder(persona: str) -> str:
    """Returns the folder's name below ``roles/`` and ``soul/``, also for no persona."""
    return role_folder(persona) or NO_PERSONA


SoulEvent = Literal[
    "seeded", "proposed", "denied", "applied", "adopted", "vetoed", "rolled_back", "discarded"
]


class SoulEvolution(StrEnum):
    """The setting ``soul_evolution``."""

    OFF = "off"
    REVIEW = "review"
    AUTO = "auto"


Axis = Literal["length", "formality", "emoji", "humour", "directness", "language_mix", "initiative"]
"""What of a manner may be counted, with ``Direction``."""

Direction = Literal["less", "more"]
OPPOSITE: Final[Mapping[Direction, Direction]] = {"less": "more", "more": "less"}


@dataclass(frozen=True, slots=True)
class MannerWish:
    """Somebody asked the bot for it, from now on."""

    axis: Axis
    direction: Direction
    person: str


@dataclass(frozen=True, slots=True)
class SoulLine:
    """A line of a soul's log, from 1; 0 and empty where there is none of it.

    Attributes:
        actor: A person's id, or ``REFLECTION`` … ``SEEDED_BY``.
        prev: SHA-256 of the line before without its line end; of the first, 64 zeros.
        proposal: The number of the proposal that the event is about.
        version: In force from here on; of ``proposed``, what the proposal was made from.
        source: The version whose bytes were given back, by a rollback or a veto.
        sha256: Of the version's bytes.
        aim: A proposal in one line: an admin's wish, or the rule that was counted.
        counted: Several people asked for the proposal, in the words of the vocabulary.
        text: The proposed text, or what a person had written that was discarded.
        verdict: The evaluation of what was counted, as it went.
    """

    event: SoulEvent
    actor: str
    n: int = 0
    at: datetime = NO_TIME
    prev: str = ""
    proposal: int = 0
    version: int = 0
    source: int = 0
    sha256: str = ""
    aim: str = ""
    counted: bool = False
    text: str = ""
    verdict: dict[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """Why a text is refused, and the line to change (from 1, 0 for the whole). It may name words
    of the text, so it is kept nowhere but where the text is kept."""

    said: Said
    line: int = 0


@dataclass(frozen=True, slots=True)
class SoulView:
    """What is in force for a persona (``rules``: the lines that are injected), and what waits.

    Attributes:
        version: 0 where there is none: nothing was begun, or the log is broken from its first line.
        line: That put it in force, None where the log does not have it.
        open: The proposal that waits.
        by_hand: SOUL.md holds other bytes, which are not in force.
        broken: The first broken line of the log, 0 for none.
    """

    role: str
    version: int
    line: SoulLine | None
    text: str
    rules: tuple[str, ...] = ()
    open: SoulLine | None = None
    by_hand: bool = False
    broken: int = 0


SoulAction = Literal[
    "show", "propose", "apply", "veto", "undo", "diff", "log", "verify", "adopt", "discard"
]
"""Without a number the open proposal is meant, or the version before. A ``veto`` of the one in
force gives its predecessor back at once; ``adopt`` puts what a person wrote into SOUL.md in force,
by the same rules as a wish; ``discard`` writes the version in force over that, and the log keeps
it."""

READINGS: Final = ("show", "diff", "log", "verify")


@dataclass(frozen=True, slots=True)
class SoulRequest:
    """``number`` is that of a proposal or a version, 0 for none; ``wish`` is an admin's words."""

    action: SoulAction
    number: int = 0
    wish: str = ""


@dataclass(frozen=True, slots=True)
class SoulDenied(Refused):
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class SoulChanged:
    """``text`` is in force in place of ``before``, or still, where a proposal that waited was
    vetoed, or what a person wrote was discarded. ``line``: of the log."""

    line: SoulLine
    text: str
    before: str


@dataclass(frozen=True, slots=True)
class SoulDiff:
    """What a text would change of the one in force, and the proposal that was made of it now."""

    lines: tuple[str, ...]
    proposed: SoulLine | None = None


@dataclass(frozen=True, slots=True)
class SoulLog:
    """The log, the newest line first; the part before ``broken``, 0 for all of it."""

    lines: tuple[SoulLine, ...]
    broken: int = 0


@dataclass(frozen=True, slots=True)
class SoulVerified:
    """The first of ``lines`` that is wrong, 0 for none; ``why`` names a file or a field."""

    line: int = 0
    why: str = ""
    lines: int = 0


type SoulOutcome = SoulView | SoulChanged | SoulDiff | SoulLog | SoulVerified | Refused
