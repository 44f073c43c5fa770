"""Memories, drafts and what may become of them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Final, Literal, TypeGuard

from .conversation import Actor
from .deeds import DeedKind
from .resolution import BroughtBack, Remainder, Resolution
from .scope import Scope


class MemoryKind(StrEnum):
    """What a memory is about. The value is how it is stored."""

    KNOWLEDGE = "知识记忆"
    EVENT = "事件记忆"
    SKILL = "技能记忆"
    TASK = "任务记忆"
    EMOTIONAL = "情感记忆"


class Source(StrEnum):
    """How a memory came. The value is how it is stored. AGENT: an agent stored it by itself, for a
    timer went off, or a background task ended."""

    TOOL = "工具"
    COMMAND = "指令"
    PERSON = "手写"
    REFLECTION = "反思"
    IMPORT = "导入"
    AGENT = "机器人"


class Topic(StrEnum):
    """The file that an entry is routed to. The value is the file's stem inside its scope."""

    PREFERENCES = "preferences"
    INSTRUCTIONS = "instructions"
    ENTITIES = "entities"
    DECISIONS = "decisions"
    PATTERNS = "patterns"
    TASKS = "TASKS"
    JOURNAL = "journal"


MIN_STRENGTH = 1
MAX_STRENGTH = 100
NO_TIME: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""Stands for an unknown time."""
UNDATED: Final = "日期不详"


def shown_day(moment: date | None, unknown: str) -> str:
    """The day as it is shown; ``unknown`` where it is none."""
    return unknown if moment in (None, NO_TIME) else f"{moment:%Y-%m-%d}"


_YEARS: Final = range(1900, 2200)
_ID: Final = re.compile(r"m-[0-9a-z]{4,32}")


def is_plausible(day: date) -> bool:
    """Whether something can be of that day; days and moments of other years are not taken from
    files, people or models."""
    return day.year in _YEARS


def moment_in(text: str) -> datetime | None:
    """The plausible moment in ISO 8601 with its time zone, None for anything else."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None and is_plausible(moment) else None


def is_memory_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Provenance:
    """Who said it, where, how it came. Text of the memory cannot rewrite it. ``denied``: a
    hand-written entry says of itself that it is not trusted."""

    who: str = ""
    person: str = ""
    conversation: str = ""
    source: Source = Source.PERSON
    trusted: bool = False
    denied: bool = False

    @property
    def account(self) -> str:
        """The person's id; empty where only an imported file tells it, which can name anybody."""
        return "" if self.source is Source.IMPORT and not self.trusted else self.person

    @property
    def vouched(self) -> bool:
        """Said by a trusted speaker, or written into the file, unless it says otherwise."""
        return self.trusted or (self.source is Source.PERSON and not self.denied)


MODEL_WORDED = "措辞：模型"
"""A field of an entry whose words are a model's, and not what its speaker said in that turn."""

REWORDED_BY = "措辞者："
"""Begins the field that names the admin who has edited its words. It stays its speaker's."""


@dataclass(frozen=True, slots=True)
class Memory:
    """One entry, apart from where it is kept (the folder says the scope, the file the topic).

    Attributes:
        memory_id: ``m-`` and lower-case base32; empty until the vault makes it.
        created_at: Aware; ``NO_TIME`` where it is unknown.
        asks: Questions that it answers, for search alone: never shown, nor compared.
        active: Remembered on purpose. Passive ones were found by reflection, and fade.
        role: The persona in force.
        context: The message before this one.
        extra: Metadata fields that this version does not know, kept as they stood.
        quoted: It reads like an order to the bot, and nobody vouches for it: shown as somebody's
            words. A label; what carries safety is the provenance.
    """

    memory_id: str
    judgment: str
    created_at: datetime
    reasoning: str = ""
    tags: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    kind: MemoryKind = MemoryKind.KNOWLEDGE
    active: bool = True
    strength: int = 50
    provenance: Provenance = Provenance()
    role: str = ""
    context: str = ""
    extra: tuple[str, ...] = ()
    quoted: bool = False

    @property
    def undated(self) -> bool:
        return self.created_at == NO_TIME

    @property
    def model_worded(self) -> bool:
        """True if no person said it like this: it counts as no person's words."""
        return MODEL_WORDED in self.extra

    @property
    def reworded(self) -> bool:
        """True if another person has given it its words."""
        return any(piece.startswith(REWORDED_BY) for piece in self.extra)

    def with_words(self, judgment: str, by: str) -> Memory:
        """The memory in other words: those of ``by``, or of its speaker if that is empty."""
        whose = (MODEL_WORDED, REWORDED_BY)
        kept = tuple(piece for piece in self.extra if not piece.startswith(whose))
        extra = (*kept, f"{REWORDED_BY}{by}") if by else kept
        asks = self.asks if judgment == self.judgment else ()
        return replace(self, judgment=judgment, asks=asks, extra=extra)

    @property
    def who(self) -> str:
        """The name to show as the speaker's, empty if no person said it like this."""
        return "" if self.model_worded else self.provenance.who

    @property
    def speaker(self) -> str:
        """The id of the person whose words it is, empty for none."""
        unspoken = self.model_worded or self.provenance.source is Source.AGENT
        return "" if unspoken else self.provenance.account


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """A memory and where it is kept. ``path`` is relative to the scope's folder, with ``/``."""

    scope: Scope
    path: str
    memory: Memory

    @property
    def pointer(self) -> str:
        """What leads back to the entry: ``preferences.md#m-…``."""
        return f"{self.path}#{self.memory.memory_id}"


