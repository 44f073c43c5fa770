"""Writes the journal of each day that is over, once, from the memories of that day.

No model reads the day's turns again: what was worth remembering is an entry already, signed and
dated, and only a question about a date asks for the digest.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
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
from ..catalogue.rules.timeline import DIGEST_TAG, MADE_OF_ENTRIES, is_digest
from ..errors import VaultWriteFailed
from ..log import logger
from ..models.data_models import Memory, MemoryDraft, MemoryKind, Provenance, Refused, Source, Topic
from ..models.loop import WaitingLine
from ..models.passages import Key
from ..models.scope import Scope, ScopeFilter
from ..reflection.rules.due import LONGEST_WAIT
from ..reflection.turn_store import SqliteTurnStore
from ..remember.edit import DraftChecks
from ..remember.rules.gate import is_quotation
from ..runtime.identifiers import Clock
from ..runtime.shielded import shielded
from ..text.dates.date_annotation import resolve_dates
from ..vault.markdown_vault import MarkdownVault
from .report import SleepReport
from .sleep_store import JournalDay, SqliteSleepStore

_FARTHEST_DAYS: Final = 31
"""Days before these get no journal, however long the bot was off."""
_KEPT_DAYS: Final = 60
_STRENGTH: Final = 50


class DayJournals:
    """A day waits for its journal while turns of it wait to be read."""

    def __init__(
        self,
        sleep_store: SqliteSleepStore,
        turns: SqliteTurnStore,
        vault: MarkdownVault,
        catalogue: Catalogue,
        living: RecallableMemories,
        checks: DraftChecks,
        acquaintances: Acquaintances,
        clock: Clock,
    ) -> None:
        self._store = sleep_store
        self._turns = turns
        self._vault = vault
        self._catalogue = catalogue
        self._living = living
        self._checks = checks
        self._acquaintances = acquaintances
        self._clock = clock

    async def run(self, scope: Scope, since: date | None) -> SleepReport:
        """Write a journal for each day before today that has none and is worth one, from the day of
        the scope's first night on. That night begins with ``since``, the day of the last run (None
        at the first).

        Raises StateUnavailable; VaultWriteFailed once the other days are written.
        """
        now = self._clock()
        today = now.date()
        await asyncio.to_thread(self._turns.drop_read)
        lines = await asyncio.to_thread(self._turns.lines)
        lines = [line for line in lines if line.scope == scope.name]
        written = waiting = 0
        failure: VaultWriteFailed | None = None
        first = await asyncio.to_thread(self._store.first_journal_day, scope.name)
        if first is None:
            first = since or today - timedelta(days=1)
            await asyncio.to_thread(self._store.note_journal, JournalDay(scope.name, first))
        for day in _days(first, today):
            state = await asyncio.to_thread(self._store.journal_day, scope.name, day)
            if state.written:
                continue
            if state.nights < LONGEST_WAIT.days and _is_unread(lines, day, now):
                # More of it is known tomorrow.
                state = replace(state, nights=state.nights + 1)
                await asyncio.to_thread(self._store.note_journal, state)
                waiting += 1
                continue
            known = await self._is_known(scope, day)
            digest = None if known else await self._listed(scope, day, now)
            if digest is not None:
                try:
                    await shielded(self._write(scope, digest))
                except VaultWriteFailed as error:
                    failure = error
                    continue
                written += 1
            await asyncio.to_thread(self._store.note_journal, replace(state, written=True))
        await asyncio.to_thread(self._store.drop_journals, today - timedelta(days=_KEPT_DAYS))
        if failure is not None:
            raise failure
        return SleepReport(journals=written, postponed_days=waiting)

    async def _is_known(self, scope: Scope, day: date) -> bool:
        """Returns True for a journal that exists, also changed by a person, or was forgotten."""
        name = digest_id(scope.name, day)
        if self._catalogue.get(Key(scope.name, name)) is not None:
            return True
        return bool(await asyncio.to_thread(self._vault.forgotten, scope, [name]))

    async def _listed(self, scope: Scope, day: date, now: datetime) -> Memory | None:
        """Returns a digest of that day's memories, None where they are too few."""
        found = self._catalogue.of_days(day, day, ScopeFilter((scope,)), now.tzinfo)
        entries = [one for one in found if not (is_journal(one) or is_digest(one.memory))]
        words = from_entries(day, entries) if len(entries) >= LEAST_ENTRIES else None
        if words is None:
            return None
        memory = await self._examined(scope, day, words, now)
        return memory and self._attributed(memory, scope, [s.memory for s in entries], now)

    def _attributed(
        self, digest: Memory, scope: Scope, entries: Sequence[Memory], now: datetime
    ) -> Memory:
        """Returns the digest with the speaker and the conversation of its entries, where they have
        one alone, and marked where the scope has known all speakers for days: these decide who
        hears of it unasked. An unknown speaker is an empty person id."""
        origin = digest.provenance
        speakers = {one.speaker for one in entries}
        if len(speakers) == 1:
            origin = replace(origin, person=entries[0].speaker)
        if len({one.provenance.conversation for one in entries}) == 1:
            origin = replace(origin, conversation=entries[0].provenance.conversation)
        familiar = speakers <= self._acquaintances.of(scope, now)
        extra = (MADE_OF_ENTRIES, ONLY_FAMILIAR) if familiar else (MADE_OF_ENTRIES,)
        return replace(digest, provenance=origin, extra=extra)

    async def _examined(self, scope: Scope, day: date, words: str, now: datetime) -> Memory | None:
        """Returns the digest as it may be stored, unvouched; None if the checks refuse it."""
        tags = (DIGEST_TAG,)
        draft = MemoryDraft(words, tags=tags, kind=MemoryKind.EVENT, source=Source.REFLECTION)
        passed = await asyncio.to_thread(self._checks.examine, draft, scope)
        if isinstance(passed, Refused):
            logger.debug("a journal was not admitted: {}", passed.reason)
            return None
        said = passed.judgment
        moment = end_of(day, now.tzinfo)
        quoted = is_quotation((said,), trusted=False)
        return Memory(
            memory_id=digest_id(scope.name, day),
            judgment=said if quoted else await asyncio.to_thread(resolve_dates, said, moment),
            created_at=moment,
            tags=passed.tags,
            kind=MemoryKind.EVENT,
            active=False,
            strength=_STRENGTH,
            provenance=Provenance(source=Source.REFLECTION),
            quoted=quoted,
        )

    async def _write(self, scope: Scope, digest: Memory) -> None:
        """Add the journal if there is none. Raises VaultWriteFailed."""
        async with self._living.writing:
            key = Key(scope.name, digest.memory_id)
            if self._catalogue.get(key) is None:
                entry = (Topic.JOURNAL, digest)
                for stored in await asyncio.to_thread(self._vault.append_many, scope, [entry]):
                    self._living.take(stored)


def _is_unread(lines: Sequence[WaitingLine], day: date, now: datetime) -> bool:
    """Returns True if turns of that day wait to be read."""
    begin, end = start_of(day, now.tzinfo), end_of(day, now.tzinfo)
    return any(line.oldest <= end and line.newest >= begin for line in lines)


def _days(first: date, today: date) -> list[date]:
    first = max(first, today - timedelta(days=_FARTHEST_DAYS))
    return [first + timedelta(days=number) for number in range((today - first).days)]
