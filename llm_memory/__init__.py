"""Scoped long-term memory, without any bot framework.

>>> engine = build_engine(EnginePaths.under(Path("data")), EngineSettings())
>>> await engine.open()
>>> here = ConversationId.parse("aiocqhttp:GroupMessage:777")
>>> await engine.service.remember(MemoryDraft("奶奶对花生过敏"), conversation_id=here)
>>> await engine.service.recall("奶奶能吃花生吗", conversation_id=here, limit=3, token_budget=600)
"""

from .composition import EnginePaths, build_engine, local_now
from .errors import (
    DirectoryInUse,
    EmbeddingFailed,
    EngineClosed,
    EngineOff,
    IndexUnavailable,
    InvalidConversationId,
    InvalidScope,
    ScopedMemoryError,
    VaultError,
    VaultFileBroken,
    VaultWriteFailed,
)
from .models.conversation import Actor, ConversationId, ConversationKind
from .models.data_models import (
    Edited,
    Forgotten,
    Memory,
    MemoryDraft,
    MemoryKind,
    Moved,
    NotAllowed,
    NotVisible,
    PrivateKind,
    Provenance,
    Reinforced,
    Rejected,
    RejectReason,
    RememberOutcome,
    Replaced,
    Restored,
    Source,
    Stored,
    StoredMemory,
    Topic,
    Undone,
)
from .models.notes import NoteChunk, NoteSection
from .models.notices import Notice, NoticeCode, Severity
from .models.recall import (
    Arm,
    DropReason,
    Expanded,
    ExpandedNote,
    Explained,
    Hit,
    PointerNotVisible,
    Recall,
    Told,
    Trace,
)
from .models.resolution import ReadPublicOnly, Refused, Usable, Why, WhyCode
from .models.scope import ScopeFault
from .models.settings import DmScope, EngineSettings, GroupScope, IndexPace, PrivacyMode
from .models.status import EngineStatus, IndexState, MapSummary, ScopeReport
from .models.turns import Feedback, FeedbackReport, NotObserved, Ticket, Turn
from .service.cognitive_service import CognitiveService
from .service.engine import Engine

__all__ = [
    "Actor",
    "Arm",
    "CognitiveService",
    "ConversationId",
    "ConversationKind",
    "DirectoryInUse",
    "DmScope",
    "DropReason",
    "Edited",
    "EmbeddingFailed",
    "Engine",
    "EngineClosed",
    "EngineOff",
    "EnginePaths",
    "EngineSettings",
    "EngineStatus",
    "Expanded",
    "ExpandedNote",
    "Explained",
    "Feedback",
    "FeedbackReport",
    "Forgotten",
    "GroupScope",
    "Hit",
    "IndexPace",
    "IndexState",
    "IndexUnavailable",
    "InvalidConversationId",
    "InvalidScope",
    "MapSummary",
    "Memory",
    "MemoryDraft",
    "MemoryKind",
    "Moved",
    "NotAllowed",
    "NotObserved",
    "NotVisible",
    "NoteChunk",
    "NoteSection",
    "Notice",
    "NoticeCode",
    "PointerNotVisible",
    "PrivacyMode",
    "PrivateKind",
    "Provenance",
    "ReadPublicOnly",
    "Recall",
    "Refused",
    "Reinforced",
    "RejectReason",
    "Rejected",
    "RememberOutcome",
    "Replaced",
    "Restored",
    "ScopeFault",
    "ScopeReport",
    "ScopedMemoryError",
    "Severity",
    "Source",
    "Stored",
    "StoredMemory",
    "Ticket",
    "Told",
    "Topic",
    "Trace",
    "Turn",
    "Undone",
    "Usable",
    "VaultError",
    "VaultFileBroken",
    "VaultWriteFailed",
    "Why",
    "WhyCode",
    "build_engine",
    "local_now",
]
