"""Applies what was learned from finished turns, inside the scope in which they were said. They may
have manipulated the model that read them: its answer is trusted neither for who spoke, nor for what
it may change, nor for a scope. Ids are derived from tickets and words: an entry that exists or is
archived is not written again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal

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
)
from ..models.deeds import DeedKind
from ..models.passages import is_for_speaker_alone
from ..models.scope import Scope, ScopeFilter
from ..models.soul import MannerWish
from ..models.turns import Contradiction, Feedback, FeedbackReport, QueuedTurn, Ticket
from ..recall.afterwards import UseCounts
from ..recall.rules.tell_once import replacing
from ..remember.deeds import Deeds, lost
from ..remember.exclusions import Exclusions
from ..remember.memory_handlers import MemoryHandlers, Said
from ..runtime.cooperative import cooperative
from ..scopes.scope_book import ScopeBook
from ..text.normalising import clean, derived_id
from ..text.overlap import content, says_changed
from ..text.stated import stated
from ..text.statements import statement
from ..vault.markdown_vault import MarkdownVault
from .rules.guards import may_close, may_replace, rules_said
from .rules.prompt import NOBODY, related
from .turn_store import SqliteTurnStore

_RULE_STRENGTH: Final = 80
_MOST_OF_A_RULE: Final = 0.6
"""A draft that says more of a rule than that repeats it."""
_MOST_COMPARED: Final = 3_000


@dataclass(frozen=True, slots=True)
class Lesson:
    """Where feedback applies: turns of one scope and conversation, without what was corrected since
    or is never to be learned, that scope, and what their speakers may see."""

    turns: tuple[QueuedTurn, ...]
    scope: Scope
    sees: ScopeFilter

    @property
    def own(self) -> ScopeFilter:
        """Returns what may be changed: what is visible of the own scope."""
        return replace(self.sees, scopes=(self.scope,))


@dataclass(eq=False)
class FeedbackApplier:
    """Settles tickets. After a crash, or a cancelled pass, one is settled again, idempotently."""

    _turns: SqliteTurnStore
    _vault: MarkdownVault
    _catalogue: Catalogue
    _handlers: MemoryHandlers
    _corrected: Deeds
    _exclusions: Exclusions
    _book: ScopeBook
    _uses: UseCounts
    _unread: UnreadTurns
    _count_manner: Callable[[str, str, datetime, Sequence[MannerWish]], None] | None = None
    """Counts wishes by scope, persona and time. It blocks, and raises StateUnavailable."""

    async def lesson(self, turns: Sequence[QueuedTurn]) -> Lesson | None:
        """Returns the lesson of turns of one conversation, None if their scope has no folder. What
        was learned from a person's private chat is visible only if no other person speaks."""
        first, *others = {turn.person for turn in turns}
        shelves = () if others else self._book.shelves_of(turns[0].conversation, first)
        scopes = await asyncio.to_thread(self._vault.scopes)
        scope = next((one for one in scopes if one.name == turns[0].scope), None)
        if scope is None:
            return None
        cleared, learned = self._corrected.texts.cleared, self._exclusions.cleared
        left = await asyncio.to_thread(lambda: tuple(cleared(learned(one)) for one in turns))
        return Lesson(left, scope, ScopeFilter.reading_as(scope, shelves=shelves))

    async def known(self, lesson: Lesson) -> list[StoredMemory]:
        """Returns memories related to the turns, as far as these see them: what the same people
        have said about it before, and what was recalled or stored in the turns."""
        mine = list(self._catalogue.visible(lesson.own))[-_MOST_COMPARED:]
        shown = await asyncio.to_thread(related, lesson.turns, mine)
        ids = (one for turn in lesson.turns for one in turn.recalled + turn.stored)
        shown += filter(None, (self._catalogue.find(one, lesson.sees) for one in ids))
        return list({stored.pointer: stored for stored in shown}.values())

    async def apply(self, feedback: Feedback, ticket: Ticket) -> FeedbackReport:
        """Write what is new, count useful memories, delete the turns from the queue: in this order,
        so that a crash repeats work. If the disk refused a write, the turns stay in the queue."""
        turns = await asyncio.to_thread(self._turns.turns, ticket.ids)
        places = {(turn.scope, turn.conversation) for turn in turns}
        lesson = await self.lesson(turns) if len(places) == 1 else None
        if lesson is None:
            return FeedbackReport(known=False)  # whoever reads them puts them aside
        rules = [(draft, turn.ticket_id) for turn in turns for draft in _orders(turn)]
        outcomes = [await self._write(rule, lesson, name, trusted=True) for rule, name in rules]
        new = [one for one in feedback.drafts if not _repeats(one, [rule for rule, _ in rules])]
        told = (*(Contradiction("", draft) for draft in new), *feedback.contradictions)
        learned = [await self._learn(one, lesson) for one in told]
        outcomes += [outcome for outcome, _ in learned]
        dropped = sum(not taken for _, taken in learned) - len(new)  # a draft takes nothing
        report = FeedbackReport(known=True, outcomes=tuple(outcomes), dropped=dropped)
        if any(isinstance(one, Refused) and one.reason == "not_written" for one in outcomes):
            return report
        wishes = [one for one in feedback.manner if one.person in {turn.person for turn in turns}]
        if self._count_manner is not None and wishes:
            said_in = (turns[0].scope, turns[0].persona, turns[0].observed_at)
            await asyncio.to_thread(self._count_manner, *said_in, wishes)
        feedback = await asyncio.to_thread(self._used, feedback, lesson)
        recalled = {memory_id for turn in turns for memory_id in turn.recalled}
        unused = await self._uses.feedback(feedback, lesson.sees, recalled=recalled)
        await asyncio.to_thread(self._turns.drop, ticket.ids)
        self._unread.drop(ticket.ids)
        return replace(report, dropped=dropped + unused)

    def _used(self, feedback: Feedback, lesson: Lesson) -> Feedback:
        """Returns the feedback without memories that the bot alone spoke of: its own use of their
        words does not prove that they served anybody."""
        said = content("\n".join(turn.user_text for turn in lesson.turns))
        found = {one: self._catalogue.find(one, lesson.sees) for one in feedback.useful_ids}
        served = (
            memory_id
            for memory_id, one in found.items()
            # What is not seen is counted as that.
            if one is None or said & (content(one.memory.judgment) - content(one.memory.who))
        )
        return replace(feedback, useful_ids=tuple(served))

    async def _write(
        self, draft: MemoryDraft, lesson: Lesson, *about: str, trusted: bool = False
    ) -> RememberOutcome:
        """Write a memory once, unless a trusted one of that speaker says it already."""
        by, tickets = draft.actor or NOBODY, [turn.ticket_id for turn in lesson.turns]
        memory_id = derived_id("m", "learned", *tickets, *about, by.person, by.name, draft.judgment)
        if earlier := await self._handlers.earlier(lesson.scope, memory_id):
            return earlier
        vouched = _as_said(draft, Provenance(by.name, by.person, trusted=True))
        if known := self._catalogue.same_words(lesson.scope, vouched):
            return Stored(known, "reinforced")
        return await self._handlers.write(
            draft,
            lesson.scope,
            Said(lesson.turns[0].conversation, lesson.turns[0].persona, trusted),
            memory_id=memory_id,
            asked=False,
        )

    async def _learn(self, said: Contradiction, lesson: Lesson) -> tuple[RememberOutcome, bool]:
        """Write new words, and return also whether they replaced the entry that they contradict,
        or settled it. What a person has changed since stays as it is."""
        draft, turns = _as_heard(said.draft, lesson), lesson.turns
        named = (one for one in turns if one.ticket_id == said.ticket_id)
        turn = next(named, turns[0] if len(turns) == 1 else None)
        old = self._catalogue.find(said.memory_id, lesson.own)
        if old is None or old.scope != lesson.scope:
            return await self._write(draft, lesson, said.memory_id), False
        said_at = (turn or turns[0]).observed_at
        since = await asyncio.to_thread(self._corrected.changed_since, said_at)
        if any(deed.memory_id == said.memory_id for deed in since):
            return Refused("corrected"), False
        if turn is None:
            return await self._write(draft, lesson, said.memory_id), False
        effect = await asyncio.to_thread(
            self._effect, old, draft, turn, list(self._catalogue.visible(lesson.own))
        )
        if effect and is_proposed(old.memory):
            draft = replace(draft, proposed=True)  # it is still to be decided
        if effect == "replaces":
            draft = replace(
                draft,
                reasoning=replacing(draft.reasoning, said.memory_id),
                tags=(*draft.tags, *old.memory.tags),
                strength=max(draft.strength, old.memory.strength),
                active=old.memory.active
                and not is_for_speaker_alone(lesson.scope, turn.conversation),
            )
        outcome = await self._write(draft, lesson, said.memory_id)
        if isinstance(outcome, Refused) or not effect:
            return outcome, False
        new = outcome.memory
        if effect == "closes":
            return outcome, await self._handlers.close(old, new)
        # Where the old entry is gone, the write has replaced it.
        if self._catalogue.get(entry_key(old)) is not None and (
            new.memory.memory_id == said.memory_id or not await self._handlers.supersede(old, new)
        ):
            return outcome, False
        # Earlier turns that are still unread may say the old words again.
        at = draft.said_at or turn.observed_at
        await self._corrected.note([lost(DeedKind.TAKEN_BACK, old.scope.name, old.memory, at)])
        return replace(outcome, how="replaced", former=old), True

    def _effect(
        self, old: StoredMemory, draft: MemoryDraft, turn: QueuedTurn, seen: Sequence[StoredMemory]
    ) -> Literal["", "replaces", "closes"]:
        """Returns what the draft, said in this turn, does to an older entry. Blocks."""
        same, by = self._book.same_person, draft.actor or NOBODY
        if not same(by.person, turn.person) or _is_another_event(old, draft, turn):
            return ""
        own = same(turn.person, old.memory.provenance.person)
        if own and may_replace(old, draft.judgment, turn):
            return "replaces"
        known = not own and _is_known(turn, old, seen)
        return "closes" if may_close(old, draft.judgment, turn, own=own, known=known) else ""


