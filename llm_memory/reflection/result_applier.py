"""Applies single reflection results to the vault: a new memory, a correction.

Each is applied inside the scope of its turns, and is idempotent: ids are derived from tickets and
words, and an entry that exists or is archived is not written again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from ..catalogue.catalogue import Catalogue
from ..catalogue.rules.bylines import folded_name
from ..catalogue.rules.event_day import has_day, is_another_event, with_day
from ..catalogue.rules.proposals import is_proposed
from ..catalogue.rules.talk_history import anchor
from ..models.conversation import Actor
from ..models.data_models import (
    Memory,
    MemoryDraft,
    MemoryKind,
    Provenance,
    Refused,
    RememberOutcome,
    Source,
    Stored,
    StoredMemory,
    is_stored,
)
from ..models.deeds import DeedKind
from ..models.passages import Key, is_for_speaker_alone
from ..models.scope import Scope, ScopeFilter
from ..models.turns import Contradiction, QueuedTurn
from ..recall.rules.tell_once import replacing
from ..remember.deeds import Deeds, lost
from ..remember.memory_handlers import MemoryHandlers, Said
from ..scopes.scope_book import ScopeBook
from ..text.normalising import clean, derived_id
from ..text.overlap import CHANGED
from ..text.stated import stated
from ..text.statements import statement
from .rules.guards import may_close, may_replace
from .rules.speakers import NOBODY

_RULE_STRENGTH = 80


@dataclass(frozen=True, slots=True)
class ResultContext:
    """Where feedback applies: the turns, all of one scope and conversation, that scope, and what
    their speakers may see."""

    turns: tuple[QueuedTurn, ...]
    scope: Scope
    sees: ScopeFilter

    @property
    def is_private(self) -> bool:
        """True if what is learned here is for its speaker alone."""
        return is_for_speaker_alone(self.scope, self.turns[0].conversation)

    @property
    def own(self) -> ScopeFilter:
        """Returns what the results may change: what is visible, restricted to the own scope."""
        return replace(self.sees, scopes=(self.scope,))

    def id_of(self, *parts: str) -> str:
        """Returns an id derived from the turns and these parts, so that repetitions get the same
        id."""
        tickets = (turn.ticket_id for turn in self.turns)
        return derived_id("m", "learned", *tickets, *parts)


class ResultApplier:
    """The model's results are never trusted, and its answer does not decide which entries may be
    changed."""

    def __init__(
        self,
        catalogue: Catalogue,
        handlers: MemoryHandlers,
        corrected: Deeds,
        book: ScopeBook,
    ) -> None:
        self._catalogue = catalogue
        self._handlers = handlers
        self._corrected = corrected
        self._book = book

    def lesson(self, turns: Sequence[QueuedTurn], scope: Scope) -> ResultContext:
        """Returns the context for turns of one conversation. What the bot learned from a person's
        private chat is visible only if no other person speaks."""
        persons = {turn.person for turn in turns}
        alone = persons.pop() if len(persons) == 1 else None
        shelves = () if alone is None else self._book.shelves_of(turns[0].conversation, alone)
        return ResultContext(tuple(turns), scope, ScopeFilter.reading_as(scope, shelves=shelves))

    def _known(self, memory_id: str, context: ResultContext) -> StoredMemory | None:
        """Returns a memory of the context's own scope that is visible in it."""
        stored = self._catalogue.find(memory_id, context.own)
        return stored if stored is not None and stored.scope == context.scope else None

    async def learn(
        self,
        draft: MemoryDraft,
        context: ResultContext,
        memory_id: str = "",
        former: StoredMemory | None = None,
    ) -> RememberOutcome:
        """Write a new, untrusted memory, which decays unless it proves useful. In place of
        ``former``, a proposal, it is still to be decided."""
        said_at = draft.said_at or context.turns[-1].observed_at
        actor = _speaker(draft.actor, context.turns)
        # Passive: what the person did not ask to have stored stays as private as its chat.
        active = draft.active and not context.is_private
        draft = replace(
            draft,
            actor=actor,
            said_at=said_at,
            source=Source.REFLECTION,
            active=active,
            proposed=draft.proposed or (former is not None and is_proposed(former.memory)),
        )
        memory_id = memory_id or context.id_of(actor.person, actor.name, draft.judgment)
        if earlier := await self._handlers.earlier(context.scope, memory_id):
            return earlier
        vouched = self._said_already(draft, actor, said_at, context.scope)
        if vouched is not None:
            return Stored(vouched, "reinforced")
        return await self._handlers.write(
            draft,
            context.scope,
            Said(context.turns[0].conversation, context.turns[0].persona),
            memory_id=memory_id,
            asked=False,
        )

    async def add_rule(
        self, rule: str, turn: QueuedTurn, context: ResultContext
    ) -> RememberOutcome:
        """Write a standing instruction that an admin gave the bot in a turn: trusted, because it is
        the admin's own sentence, word for word."""
        memory_id = context.id_of("rule", turn.ticket_id, rule)
        if earlier := await self._handlers.earlier(context.scope, memory_id):
            return earlier
        draft = MemoryDraft(
            rule,
            strength=_RULE_STRENGTH,
            source=Source.REFLECTION,
            actor=Actor(turn.person, turn.who, admin=True),
            said_at=turn.observed_at,
            talk=anchor(turn.history, turn.user_text),
        )
        return await self._handlers.write(
            draft,
            context.scope,
            Said(turn.conversation, turn.persona, trusted=True),
            memory_id=memory_id,
            asked=False,
        )

    def _said_already(
        self, draft: MemoryDraft, actor: Actor, said_at: datetime, scope: Scope
    ) -> StoredMemory | None:
        """Returns a trusted entry with the same words of the same speaker, of the same event:
        nothing is new then."""
        origin = Provenance(actor.name, actor.person, trusted=True)
        return self._catalogue.same_words(scope, _as_said(draft, said_at, origin))

    async def correct(
        self, contradiction: Contradiction, context: ResultContext
    ) -> tuple[RememberOutcome, bool]:
        """Write the new words. They replace the old entry if the same person retracted it; else the
        old entry is kept, and marked as settled if allowed. Returns also whether the old entry was
        replaced or settled, or is gone already."""
        draft, old_id = contradiction.draft, contradiction.memory_id
        memory_id = context.id_of("contradiction", old_id, draft.judgment)
        old = self._known(old_id, context)
        turn = _turn_of(contradiction, context) or context.turns[0]
        if old is not None and await self._corrected_since(old, turn.observed_at):
            return Refused("corrected"), False
        if old is None or not self._may_correct(old, contradiction, context):
            again = await self._handlers.earlier(context.scope, memory_id) is not None
            closing = old is not None and self._may_close(old, contradiction, context)
            former = old if closing else None
            outcome = await self.learn(replace(draft, active=False), context, memory_id, former)
            if old is not None and closing and not isinstance(outcome, Refused):
                again = await self._handlers.close(old, outcome.memory) or again
            return outcome, again
        draft = replace(
            draft,
            reasoning=replacing(draft.reasoning, old_id),
            tags=(*draft.tags, *old.memory.tags),
            strength=max(draft.strength, old.memory.strength),
            active=old.memory.active,
        )
        outcome = await self.learn(draft, context, memory_id, old)
        taken = await self._supersede([old], outcome)
        if taken:
            # Earlier turns that are still unread may say the old words again.
            at = draft.said_at or context.turns[-1].observed_at
            kind, scope = DeedKind.TAKEN_BACK, old.scope.name
            await self._corrected.note([lost(kind, scope, old.memory, at=at)])
        if taken and is_stored(outcome, "stored"):
            outcome = replace(outcome, how="replaced", former=old)
        return outcome, taken

    async def _corrected_since(self, old: StoredMemory, said_at: datetime) -> bool:
        """Returns whether a person has changed the entry since, in its words or its place."""
        since = await asyncio.to_thread(self._corrected.changed_since, said_at)
        return any(deed.memory_id == old.memory.memory_id for deed in since)

    def _may_correct(
        self, old: StoredMemory, contradiction: Contradiction, context: ResultContext
    ) -> bool:
        turn = _turn_of(contradiction, context)
        if turn is None or not self._said(old.memory.provenance.person, turn, contradiction):
            return False
        if _is_another_event(old, contradiction.draft, turn):
            return False
        return may_replace(old, contradiction.draft.judgment, turn)

    def _may_close(
        self, old: StoredMemory, contradiction: Contradiction, context: ResultContext
    ) -> bool:
        turn = _turn_of(contradiction, context)
        if turn is None or not self._said(turn.person, turn, contradiction):
            return False
        if _is_another_event(old, contradiction.draft, turn):
            return False
        own = self._book.same_person(turn.person, old.memory.provenance.person)
        known = self._is_known(turn, old, context)
        return may_close(old, contradiction.draft.judgment, turn, own=own, known=known)

    def _is_known(self, turn: QueuedTurn, old: StoredMemory, context: ResultContext) -> bool:
        """Returns whether the turn's account spoke under its present name before the entry was
        made: in public in the conversation of both; in a private scope, whose members the owner has
        chosen, in the conversation of either."""
        name, where = folded_name(turn.who), {turn.conversation}
        where.add(old.memory.provenance.conversation)
        if old.scope.is_public and len(where) > 1:
            return False
        if turn.person not in self._catalogue.speakers.bearers(name, context.own.names):
            return False
        before = (
            stored.memory.provenance
            for stored in self._catalogue.visible(context.own)
            if stored.memory.created_at < old.memory.created_at
        )
        return any(
            origin.account == turn.person
            and origin.conversation in where
            and folded_name(origin.who) == name
            for origin in before
        )

    def _said(self, person: str, turn: QueuedTurn, contradiction: Contradiction) -> bool:
        """Returns whether this person spoke in the turn and said the contradicting words."""
        actor = contradiction.draft.actor or NOBODY
        return all(self._book.same_person(one.person, person) for one in (turn, actor))

    async def _supersede(self, olds: Sequence[StoredMemory], outcome: RememberOutcome) -> bool:
        """Archive the old entries, after the new one was written. Returns False if one could not
        be."""
        if isinstance(outcome, Refused):
            return False
        successor, stayed = outcome.memory, 0
        for old in olds:
            if self._catalogue.get(Key(old.scope.name, old.memory.memory_id)) is None:
                continue  # the write has archived it itself
            same = successor.memory.memory_id == old.memory.memory_id
            if same or not await self._handlers.supersede(old, successor):
                stayed += 1
        return not stayed


