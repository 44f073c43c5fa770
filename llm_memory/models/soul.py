"""The manner that a persona has learned, what is asked of it, and what becomes of that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal

from ..texts import Sayable, Spoken
from .data_models import Refused
from .scope import NO_PERSONA, role_folder

REFLECTION: Final = "reflection"
OWNER: Final = "owner"
EVALUATION: Final = "evaluation"
SEEDED_BY: Final = "v0-seed"
PLUGIN: Final = "plugin"
"""Who acts where no admin does: what was counted, a person who wrote into a file, a verdict, the
first version where there was nothing, and what puts SOUL.md back."""


def soul_folder(persona: str) -> str:
    """Returns the folder's name below ``roles/`` and ``soul/``, also for no persona."""
    return role_folder(persona) or NO_PERSONA


@dataclass(frozen=True, slots=True)
class Both:
    """The same text twice."""

    zh: str
    en: str

    def text(self, language: Spoken) -> str:
        return self.zh if language == "zh" else self.en


SoulState = Literal[
    "proposed", "denied", "approved", "active", "superseded", "rolled_back", "vetoed"
]
"""Where a proposal is in its life; what is ``approved`` waits for an admin or the night."""

SoulOrigin = Literal["wish", "style", "hand"]
"""``style`` is what several people asked for, counted on a closed vocabulary."""

SoulEvent = Literal[
    "seeded",
    "proposed",
    "denied",
    "approved",
    "applied",
    "vetoed",
    "rolled_back",
    "adopted",
    "discarded",
    "restored",
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
class SoulLine:
    """A line of the chain, from 1; 0 and empty where there is none of it. ``actor``: a person's id,
    or ``REFLECTION`` … ``PLUGIN``. ``prev``: SHA-256 of the line before without its line end; of
    the first, 64 zeros. ``version``: in force from here on; of ``proposed``, what the proposal was
    made from. ``source``: the version whose bytes were given back, by a rollback or a veto.
    ``sha256``: of the file that the event is about. ``eval``: the evaluation's name, ``0007-1``."""

    n: int
    at: datetime
    role: str
    event: SoulEvent
    actor: str
    prev: str
    proposal: int = 0
    version: int = 0
    source: int = 0
    sha256: str = ""
    eval: str = ""


@dataclass(frozen=True, slots=True)
class SoulDraft:
    """A whole new text to be proposed, over no other version than ``base``. ``aim`` is one line; of
    what was counted no word that anybody said."""

    base: int
    origin: SoulOrigin
    text: str
    aim: str


@dataclass(frozen=True, slots=True)
class MannerWish:
    """Somebody asked the bot for it, from now on."""

    axis: Axis
    direction: Direction
    person: str


@dataclass(frozen=True, slots=True)
class SoulVersion:
    """A text that was in force. ``proposal`` is 0 for the first version and for a rollback.
    ``number`` is 0 where nothing can be: the chain is broken from its first line."""

    number: int
    sha256: str
    at: datetime
    proposal: int = 0


@dataclass(frozen=True, slots=True)
class SoulProposal(SoulDraft):
    """``author``: who wished for it, or ``REFLECTION``, ``OWNER``."""

    number: int
    base_sha256: str
    author: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that refuses a text, why, and the lines to change (from 1, none for the whole). It may
    name words of the text, so it is kept where the text is kept, or nowhere."""

    rule: str
    said: Sayable
    lines: tuple[int, ...] = ()


ProbeKind = Literal["safety", "privacy", "identity", "helpful", "style", "aim", "own"]
"""From pass to fail in one of the first three denies a proposal; ``own`` are the owner's, from
``probes.md``."""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """How a probe went with the version in force and with the new text. ``before`` counts as
    passing, without a digest, where the new text passes and nothing is known of it. ``better``: the
    judge preferred the new answer, both times. ``digests``: SHA-256 of the two answers."""

    name: str
    kind: ProbeKind
    before: bool
    after: bool
    better: bool = False
    digests: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class SoulEvaluation:
    """The verdict on a proposal. ``model`` is empty where no probe was asked; ``why`` says so."""

    proposal: int
    passed: bool
    findings: tuple[Finding, ...] = ()
    probes: tuple[ProbeResult, ...] = ()
    why: Sayable = field(default_factory=lambda: Both("", ""))
    model: str = ""
    calls: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class SoulView:
    """What is in force for a persona (``rules``: the lines that are injected), and what waits.
    ``by_hand``: SOUL.md holds other bytes, which are not in force; ``by_night``: no admin has put
    the version in force. ``broken``: the first broken line of the chain, 0 for none; ``newer``: a
    newer version of the plugin wrote it, so nothing is changed."""

    role: str
    version: SoulVersion
    text: str
    rules: tuple[str, ...] = ()
    open: SoulProposal | None = None
    state: SoulState | None = None
    by_hand: bool = False
    by_night: bool = False
    broken: int = 0
    newer: bool = False


SoulAction = Literal[
    "show", "propose", "apply", "veto", "undo", "diff", "log", "verify", "adopt", "discard"
]
"""Without a number the open proposal is meant, or the version before. A ``veto`` of the one in
force gives its predecessor back at once; ``adopt`` puts what a person wrote into SOUL.md in force,
through the same evaluation; ``discard`` writes the version in force over that, which is kept."""

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
    verdict: SoulEvaluation | None = None


@dataclass(frozen=True, slots=True)
class SoulProposed:
    proposal: SoulProposal
    verdict: SoulEvaluation | None = None


@dataclass(frozen=True, slots=True)
class SoulChanged:
    """``text`` is in force in place of ``before``, or a ``proposal`` was vetoed, or what a person
    wrote was discarded and lies at ``kept``. ``verdict``: of what was applied or adopted."""

    event: SoulEvent
    version: SoulVersion
    text: str
    before: str
    verdict: SoulEvaluation | None = None
    proposal: int = 0
    kept: str = ""


@dataclass(frozen=True, slots=True)
class SoulText:
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SoulLog:
    """The chain, the newest line first; the part before ``broken``, 0 for all of it."""

    lines: tuple[SoulLine, ...]
    broken: int = 0


@dataclass(frozen=True, slots=True)
class SoulVerified:
    """The first of ``lines`` that is wrong, 0 for none; ``why`` names a file or a field."""

    line: int = 0
    why: str = ""
    lines: int = 0


type SoulOutcome = (
    SoulView | SoulProposed | SoulChanged | SoulText | SoulLog | SoulVerified | Refused
)
