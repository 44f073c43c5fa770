"""Applies what was learned from finished turns, inside the scope in which they were said.

The model that read the turns may have been manipulated by them. So nothing in its answer is
trusted: not who spoke, not which memories it may change, and never a scope. Ids are derived from
tickets and words: an entry that exists or is archived is not written again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from ..catalogue.catalogue import Catalogue, entry_key
from ..catalogue.rules.bylines import folded_name
from ..catalogue.rules.event_day import has_day, is_another_event, with_day
from ..catalogue.rules.proposals import is_proposed
from ..catalogue.rules.talk_history import anchor
from ..catalogue.unread_turns import UnreadTurns
from ..models.conversation import Actor
from ..models.data_models import (
    NO_TIME,
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
from ..models.passages import is_for_speaker_alone
from ..models.scope import Scope, ScopeFilter
from ..models.soul import MannerWish
from ..models.turns import Contradiction, Feedback, FeedbackReport, QueuedTurn, Ticket
from ..recall.afterwards import UseCounts
from ..recall.rules.tell_once import replacing
from ..remember.deeds import Deeds, lost
from ..remember.memory_handlers import MemoryHandlers, Said
from ..runtime.identifiers import Clock
from ..scopes.scope_book import ScopeBook
from ..text.normalising import clean, derived_id
from ..text.overlap import CHANGED, content
from ..text.stated import stated
from ..text.statements import statement
from ..vault.markdown_vault import MarkdownVault
from .rules.guards import may_close, may_replace, rules_said
from .rules.prompt import NOBODY, related
from .turn_store import SqliteTurnStore

SCOPE_GONE = "scope_gone"
"""The error code of a batch whose scope's folder a person deleted."""
_RULE_STRENGTH = 80
_MOST_KNOWN = 30
_MOST_COMPARED = 3_000
_MOST_OF_A_RULE = 0.6