def _as_said(draft: MemoryDraft, said_at: datetime, origin: Provenance) -> Memory:
    said = Memory("", clean(draft.judgment), said_at, kind=draft.kind, provenance=origin)
    return said if draft.day is None else with_day(said, draft.day)


def _is_another_event(old: StoredMemory, draft: MemoryDraft, turn: QueuedTurn) -> bool:
    """Returns whether the draft tells of the same thing on another day, to which it was not
    moved: both happened. Other numbers, where neither names a day, are news of the one event."""
    new = _as_said(draft, turn.observed_at, Provenance())
    changed = CHANGED.search(stated(turn.user_text)) is not None
    both = old.memory.kind is draft.kind is MemoryKind.EVENT
    if not both or changed or not is_another_event(new, old.memory):
        return False
    return has_day(new) or has_day(old.memory) or _numbers(new) == _numbers(old.memory)


def _numbers(memory: Memory) -> set[str]:
    words = statement(memory.judgment, memory.created_at).words
    return {word for word in words if word.isdecimal()}


def _turn_of(contradiction: Contradiction, context: ResultContext) -> QueuedTurn | None:
    named = [one for one in context.turns if one.ticket_id == contradiction.ticket_id]
    return named[0] if named else context.turns[0] if len(context.turns) == 1 else None


def _speaker(actor: Actor | None, turns: Sequence[QueuedTurn]) -> Actor:
    """Returns the actor if that person spoke in the turns, else an unknown one."""
    if actor is None:
        return NOBODY
    spoke = (
        turn.person == actor.person and (bool(turn.person) or turn.who == actor.name)
        for turn in turns
    )
    return replace(actor, admin=False) if any(spoke) else NOBODY
