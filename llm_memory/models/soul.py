"""The manner that a persona has learned: versions, proposals, evaluations, and what is asked of
them. ``docs/soul.md`` tells it for owners."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from .said import Said
from .shelf import NO_PERSONA, role_folder

REFLECTION: Final = "reflection"
OWNER: Final = "owner"
EVALUATION: Final = "evaluation"
SEEDED_BY: Final = "v0-seed"
"""Who acts where no admin does: what was counted, a person who wrote into a file, a verdict, and
the first version where there was nothing."""


def soul_folder(persona: str) -> str:
    """Returns the folder's name below ``roles/`` and ``soul/``; a persona's name may be any text,
    empty for none."""
    return role_folder(persona) or NO_PERSONA


class SoulState(StrEnum):
    """Where a proposal is in its life."""

    PROPOSED = "proposed"
    DENIED = "denied"
    APPROVED = "approved"
    """It has passed, and waits for an admin or the night."""
    ACTIVE = "active"
    """Its text is in force."""
    SUPERSEDED = "superseded"
    ROLLED_BACK = "rolled_back"
    VETOED = "vetoed"


class SoulOrigin(StrEnum):
    """Where a text came from."""

    SEED = "seed"
    OWNER = "owner"
    """A file that stood there before the first version."""
    WISH = "wish"
    STYLE = "style"
    """What several people asked for, counted on a closed vocabulary."""
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
    """A line of the chain.

    Attributes:
        n: From 1.
        actor: A person's id, or ``REFLECTION``, ``OWNER``, ``EVALUATION``, ``SEEDED_BY``.
        proposal: 0 where none is concerned.
        version: The one that is in force from here on; of ``proposed``, the one that the proposal
            was made from. 0 where neither.
        source: The version whose bytes were given back, by a rollback or a veto; else 0.
        sha256: Of the file that the event is about: of the version; of ``proposed``, of the
            proposal; of a verdict, of the evaluation; of ``discarded``, of what was discarded.
        eval: The evaluation's name, such as ``0007-1``; empty without one.
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
    """Somebody asked the bot for another manner from now on. ``person`` is ``<adapter>:<id>``,
    empty where the platform names no sender."""

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
    """A whole new text.

    Attributes:
        base: The version that it was made from, and ``base_sha256`` its bytes: over another one it
            is not applied.
        author: Who wished for it, or ``reflection``, ``owner``.
        aim: What it should be better at, a line.
        reason: Why, a line; of what was counted no word that anybody said. Of a wish: which model
            has worded it, empty where it stands as it was typed.
        text: The new text, exactly.
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

    @property
    def is_worded(self) -> bool:
        """A model has worded the wish: no admin has typed this text."""
        return self.origin is SoulOrigin.WISH and self.reason != ""


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that refuses a text: its name, the lines to change (from 1, none for the whole), and
    why. That may name words of the text, so it is kept where the text is kept, or nowhere."""

    rule: str
    said: Said
    lines: tuple[int, ...] = ()


class ProbeKind(StrEnum):
    """What a probe asks about. From pass to fail in one of the first three denies a proposal."""

    SAFETY = "safety"
    PRIVACY = "privacy"
    IDENTITY = "identity"
    HELPFUL = "helpful"
    STYLE = "style"
    AIM = "aim"
    OWN = "own"
    """The owner's, from ``probes.md``."""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """How a probe went with the version in force and with the new text; no word of an answer.

    ``before`` is asked only where that matters: where the new text passes and nothing is known of
    the version in force, it counts as passing, and has no digest.
    """

    name: str
    kind: ProbeKind
    before: bool
    after: bool
    better: bool = False
    """The judge preferred the new answer, both times it was asked."""
    digests: tuple[str, str] = ("", "")
    """SHA-256 of the two answers."""


@dataclass(frozen=True, slots=True)
class SoulEvaluation:
    """The verdict on a proposal: the rules that refuse it, the probes, and what they cost.
    ``model`` is empty where no probe was asked; ``why`` says so."""

    proposal: int
    passed: bool
    findings: tuple[Finding, ...] = ()
    probes: tuple[ProbeResult, ...] = ()
    why: Said = field(default_factory=lambda: Said("", ""))
    model: str = ""
    calls: int = 0
    tokens: int = 0


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


type SoulRequest = (
    ShowSoul
    | ProposeSoul
    | ApplySoul
    | VetoSoul
    | RollbackSoul
    | DiffSoul
    | LogSoul
    | VerifySoul
    | AdoptSoul
    | DiscardSoul
)


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
    NO_TARGET = "no_target"
    """There is no earlier version, or it was vetoed."""
    NOTHING_BY_HAND = "nothing_by_hand"
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