type CountManner = Callable[[str, str, datetime, Sequence[MannerWish]], None]
"""Counts wishes by scope, persona and time. It blocks, and raises StateUnavailable."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """Where feedback applies: the turns, all of one scope and conversation, that scope, and what
    their speakers may see."""

    turns: tuple[QueuedTurn, ...]
    scope: Scope
    sees: ScopeFilter

    @property
    def own(self) -> ScopeFilter:
        """Returns what may be changed: what is visible, restricted to the own scope."""
        return replace(self.sees, scopes=(self.scope,))

    @property
    def where(self) -> str:
        return self.turns[0].conversation

    @property
    def is_private(self) -> bool:
        return is_for_speaker_alone(self.scope, self.where)

    def id_of(self, *parts: str) -> str:
        """Returns an id derived from the turns and these parts, so that repetitions get the same
        id."""
        return derived_id("m", "learned", *(turn.ticket_id for turn in self.turns), *parts)


class FeedbackApplier:
    """Settles tickets one at a time. After a crash the ticket is settled again, idempotently."""

    def __init__(
        self,
        turns: SqliteTurnStore,
        vault: MarkdownVault,
        catalogue: Catalogue,
        handlers: MemoryHandlers,
        corrected: Deeds,
        book: ScopeBook,
        uses: UseCounts,
        unread: UnreadTurns,
        clock: Clock,
        count_manner: CountManner | None = None,
    ) -> None:
        self._turns = turns
        self._vault = vault
        self._catalogue = catalogue
        self._handlers = handlers
        self._corrected = corrected
        self._book = book
        self._uses = uses
        self._unread = unread
        self._clock = clock
        self._count_manner = count_manner
        self._lock = asyncio.Lock()

    async def scope_of(self, name: str) -> Scope | None:
        """Returns the scope that turns were queued with, None if its folder was deleted."""
        scopes = await asyncio.to_thread(self._vault.scopes)
        return next((scope for scope in scopes if scope.name == name), None)

    async def known(self, turns: Sequence[QueuedTurn], scope: Scope) -> list[StoredMemory]:
        """Returns memories related to the turns, as far as their scope sees them now: what was
        recalled for them, what was stored in their conversation meanwhile, and what the same people
        have said about it before."""
        lesson = self._lesson(turns, scope)
        recalled = dict.fromkeys(memory_id for turn in turns for memory_id in turn.recalled)
        found = (self._catalogue.find(memory_id, lesson.sees) for memory_id in recalled)
        since, now = min(turn.observed_at for turn in turns), self._clock()
        meanwhile = (
            stored
            for stored in self._catalogue.of_days(since.date(), now.date(), lesson.own, now.tzinfo)
            if stored.memory.provenance.conversation == lesson.where
            and stored.memory.created_at >= since
        )
        mine = list(self._catalogue.visible(lesson.own))[-_MOST_COMPARED:]
        before = await asyncio.to_thread(related, turns, mine)
        shown = filter(None, (*before, *found, *meanwhile))
        return list({stored.pointer: stored for stored in shown}.values())[:_MOST_KNOWN]

    async def apply(self, feedback: Feedback, ticket: Ticket) -> FeedbackReport:
        """Write what is new, count useful memories, delete the turns from the queue: in this order,
        so that a crash in between repeats work rather than losing it. If the disk refused a write,
        the turns stay in the queue."""
        async with self._lock:
            return await self._apply(feedback, ticket)

    async def _apply(self, feedback: Feedback, ticket: Ticket) -> FeedbackReport:
        turns = await asyncio.to_thread(self._turns.turns, ticket.ids)
        places = {(turn.scope, turn.conversation) for turn in turns}
        scope = await self.scope_of(turns[0].scope) if len(places) == 1 else None
        if scope is None:
            return FeedbackReport(known=False)  # whoever reads them puts them aside
        lesson = self._lesson(turns, scope)
        # An admin spoke to the bot: overheard words are no order to it.
        orders = [turn for turn in turns if turn.admin and turn.person and turn.reply_text]
        rules = {rule: turn for turn in orders for rule in rules_said(turn.user_text)}
        outcomes = [
            await self._write(_order(rule, turn), lesson, "rule", turn.ticket_id, trusted=True)
            for rule, turn in rules.items()
        ]
        said = [content(rule) for rule in rules]
        for draft in feedback.drafts:
            if not _repeats(content(draft.judgment), said):
                heard = _as_heard(draft, lesson)
                by = heard.actor or NOBODY
                outcomes.append(await self._write(heard, lesson, by.person, by.name))
        dropped = 0
        for contradiction in feedback.contradictions:
            outcome, taken = await self._correct(contradiction, lesson)
            outcomes.append(outcome)
            dropped += not taken
        report = FeedbackReport(known=True, outcomes=tuple(outcomes), dropped=dropped)
        if any(isinstance(one, Refused) and one.reason == "not_written" for one in outcomes):
            return report
        await self._count(feedback, turns, scope)
        recalled = {memory_id for turn in turns for memory_id in turn.recalled}
        used = await asyncio.to_thread(self._used, feedback, lesson)
        unused = await self._uses.feedback(used, lesson.sees, recalled=recalled)
        await asyncio.to_thread(self._turns.drop, ticket.ids)
        self._unread.drop(ticket.ids)
        return replace(report, dropped=dropped + unused)

    async def _count(self, feedback: Feedback, turns: Sequence[QueuedTurn], scope: Scope) -> None:
        """Count what was asked of the bot's manner, by those who spoke."""
        persons = {turn.person for turn in turns}
        wishes = [wish for wish in feedback.manner if wish.person in persons]
        if self._count_manner is not None and wishes:
            first, count = turns[0], self._count_manner
            await asyncio.to_thread(count, scope.name, first.persona, first.observed_at, wishes)

    def _used(self, feedback: Feedback, lesson: Lesson) -> Feedback:
        """Returns the feedback without memories that the bot alone spoke of: its own use of their
        words does not prove that they served anybody."""
        said = content("\n".join(turn.user_text for turn in lesson.turns))

        def served(memory_id: str) -> bool:
            stored = self._catalogue.find(memory_id, lesson.sees)
            words = content(stored.memory.judgment) if stored else said
            return bool(said & (words - content(stored.memory.who if stored else "")))

        return replace(feedback, useful_ids=tuple(filter(served, feedback.useful_ids)))

    def _lesson(self, turns: Sequence[QueuedTurn], scope: Scope) -> Lesson:
        """Returns the lesson of turns of one conversation. What the bot learned from a person's
        private chat is visible only if no other person speaks."""
        persons = {turn.person for turn in turns}
        alone = persons.pop() if len(persons) == 1 else None
        shelves = () if alone is None else self._book.shelves_of(turns[0].conversation, alone)
        return Lesson(tuple(turns), scope, ScopeFilter.reading_as(scope, shelves=shelves))

    async def _write(
        self, draft: MemoryDraft, lesson: Lesson, *about: str, trusted: bool = False
    ) -> RememberOutcome:
        """Write a memory once, unless a trusted one of that speaker says it already. ``about``:
        what its id is derived from, beside its words."""
        memory_id = lesson.id_of(*about, draft.judgment)
        if earlier := await self._handlers.earlier(lesson.scope, memory_id):
            return earlier
        by = draft.actor or NOBODY
        vouched = _as_said(draft, Provenance(by.name, by.person, trusted=True))
        known = self._catalogue.same_words(lesson.scope, vouched)
        if known is not None:
            return Stored(known, "reinforced")
        said = Said(lesson.where, lesson.turns[0].persona, trusted=trusted)
        write = self._handlers.write
        return await write(draft, lesson.scope, said, memory_id=memory_id, asked=False)

    async def _correct(
        self, contradiction: Contradiction, lesson: Lesson
    ) -> tuple[RememberOutcome, bool]:
        """Write the new words. They replace the old entry if the same person retracted it; else the
        old entry is kept, and marked as settled if allowed. Returns also whether the old entry was
        replaced or settled. What a person has changed since stays as it is."""
        draft, old_id = _as_heard(contradiction.draft, lesson), contradiction.memory_id
        turn = _turn_of(contradiction, lesson.turns)
        old = self._catalogue.find(old_id, lesson.own)
        replaces = closes = False
        if old is not None and old.scope == lesson.scope:
            said_at = (turn or lesson.turns[0]).observed_at
            since = await asyncio.to_thread(self._corrected.changed_since, said_at)
            if any(deed.memory_id == old_id for deed in since):
                return Refused("corrected"), False
            if turn is not None and not _is_another_event(old, draft, turn):
                replaces = self._said(old.memory.provenance.person, turn, draft) and may_replace(
                    old, draft.judgment, turn
                )
                closes = not replaces and self._closes(old, draft, turn, lesson)
        draft = replace(draft, active=False)
        if old is not None and (replaces or closes) and is_proposed(old.memory):
            draft = replace(draft, proposed=True)  # it is still to be decided
        if old is not None and replaces:
            draft = replace(
                draft,
                reasoning=replacing(draft.reasoning, old_id),
                tags=(*draft.tags, *old.memory.tags),
                strength=max(draft.strength, old.memory.strength),
                active=old.memory.active and not lesson.is_private,
            )
        outcome = await self._write(draft, lesson, "contradiction", old_id)
        if isinstance(outcome, Refused) or old is None or not (replaces or closes):
            return outcome, False
        new = outcome.memory
        if closes:
            return outcome, await self._handlers.close(old, new)
        if self._catalogue.get(entry_key(old)) is not None and (  # else the write replaced it
            new.memory.memory_id == old_id or not await self._handlers.supersede(old, new)
        ):
            return outcome, False
        # Earlier turns that are still unread may say the old words again.
        at = draft.said_at or lesson.turns[-1].observed_at
        await self._corrected.note([lost(DeedKind.TAKEN_BACK, old.scope.name, old.memory, at=at)])
        if is_stored(outcome, "stored"):
            outcome = replace(outcome, how="replaced", former=old)
        return outcome, True

    def _closes(
        self, old: StoredMemory, draft: MemoryDraft, turn: QueuedTurn, lesson: Lesson
    ) -> bool:
        own = self._book.same_person(turn.person, old.memory.provenance.person)
        known = self._is_known(turn, old, lesson)
        may = may_close(old, draft.judgment, turn, own=own, known=known)
        return may and self._said(turn.person, turn, draft)

    def _is_known(self, turn: QueuedTurn, old: StoredMemory, lesson: Lesson) -> bool:
        """Returns whether the turn's account spoke under its present name before the entry was
        made: in public in the conversation of both; in a private scope, whose members the owner has
        chosen, in the conversation of either."""
        name, where = folded_name(turn.who), {turn.conversation}
        where.add(old.memory.provenance.conversation)
        if old.scope.is_public and len(where) > 1:
            return False
        if turn.person not in self._catalogue.speakers.bearers(name, lesson.own.names):
            return False
        before = (
            stored.memory.provenance
            for stored in self._catalogue.visible(lesson.own)
            if stored.memory.created_at < old.memory.created_at
        )
        return any(
            origin.account == turn.person
            and origin.conversation in where
            and folded_name(origin.who) == name
            for origin in before
        )

    def _said(self, person: str, turn: QueuedTurn, draft: MemoryDraft) -> bool:
        """Returns whether this person spoke in the turn and said the draft's words."""
        spoke = (turn, draft.actor or NOBODY)
        return all(self._book.same_person(one.person, person) for one in spoke)


