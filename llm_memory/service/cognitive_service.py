"""The engine's entry: what conversations ask of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from ..catalogue.catalogue import key_of
from ..catalogue.rules.talk_anchor import anchor_of
from ..migration.former_scopes import FormerScopes
from ..models.conversation import Actor, ConversationId, ConversationKind
from ..models.data_models import (
    Reason,
    Refused,
    Source,
    StoredMemory,
    Topic,
)
from ..models.recall import Expanded, ExpandedNote
from ..models.scope import PUBLIC
from ..models.status import ScopeReport
from ..models.turns import (
    KeptHistory,
    NoTalk,
    NotObserved,
    ObserveOutcome,
    Pause,
    Paused,
    PauseOutcome,
    Resumed,
    ResumeOutcome,
    Transcript,
    Turn,
)
from ..primer.models import Overview
from ..remember.rules.off_the_record import drops_the_last
from ..scopes.access import ConversationView
from .corrections import Corrections
from .decisions import DecisionDesk
from .file_reading import FileReading
from .scope_admin import ScopeAdmin
from .souls import Souls
from .transcripts import Transcripts
from .turns import Turns
from .writes import Writes

_RULES_TOLD = 20
_JUST_NOW = timedelta(minutes=30)
_LAST = 20
"""Memories among which those of the last message are looked for."""


@dataclass(eq=False)
class CognitiveService(Writes, Corrections, DecisionDesk, Turns, FileReading):
    """Takes a ConversationId, derives the scope, and does what is asked inside it.

    Every method waits until the vault is read, but recall: that answers from what has been read so
    far. No call waits for the index. After ``close`` every method raises EngineClosed, and
    EngineOff where the vault could not be opened.
    """

    _transcripts: Transcripts
    _former: FormerScopes
    admin: ScopeAdmin
    """What admins decide about scopes."""
    souls: Souls
    """The manner that personas have learned."""

    async def observe(self, turn: Turn, *, conversation_id: ConversationId) -> ObserveOutcome:
        """As ``Turns`` does it. What a turn takes back of what its speaker said just before is
        forgotten, as that person's deed."""
        outcome = await super().observe(turn, conversation_id=conversation_id)
        kept_off = isinstance(outcome, NotObserved) and outcome.note == "not_to_be_kept"
        if kept_off and drops_the_last(turn.user_text):
            ids = await self._last_said(turn, await self._view(conversation_id))
            await self.forget_many(ids, conversation_id=conversation_id, actor=turn.actor)
        return outcome

    async def _last_said(self, turn: Turn, view: ConversationView) -> list[str]:
        """The ids of what is known of the last message before this one, if that was just now."""
        umo, person = view.conversation_id.umo, turn.actor.person
        since = (turn.said_at or self._clock()) - _JUST_NOW

        def is_meant(one: StoredMemory) -> bool:
            said = one.memory.provenance
            mine = self._book.same_person(person, said.person)
            return mine and said.conversation == umo and one.memory.created_at >= since

        newest = await self._newest(view, _LAST, turn.actor, "")
        stored = list(filter(is_meant, newest))
        unread = list(
            filter(is_meant, self._unread.visible(view.readable) if view.readable else ())
        )
        last = max(unread, key=_said_at, default=None)
        copies = self._unread.copied(key_of(last)) if last else frozenset[str]()
        others = [one for one in stored if one.memory.memory_id not in copies]
        if others and (last is None or _said_at(others[0]) > _said_at(last)):
            last = others[0]
            anchor = anchor_of(last.memory)
            copies = frozenset(
                one.memory.memory_id
                for one in others
                if _said_at(one) == _said_at(last) or (anchor and anchor_of(one.memory) == anchor)
            )
        living = {one.memory.memory_id for one in (*stored, *unread)}
        return [memory_id for memory_id in copies if memory_id in living]

    async def transcript(
        self, pointer: str, *, conversation_id: ConversationId, kept: KeptHistory
    ) -> Transcript | NoTalk | Refused:
        """The talk that a memory or a decision came from, or those of a day's journal, only in the
        conversation and the scope in which it was said. Nothing is stored. Raises what ``kept``
        raises."""
        view = await self._view(conversation_id)
        match await self._expand_in(pointer, view):
            case Expanded(stored):
                return await self._transcripts.of(stored, view, kept)
            case ExpandedNote(section):
                return await self._transcripts.of_record(section, view, kept)
            case Refused() as refused:
                return refused

    async def overview(
        self, *, conversation_id: ConversationId, actor: Actor, token_budget: int
    ) -> Overview:
        """Where things stand, for a reader who asks: rules, tasks, the last days, as
        ``primer_markdown`` writes them, and the headings of ``shared/``. Notes no turn."""
        view = await self._view(conversation_id)
        primer = await self._at_once(view, actor, token_budget)
        sessions = await self._last_sessions(view)
        return Overview(primer, self._shared_headings(view), sessions)

    async def pause(
        self, *, conversation_id: ConversationId, actor: Actor, until: datetime | None = None
    ) -> PauseOutcome:
        """Off the record from now on: nothing of the conversation is queued or stored, and nothing
        recalled in it. Its person may, in a private chat; elsewhere admins. What was queued before
        stays. ``until``: it ends by itself then, aware; None for never.

        Raises StateUnavailable, and then it is not paused.
        """
        scope = (await self._view(conversation_id)).writable
        if not _may_pause(conversation_id, actor):
            return Refused(Reason.NOT_ALLOWED)
        if isinstance(scope, Refused) and scope.reason is Reason.REFUSED:
            return scope
        name = PUBLIC.name if isinstance(scope, Refused) else scope.name
        asked = Pause(name, self._clock(), until)
        paused, before = await self._life.finish(
            lambda: self._paused_conversations.pause(conversation_id, asked)
        )
        await self._unread.review()
        return Paused(paused.since, before, paused.until)

    async def resume(self, *, conversation_id: ConversationId, actor: Actor) -> ResumeOutcome:
        """On the record again, by a person who may pause it. Raises StateUnavailable."""
        await self._life.ready()
        if not _may_pause(conversation_id, actor):
            return Refused(Reason.NOT_ALLOWED)
        was = await self._life.finish(lambda: self._paused_conversations.resume(conversation_id))
        await self._unread.review()
        return Resumed(before=not was)

    async def new_rules(
        self, *, conversation_id: ConversationId, actor: Actor
    ) -> list[StoredMemory]:
        """The rules of this conversation's scope that were learned from an admin's talk, each told
        once, to an admin alone; of many, the next ones with the next call."""
        view = await self._view(conversation_id)
        if not actor.admin or view.readable is None:
            return []
        found = {
            one.memory.memory_id: one
            for one in self._catalogue.of_topics({Topic.INSTRUCTIONS}, view.readable)
            if one.memory.provenance.trusted and one.memory.provenance.source is Source.REFLECTION
        }
        told = self._book.told
        unreported = await told.claim(list(found), most=_RULES_TOLD)
        await told.settle(unreported, said=True)
        return [found[memory_id] for memory_id in unreported]

    async def describe(self, *, conversation_id: ConversationId) -> ScopeReport:
        """What the conversation reads and writes, and why."""
        view = await self._view(conversation_id)
        seen = view.readable
        return ScopeReport(
            resolution=view.resolution,
            visible=sum(1 for _ in self._catalogue.visible(seen)) if seen else 0,
            damaged=self._book.damaged,
            strangers_in_public=self._book.strangers_in_public,
            paused=self._paused_conversations.of(conversation_id),
            mixed_history=self._histories.current_is_mixed(conversation_id.umo),
            left=tuple(await self._former.count(self._former.of(conversation_id))),
        )


def _said_at(stored: StoredMemory) -> datetime:
    return stored.memory.created_at


def _may_pause(conversation_id: ConversationId, actor: Actor) -> bool:
    """The person of a private chat speaks for it; in a group one would pause all others."""
    return actor.admin or conversation_id.kind is ConversationKind.PRIVATE
