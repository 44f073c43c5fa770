"""The manner that a persona has learned: versions, proposals, evaluations. ``docs/soul.md`` is for
owners."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from ..texts import Sayable, Spoken
from .scope import NO_PERSONA, role_folder

REFLECTION: Final = "reflection"
OWNER: Final = "owner"
EVALUATION: Final = "evaluation"
SEEDED_BY: Final = "v0-seed"
PLUGIN: Final = "plugin"
"""Who acts where no admin does: what was counted, a person who wrote into a file, a verdict, the
first version where there was nothing, and what puts SOUL.md back."""


def soul_folder(persona: str) -> str:
    """Returns the folder's name below ``roles/`` and ``soul/``; a persona's name may be any text,
    empty for none."""
    return role_folder(persona) or NO_PERSONA


@dataclass(frozen=True, slots=True)
class Both:
    """The same text twice: a prompt, a line that a soul holds, or one that was read from a file."""

    zh: str
    en: str

    def text(self, language: Spoken) -> str:
        """Returns the line in one language."""
        return self.zh if language == "zh" else self.en


class SoulState(StrEnum):
    """Where a proposal is in its life; ``APPROVED`` waits for an admin or the night."""

    PROPOSED = "proposed"
    DENIED = "denied"
    APPROVED = "approved"
    ACTIVE = "active"
    SUPERSEDED = "superseded"
    ROLLED_BACK = "rolled_back"
    VETOED = "vetoed"


class SoulOrigin(StrEnum):
    """Where a text came from: ``OWNER`` is a file that stood there before the first version,
    ``STYLE`` what several people asked for, counted on a closed vocabulary."""

    SEED = "seed"
    OWNER = "owner"
    WISH = "wish"
    STYLE = "style"
    HAND = "hand"
    ROLLBACK = "rollback"


class SoulEvent(StrEnum):
    """A line of the chain."""

    SEEDED = "seeded"
    PROPOSED = "proposed"
    DENIED = "denied"
    APPROVED = "approved"
    APPLIED = "applied"
    VETOED = "vetoed"
    ROLLED_BACK = "rolled_back"
    ADOPTED = "adopted"
    DISCARDED = "discarded"
    RESTORED = "restored"


class SoulEvolution(StrEnum):
    """The setting ``soul_evolution``."""

    OFF = "off"
    REVIEW = "review"
    AUTO = "auto"


class Axis(StrEnum):
    """What of a manner may be counted: the closed vocabulary, with ``Direction``."""

    LENGTH = "length"
    FORMALITY = "formality"
    EMOJI = "emoji"
    HUMOUR = "humour"
    DIRECTNESS = "directness"
    LANGUAGE_MIX = "language_mix"
    INITIATIVE = "initiative"


class Direction(StrEnum):
    """Which way on an axis."""

    LESS = "less"
    MORE = "more"

    @property
    def opposite(self) -> Direction:
        """The other way."""
        return Direction.MORE if self is Direction.LESS else Direction.LESS


@dataclass(frozen=True, slots=True)
class SoulLine:
    """A line of the chain; 0 and empty where there is none of it.

    Attributes:
        n: From 1.
        actor: A person's id, or ``REFLECTION``, ``OWNER``, ``EVALUATION``, ``SEEDED_BY``,
            ``PLUGIN``.
        version: The one that is in force from here on; of ``proposed``, the one that the proposal
            was made from.
        source: The version whose bytes were given back, by a rollback or a veto.
        sha256: Of the file that the event is about: version, proposal, evaluation or what was
            discarded.
        eval: The evaluation's name, such as ``0007-1``.
        prev: SHA-256 of the line before without its line end; of the first, 64 zeros.
    """

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
    """A text to be proposed. ``base`` is the version that it was made from; see SoulProposal."""

    base: int
    origin: SoulOrigin
    text: str
    aim: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class MannerWish:
    """Somebody asked the bot for another manner from now on."""

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
    origin: SoulOrigin
    proposal: int = 0


@dataclass(frozen=True, slots=True)
class SoulProposal:
    """A whole new text, applied over no other version than ``base``.

    Attributes:
        author: Who wished for it, or ``reflection``, ``owner``.
        aim: What it should be better at, a line.
        reason: Why, a line; of what was counted no word that anybody said.
    """

    number: int
    base: int
    base_sha256: str
    author: str
    origin: SoulOrigin
    aim: str
    reason: str
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that refuses a text: its name, the lines to change (from 1, none for the whole), and
    why. That may name words of the text, so it is kept where the text is kept, or nowhere."""

    rule: str
    said: Sayable
    lines: tuple[int, ...] = ()


class ProbeKind(StrEnum):
    """What a probe asks about. From pass to fail in one of the first three denies a proposal;
    ``OWN`` are the owner's, from ``probes.md``."""

    SAFETY = "safety"
    PRIVACY = "privacy"
    IDENTITY = "identity"
    HELPFUL = "helpful"
    STYLE = "style"
    AIM = "aim"
    OWN = "own"


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """How a probe went with the version in force and with the new text; no word of an answer.

    ``before`` is asked only where that matters: where the new text passes and nothing is known of
    the version in force, it counts as passing, and has no digest. ``better``: the judge preferred
    the new answer, both times it was asked. ``digests``: SHA-256 of the two answers.
    """

    name: str
    kind: ProbeKind
    before: bool
    after: bool
    better: bool = False
    digests: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class SoulEvaluation:
    """The verdict on a proposal: the rules that refuse it, the probes, and what they cost.
    ``model`` is empty where no probe was asked; ``why`` says so."""

    proposal: int
    passed: bool
    findings: tuple[Finding, ...] = ()
    probes: tuple[ProbeResult, ...] = ()
    why: Sayable = field(default_factory=lambda: Both("", ""))
    model: str = ""
    calls: int = 0
    tokens: int = 0