def _repeats(words: frozenset[str], rules: Sequence[frozenset[str]]) -> bool:
    """Returns whether a draft repeats one of the rules in other words."""
    return any(len(words & rule) > len(rule) * _MOST_OF_A_RULE for rule in rules)


def _order(rule: str, turn: QueuedTurn) -> MemoryDraft:
    """Returns a standing instruction that an admin gave the bot in a turn: trusted, because it is
    the admin's own sentence, word for word."""
    return MemoryDraft(
        rule,
        strength=_RULE_STRENGTH,
        source=Source.REFLECTION,
        actor=Actor(turn.person, turn.who, admin=True),
        said_at=turn.observed_at,
        talk=anchor(turn.history, turn.user_text),
    )


def _as_heard(draft: MemoryDraft, lesson: Lesson) -> MemoryDraft:
    """Returns a draft as untrusted, of who spoke in the turns, if it names one of them. What the
    person did not ask to have stored stays as private as its chat."""
    actor = draft.actor or NOBODY
    spoke = any(
        turn.person == actor.person and (bool(turn.person) or turn.who == actor.name)
        for turn in lesson.turns
    )
    return replace(
        draft,
        actor=replace(actor, admin=False) if spoke else NOBODY,
        said_at=draft.said_at or lesson.turns[-1].observed_at,
        source=Source.REFLECTION,
        active=draft.active and not lesson.is_private,
    )


