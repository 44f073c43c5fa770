"""Writing: draft -> gate -> privacy -> quote -> neighbours -> route -> vault -> index."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from ..catalogue.rules.closing import closed_by
from ..catalogue.rules.closing import reopened as still_open
from ..catalogue.rules.event_day import names_day, with_day
from ..catalogue.rules.proposals import (
    is_proposed,
    is_rejected,
    proposed,
    unproposed,
)
from ..catalogue.rules.talk_anchor import anchor_field
from ..catalogue.rules.tasks import is_task, reopened
from ..errors import VaultWriteFailed
from ..index.rules.deduplication import Decision, Reinforce, Replace
from ..log import logger
from ..models.conversation import Actor
from ..models.data_models import (
    MAX_STRENGTH,
    MODEL_WORDED,
    NO_TIME,
    How,
    Memory,
    MemoryDraft,
    MemoryKind,
    Provenance,
    Reason,
    Refused,
    RememberOutcome,
    Source,
    Stored,
    StoredMemory,
    Topic,
)
from ..models.deeds import DeedKind
from ..models.passages import Key
from ..models.scope import Scope
from ..models.status import NoticeCode
from ..models.vault_layout import topic_of
from ..recall.weights import Linear
from ..text.dates.date_annotation import resolve_dates, stands_weekly
from ..text.normalising import same_words
from ..text.overlap import is_model_worded
from ..text.stated import stated
from .corrected_texts import EVER
from .draft_checks import not_written
from .edit import MemoryEditor
from .near_duplicates import NearDuplicates
from .rules.contradiction import Taking, contradicted, takes_back
from .rules.gate import MAX_TAGS, is_quotation
from .rules.routing import beside

_REINFORCE_BY = 5


@dataclass(eq=False)
class MemoryHandlers(MemoryEditor):
    """The one writer of memories. A write that began is completed also if its caller is
    cancelled."""

    _near: NearDuplicates
    _newer: Linear

    async def write(
        self,
        draft: MemoryDraft,
        scope: Scope,
        *,
        conversation: str,
        trusted: bool,
        role: str,
        memory_id: str = "",
        asked: bool = True,
        former: StoredMemory | None = None,
    ) -> RememberOutcome:
        """Write a draft; an acknowledged one is on disk. The same words of the same speaker only
        grow stronger.

        ``memory_id`` makes repeated writes idempotent; without it the id is new. ``former``: an
        entry to replace; the new one is written to the same file. Without ``asked`` no person
        requests the write now: what was corrected since it was said stays corrected, and what was
        rejected or forgotten is not proposed again.
        """
        passed = await self._checks.examine(draft, scope)
        if isinstance(passed, Refused):
            return passed
        step = partial(self._memory, passed.draft, conversation=conversation, trusted=trusted)
        memory = replace(await asyncio.to_thread(step, role=role), memory_id=memory_id)
        known = await self._said_before(scope, memory)
        # Before the lock: a slow embedder must not block other writers.
        near = Reinforce(known) if known else await self._near.decide(scope, memory)
        said_at = passed.draft.said_at or self._clock()
        async with self._recallable.writing:
            if not asked and await self._is_corrected(scope, memory, said_at):
                logger.debug("not stored: corrected, moved or turned down since it was said")
                return Refused(Reason.CORRECTED)
            # Said anew it is remembered; to propose it again is left to people.
            if not asked and is_proposed(memory) and await self._revives(scope, memory, EVER):
                memory = unproposed(memory)
            try:
                outcome = await self._settle(scope, memory, near, former, passed.draft)
            except VaultWriteFailed as error:
                return not_written(error, self._notices)
            self._notices.clear(NoticeCode.VAULT_UNWRITABLE)
        return replace(outcome, hidden=passed.hidden)

    async def remember(
        self,
        draft: MemoryDraft,
        scope: Scope,
        *,
        conversation: str,
        trusted: bool,
        role: str,
        memory_id: str = "",
    ) -> RememberOutcome:
        """As ``write``, without the words by which the draft calls itself a correction. It is
        REPLACED where the draft contradicts what the same speaker said for certain,
        ``conflict`` where it may contradict anything else. A crash in between leaves
        both."""
        taken = await asyncio.to_thread(takes_back, draft)
        outcome = await self.write(
            replace(draft, judgment=taken.said) if taken.named else draft,
            scope,
            conversation=conversation,
            trusted=trusted,
            role=role,
            memory_id=memory_id,
        )
        if isinstance(outcome, Refused) or outcome.how is How.REPLACED:
            return outcome
        again = outcome.how is How.AGAIN
        if again and taken.how is Taking.TELLS:
            return outcome
        new = outcome.memory
        near = await self._near.sharing_words(new, latest=taken.named)
        find = partial(contradicted, new.memory, taken, near, self._newer)
        sure, found = await asyncio.to_thread(find)
        if sure and found and await self.supersede(found, new):
            # Earlier turns that are still unread may say the old words again.
            await self._deeds.note(DeedKind.TAKEN_BACK, found, at=new.memory.created_at)
            return Stored(new, How.REPLACED, former=found, hidden=outcome.hidden)
        if again:
            return outcome
        return replace(outcome, conflict=found, missed=found is None and taken.named)

    async def as_memory(
        self, draft: MemoryDraft, scope: Scope, *, conversation: str, role: str, memory_id: str
    ) -> Memory | Refused:
        """Returns what would be stored of an unvouched draft, or why it would be rejected."""
        passed = await self._checks.examine(draft, scope)
        if isinstance(passed, Refused):
            return passed
        step = partial(self._memory, passed.draft, conversation=conversation, trusted=False)
        return replace(await asyncio.to_thread(step, role=role), memory_id=memory_id)

    async def _is_corrected(self, scope: Scope, memory: Memory, said_at: datetime) -> bool:
        if await self._revives(scope, memory, said_at):
            return True
        if not is_proposed(memory):
            return False
        return await asyncio.to_thread(_was_rejected, memory, self._catalogue.of_scope(scope))

    async def _revives(self, scope: Scope, memory: Memory, said_at: datetime) -> bool:
        ask = self._deeds.texts.would_revive
        return await asyncio.to_thread(ask, scope.name, memory, said_at, otherwise=True)

    async def _settle(
        self,
        scope: Scope,
        memory: Memory,
        near: Decision,
        former: StoredMemory | None,
        draft: MemoryDraft,
    ) -> Stored:
        wanted = Topic.DECISIONS if draft.proposed else draft.topic
        # Again: another write may have stored it while the embedder was asked.
        known = await self._said_before(scope, memory)
        stored = known or (near.stored if isinstance(near, Reinforce | Replace) else None)
        current = await self._unchanged(stored) if stored else None
        if current is None:
            return await self._append(scope, memory, former, wanted)
        if known or isinstance(near, Reinforce):
            if not is_task(current) and _is_echo(draft):
                return Stored(current, How.AGAIN)
            active = current.memory.active or memory.active
            again = memory.active or await self._is_open_again(current, memory)
            # A reader of turns proposes what is new, and opens nothing that stands already.
            opens = draft.proposed and draft.source is not Source.REFLECTION
            before = proposed(current.memory) if opens else current.memory
            reinforced = await self._reinforce(current, before, active=active, again=again)
            return reinforced or await self._append(scope, memory, former, wanted)
        return await self._supersede(current, memory)

    async def _said_before(self, scope: Scope, memory: Memory) -> StoredMemory | None:
        """Returns an entry with the same words, also if it was stored as an event or task, whose
        bare weekdays got dates, and now is said as neither. Another week's Friday is another
        day."""
        known = self._catalogue.same_words(scope, memory)
        if known or memory.quoted or memory.undated:
            return known
        said, at = memory.judgment, memory.created_at
        dated = await asyncio.to_thread(resolve_dates, said, at, weekdays=True)
        if dated == said:
            return None
        return self._catalogue.same_words(scope, replace(memory, judgment=dated))

    async def _supersede(self, former: StoredMemory, memory: Memory) -> Stored:
        """Write the new entry, then archive the former one: a crash in between leaves both."""
        tags = tuple(dict.fromkeys((*former.memory.tags, *memory.tags)))[:MAX_TAGS]
        strength = max(former.memory.strength, memory.strength)
        asks = memory.asks or former.memory.asks
        successor = replace(memory, tags=tags, asks=asks, strength=strength)
        stored = await self._append(former.scope, successor, former)
        if not await self._put_away(former, stored.memory):
            return stored
        return replace(stored, how=How.REPLACED, former=former)

    async def stands(self, scope: Scope, memory_id: str) -> StoredMemory | bool:
        """Returns the recallable entry of the scope with this id; if there is none, whether the
        archive has it."""
        living = self._catalogue.get(Key(scope.name, memory_id))
        if living is not None:
            return living
        return bool(await asyncio.to_thread(self._vault.forgotten, scope, [memory_id]))

    async def _append(
        self,
        scope: Scope,
        memory: Memory,
        former: StoredMemory | None = None,
        wanted: Topic | None = None,
    ) -> Stored:
        obeyed = memory.provenance.trusted and not memory.quoted
        place = None if former is None else topic_of(former.path)
        topic = beside(place, memory.kind, memory.judgment, trusted=obeyed, wanted=wanted)
        if former is not None and is_proposed(former.memory):
            memory = proposed(memory)  # in other words it is still to be decided
        stored = await asyncio.to_thread(self._vault.append, scope, topic, memory)
        self._recallable.take(stored)
        logger.debug("stored {} in {}", stored.memory.memory_id, stored.path)
        return Stored(stored)

    async def _is_open_again(self, current: StoredMemory, memory: Memory) -> bool:
        """Returns whether it was said again after it had been settled."""
        by, scope = closed_by(current.memory), current.scope
        if not by:
            return False
        living = self._catalogue.get(Key(scope.name, by))
        if living is not None:
            return memory.created_at > living.memory.created_at
        settled = await asyncio.to_thread(self._vault.archived, scope, [by])
        return all(memory.created_at > one.created_at for one in settled)

    async def _reinforce(
        self, current: StoredMemory, before: Memory, *, active: bool, again: bool
    ) -> Stored | None:
        """Returns None if a person has just changed the entry: then the statement is written anew.
        ``before``: what the entry says. ``again``: it was said on purpose, or after it was settled;
        so a done task and a settled entry are reopened."""
        strength = min(before.strength + _REINFORCE_BY, MAX_STRENGTH)
        if again:
            before = still_open(reopened(before) if is_task(current) else before)
        stronger = replace(before, strength=strength, active=active)
        stored = await self._do(current, lambda _: self._vault.replace(current, stronger))
        return None if stored is None else Stored(stored, How.AGAIN)

    def _memory(self, draft: MemoryDraft, *, conversation: str, trusted: bool, role: str) -> Memory:
        """Blocks for as long as the text takes to read."""
        now = (draft.said_at or self._clock()).replace(microsecond=0)
        actor = draft.actor or Actor(person="", name="")
        worded = is_model_worded(draft.judgment, draft.heard, actor.name)
        trusted = trusted and not worded
        quoted = is_quotation((draft.judgment, draft.reasoning, *draft.tags), trusted=trusted)
        judgment, reasoning = draft.judgment, draft.reasoning
        # A quotation is kept as it was said, and what has no day tells none.
        if not quoted and now != NO_TIME:
            once = draft.kind in (MemoryKind.EVENT, MemoryKind.TASK)
            # A command says of nothing what it is.
            once = once or (draft.source is Source.COMMAND and not stands_weekly(judgment))
            judgment = resolve_dates(judgment, now, weekdays=once)
            reasoning = resolve_dates(reasoning, now)
        source = draft.source if actor.spoke else Source.AGENT
        made = Memory(
            memory_id="",  # the vault gives it one
            judgment=judgment,
            created_at=now,
            reasoning=reasoning,
            tags=draft.tags,
            asks=draft.asks,
            kind=draft.kind,
            active=draft.active,
            strength=draft.strength,
            provenance=Provenance(actor.name, actor.person, conversation, source, trusted),
            role=role,
            context=draft.context,
            extra=(*((MODEL_WORDED,) if worded else ()), *anchor_field(draft.talk)),
            quoted=quoted,
        )
        if draft.proposed:
            made = proposed(made)
        if draft.day is None or names_day(judgment, now):
            return made
        return with_day(made, draft.day)


def _was_rejected(memory: Memory, living: Sequence[StoredMemory]) -> bool:
    """Returns whether one of these is a rejected proposal in the same words, whoever's it was."""
    said = same_words(memory.judgment)
    rejected = (one.memory for one in living if is_rejected(one.memory))
    return any(same_words(one.judgment) == said for one in rejected)


def _is_echo(draft: MemoryDraft) -> bool:
    """Returns whether a model says again what its speaker did not state in the turn: it was shown
    the entry, or asked about it."""
    name = draft.actor.name if draft.actor is not None else ""
    heard = None if draft.heard is None else stated(draft.heard)
    return is_model_worded(draft.judgment, heard, name)
