"""Memories, drafts and what may become of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from .conversation import Actor
from .resolution import Why
from .scope import Scope


class MemoryKind(StrEnum):
    """What a memory is about. The value is how it is stored."""

    KNOWLEDGE = "知识记忆"
    EVENT = "事件记忆"
    SKILL = "技能记忆"
    TASK = "任务记忆"
    EMOTIONAL = "情感记忆"


class Source(StrEnum):
    """How a memory came. The value is how it is stored."""

    TOOL = "工具"
    COMMAND = "指令"
    PERSON = "手写"
    REFLECTION = "反思"
    IMPORT = "导入"


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


@dataclass(frozen=True, slots=True)
class Provenance:
    """Who said it, where, how it came. Text of the memory cannot rewrite it."""

    who: str = ""
    person: str = ""
    conversation: str = ""
    source: Source = Source.PERSON
    trusted: bool = False


@dataclass(frozen=True, slots=True)
class Memory:
    """One entry, apart from where it is kept (the folder says the scope, the file the topic).

    Attributes:
        memory_id: ``m-`` and lower-case base32.
        judgment: What is remembered.
        reasoning: Why, and what else belongs to it; may be empty.
        strength: 1 to 100.
        active: Remembered on purpose. Passive ones were found by reflection, and fade.
        created_at: Aware.
        role: The persona in force, empty if none.
        context: The message before this one, empty if unknown.
        extra: Metadata fields that this version does not know, kept as they stood.
    """

    memory_id: str
    judgment: str
    created_at: datetime
    reasoning: str = ""
    tags: tuple[str, ...] = ()
    kind: MemoryKind = MemoryKind.KNOWLEDGE
    active: bool = True
    strength: int = 50
    provenance: Provenance = Provenance()
    role: str = ""
    context: str = ""
    extra: tuple[str, ...] = ()


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
    """What somebody wants remembered. The engine gives it its scope, id, time and file."""

    judgment: str
    reasoning: str = ""
    tags: tuple[str, ...] = ()
    kind: MemoryKind = MemoryKind.KNOWLEDGE
    strength: int = 50
    active: bool = True
    source: Source = Source.TOOL
    actor: Actor | None = None
    context: str = ""


class RejectReason(StrEnum):
    """Why a draft was not stored. Each has a text in the i18n files."""

    EMPTY = "empty"
    TOO_LONG = "too_long"
    READ_ONLY = "read_only"
    REFUSED = "refused"
    LEARNING_PAUSED = "learning_paused"
    NOT_WRITTEN = "not_written"


@dataclass(frozen=True, slots=True)
class Stored:
    """Acknowledged: on disk and recallable from now on."""

    memory: StoredMemory


@dataclass(frozen=True, slots=True)
class Reinforced:
    """The same words of the same speaker stood there already; they are stronger now."""

    memory: StoredMemory


@dataclass(frozen=True, slots=True)
class Rejected:
    """Nothing was stored.

    ``why`` tells how the conversation came to write nothing, ``detail`` what the disk said.
    """

    reason: RejectReason
    why: Why | None = None
    detail: str = ""


RememberOutcome = Stored | Reinforced | Rejected


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The entry stands in ``archive/`` now, and can be brought back."""

    memory: StoredMemory
    archived_to: str


@dataclass(frozen=True, slots=True)
class Restored:
    """A forgotten entry is back."""

    memory: StoredMemory


@dataclass(frozen=True, slots=True)
class NotAllowed:
    """The memory is visible, but only its speaker or an admin may do this."""

    memory_id: str


@dataclass(frozen=True, slots=True)
class NotVisible:
    """There is no such memory for this conversation, whether or not it exists elsewhere."""

    memory_id: str


ForgetOutcome = Forgotten | NotAllowed | NotVisible
RestoreOutcome = Restored | NotAllowed | NotVisible