def _as_said(draft: MemoryDraft, origin: Provenance) -> Memory:
    said_at = draft.said_at or NO_TIME
    said = Memory("", clean(draft.judgment), said_at, kind=draft.kind, provenance=origin)
    return said if draft.day is None else with_day(said, draft.day)


def _is_another_event(old: StoredMemory, draft: MemoryDraft, turn: QueuedTurn) -> bool:
    """Returns whether the draft tells of the same thing on another day, to which it was not
    moved: both happened. Other numbers, where neither names a day, are news of the one event."""
    new = _as_said(replace(draft, said_at=turn.observed_at), Provenance())
    changed = CHANGED.search(stated(turn.user_text)) is not None
    both = old.memory.kind is draft.kind is MemoryKind.EVENT
    if not both or changed or not is_another_event(new, old.memory):
        return False
    return has_day(new) or has_day(old.memory) or _numbers(new) == _numbers(old.memory)


def _numbers(memory: Memory) -> set[str]:
    words = statement(memory.judgment, memory.created_at).words
    return {word for word in words if word.isdecimal()}


def _turn_of(contradiction: Contradiction, turns: Sequence[QueuedTurn]) -> QueuedTurn | None:
    named = (one for one in turns if one.ticket_id == contradiction.ticket_id)
    return next(named, turns[0] if len(turns) == 1 else None)
