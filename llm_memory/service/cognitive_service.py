"""The engine's entry: what conversations ask of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime

from ..migration.former_scopes import FormerScopes
from ..models.conversation import Actor, ConversationId, ConversationKind
from ..models.data_models import Reason, Refused, Source, StoredMemory, Topic
from ..models.passages import NoteSection
from ..models.scope import PUBLIC
from ..models.status import ScopeReport
from ..models.turns import (
    KeptHistory,
    Pause,
    Paused,
    PauseOutcome,
    Resumed,
    ResumeOutcome,
    Transcript,
)
from ..primer.models import Overview, Primer
from ..primer.rules.opening import AS_MARKDOWN
from ..scopes.paused_conversations import PausedConversations
from .decisions import DecisionDesk
from .door import deed
from .scope_admin import ScopeAdmin
from .souls import Souls
from .transcripts import Transcripts
from .turns import Turns
from .writes import Writes

_RULES_TOLD = 20


@dataclass(eq=False)
class CognitiveService(Writes, DecisionDesk, Turns):
    """Takes a ConversationId, opens the gate, and does what is asked inside the view it gets.

    Every method waits until the vault is read, but recall: that answers from what has been read so
    far. No call waits for the index. After ``close`` every method raises EngineClosed, and
    EngineOff where the vault could not be opened.
    """

    _pauses: PausedConversations
    _transcripts: Transcripts
    _former: FormerScopes
    admin: ScopeAdmin
    """What admins decide about scopes."""
    souls: Souls
    """The manner that personas have learned."""

    async def transcript(
        self, pointer: str, *, conversation_id: ConversationId, kept: KeptHistory
    ) -> Transcript | Refused:
        """The talk that a memory or a decision came from, only in the conversation and the scope in
        which it was said. Nothing is stored. Raises what ``kept`` raises."""
        view = await self._gate.open(conversation_id)
        match await self._expand(pointer, view):
            case StoredMemory() as stored:
                return await self._transcripts.of(stored, view, kept)
            case NoteSection() as section:
                return await self._transcripts.of_record(section, view, kept)
            case Refused() as refused:
                return refused

    async def overview(
        self, *, conversation_id: ConversationId, actor: Actor, token_budget: int
    ) -> Overview:
        """Where things stand, for a reader who asks: rules, tasks, the last days, as
        ``primer_markdown`` writes them, and the headings of ``shared/``. Notes no turn."""
        view, primer = await self._gate.open(conversation_id, actor), Primer()
        if not view.silence:
            primer = await self._primers.at_once(
                conversation_id, view.seen, actor, AS_MARKDOWN, token_budget
            )
        sessions = await asyncio.to_thread(self._last_sessions, view)
        told = self._bylines.reader(view).primer(primer)
        return Overview(told, self._shared_headings(view), sessions)

    @deed
    async def pause(
        self, *, conversation_id: ConversationId, actor: Actor, until: datetime | None = None
    ) -> PauseOutcome:
        """Off the record from now on: nothing of the conversation is queued or stored, and nothing
        recalled in it. Its person may, in a private chat; elsewhere admins. What was queued before
        stays. ``until``: it ends by itself then, aware; None for never.

        Raises StateUnavailable, and then it is not paused.
        """
        scope = (await self._gate.open(conversation_id)).writes
        if not _may_pause(conversation_id, actor):
            return Refused(Reason.NOT_ALLOWED)
        if isinstance(scope, Refused) and scope.reason is Reason.REFUSED:
            return scope
        name = PUBLIC.name if isinstance(scope, Refused) else scope.name
        asked = Pause(name, self._clock(), until)
        paused, before = await self._pauses.pause(conversation_id, asked)
        await self._unread.review()
        return Paused(paused.since, before, paused.until)

    @deed
    async def resume(self, *, conversation_id: ConversationId, actor: Actor) -> ResumeOutcome:
        """On the record again, by a person who may pause it. Raises StateUnavailable."""
        await self._life.ready()
        if not _may_pause(conversation_id, actor):
            return Refused(Reason.NOT_ALLOWED)
        was = await self._pauses.resume(conversation_id)
        await self._unread.review()
        return Resumed(before=not was)

    async def new_rules(
        self, *, conversation_id: ConversationId, actor: Actor
    ) -> list[StoredMemory]:
        """The rules of this conversation's scope that were learned from an admin's talk, each told
        once, to an admin alone; of many, the next ones with the next call."""
        view = await self._gate.open(conversation_id, actor)
        if not actor.admin:
            return []
        found = {
            one.memory.memory_id: one
            for one in self._catalogue.of_topics({Topic.INSTRUCTIONS}, view.seen)
            if one.memory.provenance.trusted and one.memory.provenance.source is Source.REFLECTION
        }
        told = self._book.told
        unreported = await told.claim(list(found), most=_RULES_TOLD)
        await told.settle(unreported, said=True)
        return [found[memory_id] for memory_id in unreported]

    async def describe(self, *, conversation_id: ConversationId) -> ScopeReport:
        """What the conversation reads and writes, and why."""
        view = await self._gate.open(conversation_id)
        return ScopeReport(
            resolution=view.resolution,
            visible=sum(1 for _ in self._catalogue.visible(view.seen)),
            damaged=self._book.damaged,
            strangers_in_public=self._book.strangers_in_public,
            paused=view.pause,
            mixed_history=self._histories.current_is_mixed(conversation_id.umo),
            left=tuple(await self._former.count(self._former.of(conversation_id))),
        )


def _may_pause(conversation_id: ConversationId, actor: Actor) -> bool:
    """The person of a private chat speaks for it; in a group one would pause all others."""
    return actor.admin or conversation_id.kind is ConversationKind.PRIVATE
