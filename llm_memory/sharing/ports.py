"""What a program may ask of a store that is its own or another process's."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol

from ..models.conversation import Actor, ConversationId
from ..models.data_models import ChangeOutcome, MemoryDraft, Refused, RememberOutcome, UndoOutcome
from ..models.decisions import DecisionChange, DecisionOutcome
from ..models.recall import FileText, Recall
from ..models.roles import NoteOutcome, RoleNote
from ..models.status import EngineStatus, Listing
from ..models.tasks import TaskChange, TaskReport
from ..primer.models import Overview


class SharedMemory(Protocol):
    """Of ``CognitiveService``, what a coding agent is given. See there for each method."""

    def remember(
        self, draft: MemoryDraft, *, conversation_id: ConversationId
    ) -> Awaitable[RememberOutcome]: ...

    async def recall(
        self,
        query: str,
        *,
        conversation_id: ConversationId,
        limit: int,
        token_budget: int,
        actor: Actor | None = None,
        in_talk: bool = False,
    ) -> Recall: ...

    def update_tasks(
        self, change: TaskChange, *, conversation_id: ConversationId, actor: Actor
    ) -> Awaitable[TaskReport | Refused]: ...

    async def read(self, where: str, *, conversation_id: ConversationId) -> FileText | Refused: ...

    async def overview(
        self, *, conversation_id: ConversationId, actor: Actor, token_budget: int
    ) -> Overview: ...

    def refresh_overview(self, *, conversation_id: ConversationId) -> Awaitable[None]: ...

    def note_role(
        self, note: RoleNote, *, conversation_id: ConversationId
    ) -> Awaitable[NoteOutcome]: ...


class OwnerMemory(Protocol):
    """What the owner of a home may ask besides; see ``Owner``. No call names who asks; the tools of
    coding agents reach none of them. A bot's store answers none: there it is ``/memory``."""

    async def listed(
        self, *, conversation_id: ConversationId, limit: int, naming: str = "", public: bool = True
    ) -> Listing: ...

    def forget(
        self, memory_id: str, *, conversation_id: ConversationId
    ) -> Awaitable[ChangeOutcome]: ...

    def edit(
        self, memory_id: str, text: str, *, conversation_id: ConversationId
    ) -> Awaitable[ChangeOutcome]: ...

    def vouch(
        self, memory_id: str, *, withdrawn: bool = False, conversation_id: ConversationId
    ) -> Awaitable[ChangeOutcome]: ...

    def restore(
        self, memory_id: str, *, conversation_id: ConversationId
    ) -> Awaitable[UndoOutcome]: ...

    async def status(self, *, conversation_id: ConversationId) -> EngineStatus: ...

    def decide(
        self, change: DecisionChange, *, conversation_id: ConversationId
    ) -> Awaitable[DecisionOutcome]: ...
