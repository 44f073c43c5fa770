"""The journal of each day that is over: written once, from what was remembered of it.

No model reads the day's turns a second time: what was worth remembering of them is an entry
already, signed and dated, and a digest of entries is asked for by date alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Final

from ..catalogue.acquaintances import Acquaintances
from ..catalogue.catalogue import Catalogue
from ..catalogue.recallable_memories import RecallableMemories
from ..catalogue.rules.acquaintance import ONLY_FAMILIAR
from ..catalogue.rules.day_journal import (
    LEAST_ENTRIES,
    digest_id,
    end_of,
    from_entries,
    is_journal,
    start_of,
)
from ..catalogue.rules.timeline import DIGEST_TAG, MADE_OF_ENTRIES
from ..log import logger
from ..models.data_models import (
    Memory,
    MemoryDraft,
    MemoryKind,
    Provenance,
    Rejected,
    Source,
    Topic,
)
from ..models.key import Key
from ..models.loop import WaitingLine
from ..models.scope import Scope, ScopeFilter
from ..reflection.rules.due import LONGEST_WAIT
from ..reflection.turn_store import SqliteTurnStore
from ..remember.corrected_journals import CorrectedJournals
from ..remember.draft_checks import DraftChecks
from ..remember.rules.instructions import is_quotation
from ..runtime.identifiers import Clock
from ..runtime.shielded import shielded
from ..text.dates.date_annotation import resolve_dates
from ..vault.markdown_vault import MarkdownVault
from .models import JournalDay
from .sleep_store import SqliteSleepStore

_FARTHEST_DAYS: Final = 31
"""So far back days get a journal, however long the bot was off."""
_KEPT_DAYS: Final = 60
_STRENGTH: Final = 50


@dataclass(frozen=True, slots=True)
class Journals:
    """Days that were written, and days that wait for what is to be read of them."""

    written: int = 0
    waiting: int = 0


class DayJournals:
    """A day waits for its journal while turns of it wait to be read."""

    def __init__(
        self,
        store: SqliteSleepStore,
        turns: SqliteTurnStore,
        vault: MarkdownVault,
        catalogue: Catalogue,
        living: RecallableMemories,
        journals: CorrectedJournals,
        checks: DraftChecks,
        acquaintances: Acquaintances,
        clock: Clock,
    ) -> None:
        self._store = store
        self._turns = turns
        self._vault = vault
        self._catalogue = catalogue
        self._living = living
        self._journals = journals
        self._checks = checks
        self._acquaintances = acquaintances
        self._clock = clock

    async def run(self, scope: Scope, since: date | None) -> Journals:
        """Every day before today that is worth a journal. ``since``: the day of the last run, None
        at the first: days from then on are written, and earlier ones of which turns were still to
        be read then.

        Raises StateUnavailable, VaultWriteFailed.
        """
        await self._journals.clear(scope)
        now = self._clock()
        today = now.date()
        await asyncio.to_thread(self._turns.drop_read)
        lines = await asyncio.to_thread(self._turns.lines)
        lines = [line for line in lines if line.scope == scope.name]
        written = waiting = 0
        since = today - timedelta(days=1) if since is None else since
        for day in _days(since - LONGEST_WAIT, today):
            state = await asyncio.to_thread(self._store.journal_day, scope.name, day)
            if state.written or (day < since and not state.nights):
                continue
            if state.nights < LONGEST_WAIT.days and _is_unread(lines, day, now):
                # Tomorrow more is known of it.
                await self._note(replace(state, nights=state.nights + 1))
                waiting += 1
                continue
            known = await self._is_known(scope, day)
            digest = None if known else await self._listed(scope, day, now)
            if digest is not None:
                await shielded(self._write(scope, digest))
                written += 1
            await self._note(replace(state, written=True))
        await asyncio.to_thread(self._store.drop_journals, today - timedelta(days=_KEPT_DAYS))
        return Journals(written, waiting)

    async def _is_known(self, scope: Scope, day: date) -> bool:
        """It lives, whatever a person made of it, or was forgotten."""
        name = digest_id(scope.name, day)
        if self._catalogue.get(Key(scope.name, name)) is not None:
            return True
        return bool(await asyncio.to_thread(self._vault.forgotten, scope, [name]))

    async def _listed(self, scope: Scope, day: date, now: datetime) -> Memory | None:
        """What was remembered of that day, None where that is too little."""
        found = self._catalogue.of_days(day, day, ScopeFilter((scope,)), now.tzinfo)
        entries = [stored for stored in found if not is_journal(stored)]
        words = from_entries(day, entries) if len(entries) >= LEAST_ENTRIES else None
        if words is None:
            return None
        memory = await self._examined(scope, day, words, now)
        if memory is None:
            return None
        memory = replace(memory, extra=(MADE_OF_ENTRIES,))
        memory = _said_in(memory, {stored.memory.provenance.conversation for stored in entries})
        speakers = frozenset(stored.memory.speaker for stored in entries)
        return self._attributed(memory, scope, speakers, now)

    def _attributed(
        self, memory: Memory, scope: Scope, speakers: frozenset[str], now: datetime
    ) -> Memory:
        """The digest with whose words it was made of, as far as that decides who is told of it
        unasked: one person's, or only those of people that the scope has known for days.

        ``speakers``: person ids, an empty one for an unknown speaker.
        """
        if len(speakers) == 1:
            (person,) = speakers
            memory = replace(memory, provenance=replace(memory.provenance, person=person))
        if speakers <= self._acquaintances.of(scope, now):
            memory = replace(memory, extra=(*memory.extra, ONLY_FAMILIAR))
        return memory

    async def _examined(self, scope: Scope, day: date, words: str, now: datetime) -> Memory | None:
        """The digest as it may be stored: it is unvouched. None for what is refused."""
        tags = (DIGEST_TAG,)
        draft = MemoryDraft(words, tags=tags, kind=MemoryKind.EVENT, source=Source.REFLECTION)
        passed = await self._checks.examine(draft, scope)
        if isinstance(passed, Rejected):
            logger.debug("a journal was not admitted: {}", passed.reason)
            return None
        said = passed.draft.judgment
        moment = end_of(day, now.tzinfo)
        quoted = is_quotation((said,), trusted=False)
        return Memory(
            memory_id=digest_id(scope.name, day),
            judgment=said if quoted else await asyncio.to_thread(resolve_dates, said, moment),
            created_at=moment,
            tags=passed.draft.tags,
            kind=MemoryKind.EVENT,
            active=False,
            strength=_STRENGTH,
            provenance=Provenance(source=Source.REFLECTION),
            quoted=quoted,
        )

    async def _write(self, scope: Scope, digest: Memory) -> None:
        """Once. Raises VaultWriteFailed."""
        async with self._living.writing:
            key = Key(scope.name, digest.memory_id)
            if self._catalogue.get(key) is None:
                entry = (Topic.JOURNAL, digest)
                for stored in await asyncio.to_thread(self._vault.append_many, scope, [entry]):
                    self._living.take(stored)

    async def _note(self, journal: JournalDay) -> None:
        await asyncio.to_thread(self._store.note_journal, journal)


def _is_unread(lines: Sequence[WaitingLine], day: date, now: datetime) -> bool:
    """Turns of that day wait to be read."""
    begin, end = start_of(day, now.tzinfo), end_of(day, now.tzinfo)
    return any(line.oldest <= end and line.newest >= begin for line in lines)


def _said_in(memory: Memory, conversations: set[str]) -> Memory:
    """With the conversation of all its words, if that is one."""
    if len(conversations) != 1:
        return memory
    (conversation,) = conversations
    return replace(memory, provenance=replace(memory.provenance, conversation=conversation))


def _days(first: date, today: date) -> list[date]:
    first = max(first, today - timedelta(days=_FARTHEST_DAYS))
    return [first + timedelta(days=number) for number in range((today - first).days)]