@dataclass(frozen=True, slots=True)
class MemoryDraft:
    """What is to be remembered. The engine gives it its scope, id, time and file.

    Attributes:
        said_at: Aware; None for now, ``NO_TIME`` where it is unknown.
        heard: What the actor said in the turn in which a model made the draft; None where no model
            did. A model can be talked into a draft by what it has read, and then its actor vouches
            for nothing. A request for silence in it counts for the draft.
        topic: The file asked for, if this speaker may; else words, kind and trust decide.
        key: Drafts with the same one are one write; empty for none.
        day: Of what it tells, where its words name none.
        proposed: A decision that somebody has yet to accept.
        talk: The turn in which it was said, as ``talk_history.anchor`` names it.
    """

    judgment: str
    reasoning: str = ""
    tags: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    kind: MemoryKind = MemoryKind.KNOWLEDGE
    strength: int = 50
    active: bool = True
    source: Source = Source.TOOL
    actor: Actor | None = None
    context: str = ""
    said_at: datetime | None = None
    heard: str | None = None
    topic: Topic | None = None
    key: str = ""
    day: date | None = None
    proposed: bool = False
    talk: str = ""
    hidden: tuple[str, ...] = ()


type How = Literal["stored", "reinforced", "replaced"]
"""How a draft was stored, each with a text in the i18n files. ``reinforced``: what the same speaker
said before is stronger now."""


@dataclass(frozen=True, slots=True)
class Stored:
    """Acknowledged: on disk and recallable from now on. ``former``: what it replaced, archived.
    ``conflict``: what it may contradict, and stands. ``missed``: it calls itself a correction, of
    nothing that was found."""

    memory: StoredMemory
    how: How = "stored"
    former: StoredMemory | None = None
    conflict: StoredMemory | None = None
    hidden: tuple[str, ...] = ()
    missed: bool = False


type Objection = tuple[str, str]
"""Why a proposal should not be published, dispute, stale or names_speaker, and the words for it."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing was stored, changed or shown.

    Attributes:
        reason: The code of its text in the i18n files, ``reject``.
        why: How the conversation came to write nothing.
        detail: What was named, or what the disk said.
        who: Said the memory, which only that person may change.
        scope: Where it stands; empty for the conversation's own.
        left: What is brought only if its scope is named, because others see that, too.
        objections: Why a proposal is not published, unless a person overrules them.
    """

    reason: str
    why: Resolution | None = None
    detail: str = ""
    private: tuple[str, ...] = ()
    who: str = field(default="", compare=False)
    scope: str = field(default="", compare=False)
    left: tuple[Remainder, ...] = ()
    objections: tuple[Objection, ...] = ()


def absent(named: str = "") -> Refused:
    """There is no such thing for the conversation."""
    return Refused("not_visible", detail=named)


def is_absent(outcome: object) -> TypeGuard[Refused]:
    """True for what the conversation does not see, forgotten or never there."""
    gone = ("not_visible", "forgotten")
    return isinstance(outcome, Refused) and outcome.reason in gone


def is_denied(outcome: object) -> TypeGuard[Refused]:
    """True for what only others may do."""
    return isinstance(outcome, Refused) and outcome.reason == "not_allowed"


@dataclass(frozen=True, slots=True)
class Changed:
    """What a person did to a memory, or took back.

    Attributes:
        memory: As it stands now; of one that was forgotten, as it stood.
        before: The words that an edited entry had; the scope that a moved one left.
        more: So many others were brought back with it, which one deed had forgotten.
        unfinished: Why a purged one is left in the archive. The next night tries again.
    """

    kind: DeedKind
    memory: StoredMemory
    undone: bool = False
    before: str = ""
    hidden: tuple[str, ...] = ()
    more: int = 0
    unfinished: str = ""


def is_stored(outcome: object, *how: How) -> TypeGuard[Stored]:
    """True for what was stored in one of these ways."""
    return isinstance(outcome, Stored) and outcome.how in how


def is_changed(outcome: object, *kinds: DeedKind, undone: bool = False) -> TypeGuard[Changed]:
    """True for a deed of one of these kinds that was done, or ``undone``."""
    return isinstance(outcome, Changed) and outcome.kind in kinds and outcome.undone is undone


RememberOutcome = Stored | Refused
ChangeOutcome = Changed | Refused
UndoOutcome = Changed | BroughtBack | Refused
