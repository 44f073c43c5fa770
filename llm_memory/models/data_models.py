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
        memory_id: ``m-`` and lower-case base32; empty until it is written, where the vault is to
            make it.
        judgment: What is remembered.
        reasoning: Why, and what else belongs to it; may be empty.
        strength: 1 to 100.
        active: Remembered on purpose. Passive ones were found by reflection, and fade.
        created_at: Aware.
        role: The persona in force, empty if none.
        context: The message before this one, empty if unknown.
        extra: Metadata fields that this version does not know, kept as they stood.
        quoted: It reads like an order to the bot, and nobody vouches for it: somebody's words,
            shown as such. A label; what carries safety is the provenance.
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
    quoted: bool = False


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
    """What somebody wants remembered. The engine gives it its scope, id, time and file.

    ``said_at``: when it was said, aware, where that is known; else it is now.
    """

    judgment: str
    reasoning: str = ""
    tags: tuple[str, ...] = ()
    kind: MemoryKind = MemoryKind.KNOWLEDGE
    strength: int = 50
    active: bool = True
    source: Source = Source.TOOL
    actor: Actor | None = None
    context: str = ""
    said_at: datetime | None = None


class PrivateKind(StrEnum):
    """What is not kept in plain words. Each has a text in the i18n files."""

    PRIVATE_KEY = "private_key"
    TOKEN = "token"  # noqa: S105  (a kind of secret, not one)
    PASSWORD = "password"  # noqa: S105
    CARD = "card"
    ID_NUMBER = "id_number"
    PHONE = "phone"


class RejectReason(StrEnum):
    """Why a draft was not stored. Each has a text in the i18n files."""

    EMPTY = "empty"
    TOO_LONG = "too_long"
    TOO_SHORT = "too_short"
    FILLER = "filler"
    CODE = "code"
    SPECULATION = "speculation"
    PRIVATE = "private"
    READ_ONLY = "read_only"
    REFUSED = "refused"
    LEARNING_PAUSED = "learning_paused"
    OFF_THE_RECORD = "off_the_record"
    NOT_WRITTEN = "not_written"
    UNKNOWN_SCOPE = "unknown_scope"


@dataclass(frozen=True, slots=True)
class Stored:
    """Acknowledged: on disk and recallable from now on. ``redacted``: what was hidden in it."""

    memory: StoredMemory
    redacted: tuple[PrivateKind, ...] = ()


@dataclass(frozen=True, slots=True)
class Reinforced:
    """The same words of the same speaker stood there already; they are stronger now."""

    memory: StoredMemory
    redacted: tuple[PrivateKind, ...] = ()


@dataclass(frozen=True, slots=True)
class Replaced:
    """The speaker has said it anew and said more: ``former`` stands in the archive now, under its
    own id, and can be brought back."""

    memory: StoredMemory
    former: StoredMemory
    redacted: tuple[PrivateKind, ...] = ()


@dataclass(frozen=True, slots=True)
class Rejected:
    """Nothing was stored.

    ``why`` tells how the conversation came to write nothing, ``detail`` what the disk said,
    ``private`` what was found that is not to be kept.
    """

    reason: RejectReason
    why: Why | None = None
    detail: str = ""
    private: tuple[PrivateKind, ...] = ()


RememberOutcome = Stored | Reinforced | Replaced | Rejected


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


@dataclass(frozen=True, slots=True)
class Edited:
    """An entry has other words; ``before`` are those it had. ``redacted``: what was hidden in the
    new ones."""

    memory: StoredMemory
    before: str
    redacted: tuple[PrivateKind, ...] = ()


@dataclass(frozen=True, slots=True)
class Moved:
    """An entry stands in another scope; ``source`` is the one that it left."""

    memory: StoredMemory
    source: str


@dataclass(frozen=True, slots=True)
class Undone:
    """An entry is as it was before it was edited, or where it was before it was moved."""

    memory: StoredMemory
    moved: bool


EditOutcome = Edited | NotAllowed | NotVisible
MoveOutcome = Moved | NotAllowed | NotVisible
ForgetOutcome = Forgotten | NotAllowed | NotVisible
RestoreOutcome = Restored | Undone | NotAllowed | NotVisible
