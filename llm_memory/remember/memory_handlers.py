"""Writing: draft -> gate -> privacy -> quote -> neighbours -> route -> vault -> index. Batches pass
no checks: adopted, migrated and restored memories."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from ..catalogue.rules.closing import closed_by
from ..catalogue.rules.closing import reopened as still_open
from ..catalogue.rules.event_day import names_day, with_day
from ..catalogue.rules.proposals import is_proposed, is_rejected, proposed, unproposed
from ..catalogue.rules.talk_anchor import anchor_field
from ..catalogue.rules.tasks import is_task, reopened
from ..errors import VaultWriteFailed
from ..index.rules.deduplication import Decision, Reinforce
from ..log import logger
from ..models.conversation import Actor
from ..models.data_models import (
    MAX_STRENGTH,
    MODEL_WORDED,
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
    Topic,
)
from ..models.deeds import DeedKind
from ..models.passages import Key
from ..models.scope import Scope
from ..recall.weights import Linear
from ..runtime.cooperative import unhurried
from ..runtime.lifecycle import Lifespan
from ..scopes.scope_book import ScopeBook
from ..text.dates.date_annotation import resolve_dates, stands_weekly
from ..text.normalising import same_words
from ..text.overlap import is_model_worded
from ..text.stated import stated
from ..vault.models import PartlyWritten
from .corrected_texts import EVER
from .deeds import lost
from .edit import MemoryEditor, not_written
from .near_duplicates import NearDuplicates
from .rules.contradiction import Taken, contradicted, takes_back, tells_of_the_same
from .rules.gate import MAX_TAGS, is_quotation, topic_for

_REINFORCE_BY = 5


@dataclass(frozen=True, slots=True)
class Said:
    """Where a draft was said, with which persona in force, and whether its speaker is trusted."""

    conversation: str
    role: str = ""
    trusted: bool = False


@dataclass(eq=False)
class MemoryHandlers(MemoryEditor):
    """The one writer of memories. A write that began is completed also if its caller is
    cancelled."""

    _near: NearDuplicates
    _newer: Linear
    _book: ScopeBook
    _life: Lifespan

    async def take(self, scope: Scope, memories: Sequence[Memory]) -> list[StoredMemory]:
        """Write, as they are, those that the scope neither has nor had forgotten or corrected. They
        bring their ids. Returns what was written. Raises EngineClosed before it begins, and
        VaultWriteFailed: some may have been written; a repetition writes the rest."""
        return await self._life.finish(partial(self._take, scope, memories))

    async def _take(self, scope: Scope, memories: Sequence[Memory]) -> list[StoredMemory]:
        async with self._recallable.writing:
            entries = await asyncio.to_thread(self._wanted, scope, memories)
            if not entries:
                return []
            await self._book.bring(scope)
            stored: Sequence[StoredMemory] = ()
            try:
                stored = await asyncio.to_thread(self._vault.append_many, scope, entries)
            except VaultWriteFailed as error:
                stored = error.written if isinstance(error, PartlyWritten) else ()
                not_written(error, self._notices)
                raise
            finally:
                async for one in unhurried(stored):
                    self._recallable.take(one)
            self._notices.clear("vault_unwritable")
        return [*stored]

    def _wanted(self, scope: Scope, memories: Sequence[Memory]) -> list[tuple[Topic, Memory]]:
        """Returns those that are neither there, nor forgotten or corrected, each id once."""
        living = self._catalogue.get
        by_id = {m.memory_id: m for m in memories if living(Key(scope.name, m.memory_id)) is None}
        forgotten = self._vault.forgotten(scope, by_id.keys())
        would_revive = self._deeds.texts.would_revive
        return [
            (topic_for(memory), memory)
            for name, memory in by_id.items()
            if name not in forgotten and not would_revive(scope.name, memory, memory.created_at)
        ]

    async def write(
        self,
        draft: MemoryDraft,
        scope: Scope,
        said: Said,
        *,
        memory_id: str = "",
        asked: bool = True,
        corrects: bool = False,
    ) -> RememberOutcome:
        """Write a draft; an acknowledged one is on disk. The same words of the same speaker only
        grow stronger.

        Args:
            asked: A person requests the write now. Else what was corrected since it was said stays
                corrected, and what was rejected or forgotten is not proposed again.
            corrects: It is stored without the words by which it calls itself a correction, and
                replaces what it contradicts of the same speaker for certain.
        """
        taken = await asyncio.to_thread(takes_back, draft) if corrects else None
        if taken is not None and taken.named:
            draft = replace(draft, judgment=taken.said)
        made = await self.made(draft, scope, said, memory_id)
        if isinstance(made, Refused):
            return made
        memory, draft = made
        # Before the lock: a slow embedder must not block other writers.
        known = self._catalogue.same_words(scope, memory)
        near = None if known else await self._near.decide(scope, memory)
        async with self._recallable.writing:
            wanted = memory if asked else await self._unasked(scope, memory, draft)
            if wanted is None:
                logger.debug("not stored: corrected or moved since it was said")
                return Refused("corrected")
            try:
                outcome = await self._settle(scope, wanted, near, draft)
            except VaultWriteFailed as error:
                return not_written(error, self._notices)
            self._notices.clear("vault_unwritable")
        outcome = replace(outcome, hidden=draft.hidden)
        return outcome if taken is None else await self._take_back(outcome, taken)

    async def made(
        self, draft: MemoryDraft, scope: Scope, said: Said, memory_id: str
    ) -> tuple[Memory, MemoryDraft] | Refused:
        """Returns what would be stored, and the draft as examined; or why it would be rejected."""
        passed = await asyncio.to_thread(self._checks.examine, draft, scope)
        if isinstance(passed, Refused):
            return passed
        return await asyncio.to_thread(self._memory, passed, said, memory_id), passed

    async def earlier(self, scope: Scope, memory_id: str) -> Stored | Refused | None:
        """Returns what an earlier write with this id has come to: it stands in the scope, or was
        replaced, forgotten or moved since. None where there was none."""
        living = self._catalogue.get(Key(scope.name, memory_id))
        if living is not None:
            return Stored(living)
        gone = await asyncio.to_thread(self._vault.forgotten, scope, [memory_id])
        taken_out = gone or self._deeds.was_taken_out(scope.name, memory_id)
        return Refused("corrected") if taken_out else None

    async def _unasked(self, scope: Scope, memory: Memory, draft: MemoryDraft) -> Memory | None:
        """Returns what may be stored that no person requests now, None for what was corrected. What
        was forgotten or rejected once is remembered, and left to people to propose again."""
        revives = partial(self._deeds.texts.would_revive, scope.name, memory, copies=())
        since, heard = draft.said_at or self._clock(), draft.heard or ""
        is_older = partial(self._is_older, scope, memory, since, heard)
        if await asyncio.to_thread(lambda: revives(since) or is_older()):
            return None
        if not is_proposed(memory):
            return memory
        said, others = same_words(memory.judgment), self._catalogue.of_scope(scope)
        living = (one.memory for one in others if is_rejected(one.memory))
        rejected = (same_words(one.judgment) == said for one in living)  # whoever's it was
        turned_down = await asyncio.to_thread(any, rejected)
        if turned_down or await asyncio.to_thread(revives, EVER):
            return unproposed(memory)
        return memory

    def _is_older(self, scope: Scope, memory: Memory, said_at: datetime, heard: str) -> bool:
        """Returns whether it is about what a person has corrected since it was said: an entry that
        stands, by its present words or by those that it had. Blocks."""
        for deed in self._deeds.changed_since(said_at):
            stored = self._catalogue.get(Key(scope.name, deed.memory_id))
            present = stored.memory.judgment if stored else ""
            for words in filter(None, (present, deed.words)):
                known = stored and replace(stored.memory, judgment=words)
                if known and tells_of_the_same(memory, known, heard, self._newer):
                    return True
        return False

    async def _settle(
        self, scope: Scope, memory: Memory, near: Decision, draft: MemoryDraft
    ) -> Stored:
        # Now: another write may have stored it while the embedder was asked.
        if known := self._catalogue.same_words(scope, memory):
            near = Reinforce(known)
        current = None if near is None else await self._unchanged(near.stored)
        if current is not None and isinstance(near, Reinforce):
            if reinforced := await self._reinforce(current, memory, draft):
                return reinforced
            current = None
        if current is not None:
            memory = _succeeding(current.memory, memory)
        topic = topic_for(memory, Topic.DECISIONS if is_proposed(memory) else draft.topic)
        new = await asyncio.to_thread(self._vault.append, scope, topic, memory)
        self._recallable.take(new)
        logger.debug("stored {} in {}", new.memory.memory_id, new.path)
        # A crash in between leaves both.
        if current is not None and await self._put_away(current, new):
            return Stored(new, "replaced", former=current)
        return Stored(new)

    async def _reinforce(
        self, current: StoredMemory, memory: Memory, draft: MemoryDraft
    ) -> Stored | None:
        """Returns None if a person has just changed the entry: then the statement is written anew.
        What is said on purpose, or after it was settled, reopens a done task and a settled
        entry."""
        before, scope = current.memory, current.scope
        name = draft.actor.name if draft.actor is not None else ""
        heard = None if draft.heard is None else stated(draft.heard)
        # A model may say again what it was shown, or was asked about.
        if not is_task(current) and is_model_worded(draft.judgment, heard, name):
            return Stored(current, "reinforced")
        # A reader of turns proposes what is new, and opens nothing that stands already.
        if draft.proposed and draft.source is not Source.REFLECTION:
            before = proposed(before)
        if memory.active or await self._is_open_again(before, memory, scope):
            before = still_open(reopened(before) if is_task(current) else before)
        strength = min(before.strength + _REINFORCE_BY, MAX_STRENGTH)
        stronger = replace(before, strength=strength, active=before.active or memory.active)
        stored = await self._do(current, lambda _: self._vault.replace(current, stronger))
        return None if stored is None else Stored(stored, "reinforced")

    async def _is_open_again(self, before: Memory, memory: Memory, scope: Scope) -> bool:
        """Returns whether it was said again after it had been settled."""
        if not (by := closed_by(before)):
            return False
        living = self._catalogue.get(Key(scope.name, by))
        archived = partial(self._vault.archived, scope, [by])
        settled = [living.memory] if living else await asyncio.to_thread(archived)
        return all(memory.created_at > one.created_at for one in settled)

    async def _take_back(self, outcome: Stored, taken: Taken) -> Stored:
        """Archive what the new entry contradicts for certain, or name it. A crash leaves both."""
        again = outcome.how == "reinforced"
        if outcome.how == "replaced" or (again and not taken.corrects and not taken.ends):
            return outcome
        new = outcome.memory
        near = await self._near.sharing_words(new, latest=taken.named)
        find = partial(contradicted, new.memory, taken, near, self._newer)
        sure, found = await asyncio.to_thread(find)
        if sure and found and await self.supersede(found, new):
            # Earlier turns that are still unread may say the old words again.
            kind, at = DeedKind.TAKEN_BACK, new.memory.created_at
            await self._deeds.note([lost(kind, found.scope.name, found.memory, at=at)])
            return replace(outcome, how="replaced", former=found)
        if again:
            return outcome
        return replace(outcome, conflict=found, missed=found is None and taken.named)

    def _memory(self, draft: MemoryDraft, said: Said, memory_id: str) -> Memory:
        """Blocks for as long as the text takes to read."""
        now = (draft.said_at or self._clock()).replace(microsecond=0)
        actor = draft.actor or Actor(person="", name="")
        worded = is_model_worded(draft.judgment, draft.heard, actor.name)
        trusted = said.trusted and not worded
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
            memory_id=memory_id,  # without one the vault gives it one
            judgment=judgment,
            created_at=now,
            reasoning=reasoning,
            tags=draft.tags,
            asks=draft.asks,
            kind=draft.kind,
            active=draft.active,
            strength=draft.strength,
            provenance=Provenance(actor.name, actor.person, said.conversation, source, trusted),
            role=said.role,
            context=draft.context,
            extra=(*((MODEL_WORDED,) if worded else ()), *anchor_field(draft.talk)),
            quoted=quoted,
        )
        made = proposed(made) if draft.proposed else made
        if draft.day is None or names_day(judgment, now):
            return made
        return with_day(made, draft.day)


def _succeeding(former: Memory, memory: Memory) -> Memory:
    """Returns a memory with what the one that it replaces had gathered."""
    tags = tuple(dict.fromkeys((*former.tags, *memory.tags)))[:MAX_TAGS]
    strength, asks = max(former.strength, memory.strength), memory.asks or former.asks
    memory = replace(memory, tags=tags, asks=asks, strength=strength)
    return proposed(memory) if is_proposed(former) else memory  # it is still to be decided