def _is_known(turn: QueuedTurn, old: StoredMemory, visible: Sequence[StoredMemory]) -> bool:
    """Returns whether the turn's account bore its present name before the entry was made: in public
    in the conversation of both; in a private scope in the conversation of either."""
    name, where = folded_name(turn.who), {turn.conversation, old.memory.provenance.conversation}
    if old.scope.is_public and len(where) > 1:
        return False
    return any(
        origin.account == turn.person
        and origin.conversation in where
        and folded_name(origin.who) == name
        for stored in cooperative(visible)
        if stored.memory.created_at < old.memory.created_at
        for origin in [stored.memory.provenance]
    )


def _repeats(draft: MemoryDraft, rules: Sequence[MemoryDraft]) -> bool:
    """Returns whether a draft repeats one of the rules in other words."""
    words, said = content(draft.judgment), [content(rule.judgment) for rule in rules]
    return any(len(words & rule) > len(rule) * _MOST_OF_A_RULE for rule in said)


def _orders(turn: QueuedTurn) -> list[MemoryDraft]:
    """Returns the standing instructions that an admin gave the bot in a turn, word for word: what
    was only overheard is no order to it."""
    by, talk = Actor(turn.person, turn.who, admin=True), anchor(turn.history, turn.user_text)
    order = MemoryDraft("", strength=_RULE_STRENGTH, source=Source.REFLECTION, actor=by, talk=talk)
    said = rules_said(turn.user_text) if turn.admin and turn.person and turn.reply_text else ()
    return [replace(order, judgment=rule, said_at=turn.observed_at) for rule in said]


def _as_heard(draft: MemoryDraft, lesson: Lesson) -> MemoryDraft:
    """Returns a draft as untrusted and not asked for, of nobody if it names none who spoke."""
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
        active=False,
    )


def _as_said(draft: MemoryDraft, origin: Provenance) -> Memory:
    said_at = draft.said_at or NO_TIME
    said = Memory("", clean(draft.judgment), said_at, kind=draft.kind, provenance=origin)
    return said if draft.day is None else with_day(said, draft.day)


def _is_another_event(old: StoredMemory, draft: MemoryDraft, turn: QueuedTurn) -> bool:
    """Returns whether the draft tells of the same thing on another day, to which it was not
    moved: both happened. Other numbers, where neither names a day, are news of the one event."""
    new = _as_said(replace(draft, said_at=turn.observed_at), Provenance())
    changed = says_changed(stated(turn.user_text))
    both = old.memory.kind is draft.kind is MemoryKind.EVENT
    if not both or changed or not is_another_event(new, old.memory):
        return False
    words = (statement(one.judgment, one.created_at).words for one in (new, old.memory))
    now, before = (set(filter(str.isdecimal, one)) for one in words)
    return has_day(new) or has_day(old.memory) or now == before
