"""Makes decisions: the one writer of records.

A decision of one scope is its entry, marked. For everybody it is appended to a file, and then its
proposal's entry is marked: where a kill comes between the two, the next start marks it.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from ..catalogue.catalogue import Catalogue, entry_key
from ..catalogue.rules.closing import closed
from ..catalogue.rules.proposals import (
    accepted,
    accepted_as,
    accepted_here,
    holds_here,
    is_proposed,
    is_published,
    is_rejected,
    number_of,
    proposal_key,
    withdrawn,
)
from ..log import logger
from ..models.data_models import Memory, Refused, StoredMemory, moment_in
from ..models.decisions import DecisionChange, Draft, Recorded, RecordFile
from ..models.scope import ScopeFilter
from ..remember.edit import MemoryEditor
from ..runtime.cooperative import cooperative
from ..runtime.identifiers import Clock
from ..storage.appending import AppendFault, NotAppended
from ..vault.markdown.decision_record import Record, render, title_and_body
from ..vault.notes.note_book import NoteBook
from .files import SharedFiles, SharedRecords, decided_here


@dataclass(eq=False)
class Recorder:
    """One decision at a time. It knows no scope: the caller has found the proposal."""

    _files: SharedFiles
    _catalogue: Catalogue
    _handlers: MemoryEditor
    _note_book: NoteBook
    _clock: Clock
    _english: bool
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def records(self) -> SharedRecords:
        """Returns all records. Raises NotAppended."""
        return await asyncio.to_thread(self._files.records)

    async def publish(
        self,
        record: Record,
        file: RecordFile | None,
        stored: StoredMemory | None,
        asked: DecisionChange,
    ) -> Draft | Recorded | Refused:
        """Write a record whose number and time are still to be given, or return its draft.

        ``file``: None marks the entry, as a decision of its scope. ``stored``: the proposal, or the
        entry that is taken back; None for the withdrawal of a record. What was accepted before is
        not written again: the answer names it.
        """
        async with self._lock:
            try:
                there = await self.records()
                if stored and (known := await self._known(record, file, stored, there)):
                    return known
                earlier = record.supersedes or record.withdraws
                here = stored if file is None else None
                former = await self._former(earlier, here) if here else there.in_force(earlier)
                if earlier and not former:
                    return Refused("no_such_record")
                number = await self._number(record, stored, there, here=here is not None)
                now = self._clock().replace(microsecond=0)
                shown = moment_in(asked.shown.partition(" ")[0])
                draft = replace(record, number=number, at=shown or now)
                if not asked.unseen and asked.shown != self._digest(draft, file):
                    draft = replace(draft, at=now)
                    text, digest = render(draft, english=self._english), self._digest(draft, file)
                    return Draft(text, digest, file, outdated=bool(asked.shown))
                if file is None:
                    return await self._decide_here(draft, stored)
                return await self._write(draft, file, stored)
            except NotAppended as error:
                code = "open_fence" if error.code is AppendFault.HIDDEN else "not_written"
                return Refused(code, detail=error.detail or error.code.value)

    async def _known(
        self, record: Record, file: RecordFile | None, stored: StoredMemory, there: SharedRecords
    ) -> Recorded | None:
        """Returns what the proposal became, as its entry and the files say."""
        current = self._catalogue.get(entry_key(stored))
        if not record.proposal:
            return None
        if file is None and current is not None and holds_here(current.memory):
            await self._supersede(record, stored)
            return Recorded(accepted_as(current.memory), again=True)
        found = there.of_proposal(record.proposal)
        if found is None:
            return None
        where, one = found
        await self._mark(stored, one.record)
        return Recorded(one.record.number, where, one.first, again=True)

    async def _number(
        self, record: Record, stored: StoredMemory | None, there: SharedRecords, *, here: bool
    ) -> int:
        """Returns the next number; one that a person accepts again, because an editor's old buffer
        dropped its record, keeps its own."""
        if here and record.withdraws:
            return record.withdraws
        current = self._catalogue.get(entry_key(stored)) if stored and not here else None
        if current is not None and is_published(current.memory):
            return number_of(current.memory)
        entries = list(self._catalogue.all())
        return 1 + max(there.highest, await asyncio.to_thread(_highest, entries))

    def _digest(self, record: Record, file: RecordFile | None) -> str:
        """Returns what names a draft: its time, and a hash of what would be written where."""
        text = f"{file}\n{render(record, english=self._english)}"
        return f"{record.at and record.at.isoformat()} {hashlib.sha256(text.encode()).hexdigest()}"

    # A decision of one scope

    async def _former(self, number: int, stored: StoredMemory) -> StoredMemory | None:
        """Returns the decision of the entry's own scope with this number, if it is in force."""
        own = list(self._catalogue.visible(ScopeFilter((stored.scope,)))) if number else []
        return await asyncio.to_thread(lambda: decided_here(cooperative(own), number))

    async def _decide_here(self, record: Record, stored: StoredMemory | None) -> Recorded | Refused:
        """Mark the entry; a kill before it has decided nothing."""
        day = f"{record.at:%Y-%m-%d}"

        def made(memory: Memory) -> Memory:
            """Raises KeyError where it is no more what was shown."""
            if record.withdraws and holds_here(memory):
                return withdrawn(memory, day, record.body)
            if is_rejected(memory) or not _says(memory, record):
                raise KeyError(memory.memory_id)
            return accepted_here(memory, record.number, day, record.reference)

        if not stored or isinstance(await self._handlers.annotate(stored, made), Refused):
            return Refused("no_proposal")
        await self._supersede(record, stored)
        return Recorded(record.number)

    async def _supersede(self, record: Record, stored: StoredMemory) -> None:
        former = await self._former(record.supersedes, stored)
        if former is not None and entry_key(former) != entry_key(stored):
            await self._handlers.annotate(former, partial(closed, by=stored.memory.memory_id))

    # A record for everybody

    async def _write(
        self, record: Record, file: RecordFile, stored: StoredMemory | None
    ) -> Recorded | Refused:
        """Append the record, and mark its proposal. Raises NotAppended."""
        if stored is not None:
            current = self._catalogue.get(entry_key(stored))
            if current is None or is_rejected(current.memory) or not _says(current.memory, record):
                # Forgotten, rejected or edited while another decision was written.
                return Refused("no_proposal")
        text = render(record, english=self._english)
        line = await asyncio.to_thread(self._files.append, file, record.number, text)
        if stored is not None:
            await self._mark(stored, record)
        await self._note_book.refresh()
        return Recorded(record.number, file, line)

    async def _mark(self, stored: StoredMemory, record: Record) -> None:
        """Mark an entry as what it became. One that a person is changing just now is marked at the
        next start."""
        current = self._catalogue.get(entry_key(stored))
        if current is not None and accepted_as(current.memory) != record.number:
            day = f"{record.at or self._clock():%Y-%m-%d}"
            await self._handlers.annotate(current, partial(accepted, number=record.number, day=day))

    async def recover(self) -> None:
        """Mark the open proposals whose record stands in a file: a kill came before that, or a
        branch was merged. Never raises for a disk that fails."""
        async with self._lock:
            try:
                there = await self.records()
            except NotAppended as error:
                logger.warning("decisions_unchecked", error=error)
                return
            entries = list(self._catalogue.all()) if there.found else []
            for stored, record in await asyncio.to_thread(_unmarked, entries, there):
                await self._mark(stored, record)


def _says(memory: Memory, record: Record) -> bool:
    return title_and_body(memory.judgment, memory.reasoning) == (record.title, record.body)


def _highest(entries: Sequence[StoredMemory]) -> int:
    return max((number_of(one.memory) for one in cooperative(entries)), default=0)


def _unmarked(
    entries: Sequence[StoredMemory], there: SharedRecords
) -> list[tuple[StoredMemory, Record]]:
    records = {record.proposal: record for record in there.records if record.proposal}
    return [
        (stored, records[key])
        for stored in cooperative(entries)
        if is_proposed(stored.memory) or holds_here(stored.memory)
        if (key := proposal_key(stored.memory.memory_id)) in records
    ]
