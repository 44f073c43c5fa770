"""Makes decisions: the one writer of records.

A decision of one scope is its entry, marked. For everybody it is appended to a file, and then its
proposal's entry is marked: where a kill comes between the two, the next start marks it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
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
from ..models.data_models import Memory, Refused, StoredMemory, moment_in
from ..models.decisions import DecisionChange, Draft, Recorded, RecordFile
from ..models.scope import ScopeFilter
from ..remember.edit import MemoryEditor
from ..runtime.cooperative import cooperative
from ..runtime.identifiers import Clock
from ..storage.appending import NotAppended
from ..text.normalising import content_hash
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
        not written again: the answer names it. Raises NotAppended.
        """
        async with self._lock:
            there = await self.records()
            entry = self._catalogue.get(entry_key(stored)) if stored else None
            if entry and (known := await self._known(record, file, entry, there)):
                return known
            here, earlier = entry if file is None else None, record.supersedes or record.withdraws
            former = await self._former(earlier, here) if here else there.in_force(earlier)
            if earlier and not former:
                return Refused("no_such_record")
            number = (record.withdraws if here else 0) or await self._next(entry, there)
            now = self._clock().replace(microsecond=0)
            shown_at = moment_in(asked.shown.partition(" ")[0]) or now
            record = replace(record, number=number, at=shown_at)
            draft = self._draft(record, file)
            if not asked.unseen and asked.shown != draft.digest:
                draft = self._draft(replace(record, at=now), file)
                return replace(draft, outdated=bool(asked.shown))
            return await self._write(record, file, stored, draft.text)

    async def _known(
        self, record: Record, file: RecordFile | None, entry: StoredMemory, there: SharedRecords
    ) -> Recorded | None:
        """Returns what the proposal became, as its entry and the files say."""
        if record.proposal and file is None and holds_here(entry.memory):
            await self._supersede(record, entry)
            return Recorded(accepted_as(entry.memory), again=True)
        if known := there.became.get(record.proposal):
            await self._mark(entry, known.number)
        return known

    async def _next(self, entry: StoredMemory | None, there: SharedRecords) -> int:
        """Returns the next number; one that a person accepts again, because an editor's old buffer
        dropped its record, keeps its own."""
        if entry is not None and is_published(entry.memory):
            return number_of(entry.memory)
        entries = list(self._catalogue.all())
        known = await asyncio.to_thread(
            lambda: max((number_of(one.memory) for one in cooperative(entries)), default=0)
        )
        return 1 + max(there.highest, known)

    def _draft(self, record: Record, file: RecordFile | None) -> Draft:
        """Its digest is its time, and a hash of what would be written where."""
        text = render(record, english=self._files.english)
        digest = content_hash(f"{file}\n{text}")
        return Draft(text, f"{record.at and record.at.isoformat()} {digest}", file)

    async def _write(
        self, record: Record, file: RecordFile | None, stored: StoredMemory | None, text: str
    ) -> Recorded | Refused:
        """Append the record, and mark its proposal, or mark the entry alone: a kill before that has
        decided nothing. Raises NotAppended."""
        entry = self._catalogue.get(entry_key(stored)) if stored else None
        if stored and (entry is None or not _says(entry.memory, record)):
            # Forgotten, rejected or edited while another decision was written.
            return Refused("no_proposal")
        if entry is not None and file is None:
            made = partial(_decided_here, record=record)
            if isinstance(await self._handlers.annotate(entry, made), Refused):
                return Refused("no_proposal")
            await self._supersede(record, entry)
            return Recorded(record.number)
        file = file or RecordFile.DECISIONS
        line = await asyncio.to_thread(self._files.append, file, record.number, text)
        if entry is not None:
            await self._mark(entry, record.number)
        await self._note_book.refresh()
        return Recorded(record.number, file, line)

    async def _former(self, number: int, entry: StoredMemory) -> StoredMemory | None:
        """Returns the decision of the entry's own scope with this number, if it is in force."""
        own = list(self._catalogue.visible(ScopeFilter((entry.scope,)))) if number else []
        return await asyncio.to_thread(lambda: decided_here(cooperative(own), number))

    async def _supersede(self, record: Record, entry: StoredMemory) -> None:
        former = await self._former(record.supersedes, entry)
        if former is not None and entry_key(former) != entry_key(entry):
            await self._handlers.annotate(former, partial(closed, by=entry.memory.memory_id))

    async def _mark(self, entry: StoredMemory, number: int) -> None:
        """Mark an entry as what it became. One that a person is changing just now is marked at the
        next start."""
        if accepted_as(entry.memory) != number:
            made = partial(accepted, number=number, day=f"{self._clock():%Y-%m-%d}")
            await self._handlers.annotate(entry, made)

    async def recover(self) -> None:
        """Mark the open proposals whose record stands in a file: a kill came before that, or a
        branch was merged."""
        entries = list(self._catalogue.all())
        async with self._lock:
            with suppress(NotAppended):  # whoever lists or accepts is told
                became = (await self.records()).became
                for stored, known in await asyncio.to_thread(_unmarked, entries, became):
                    await self._mark(stored, known.number)


def _says(memory: Memory, record: Record) -> bool:
    """True if it is still what was shown: a decision that holds for a withdrawal, which has words
    of its own, else these words, which nobody has rejected."""
    if record.withdraws:
        return holds_here(memory) or is_published(memory)
    said = title_and_body(memory.judgment, memory.reasoning)
    return said == (record.title, record.body) and not is_rejected(memory)


def _decided_here(memory: Memory, record: Record) -> Memory:
    """Returns an entry, as it stands in its file, marked. Raises KeyError where it is no more what
    was shown."""
    if not _says(memory, record):
        raise KeyError(memory.memory_id)
    day = f"{record.at:%Y-%m-%d}"
    if record.withdraws:
        return withdrawn(memory, day, record.body)
    return accepted_here(memory, record.number, day, record.reference)


def _unmarked(
    entries: list[StoredMemory], became: Mapping[str, Recorded]
) -> list[tuple[StoredMemory, Recorded]]:
    return [
        (stored, known)
        for stored in cooperative(entries)
        if is_proposed(stored.memory) or holds_here(stored.memory)
        if (known := became.get(proposal_key(stored.memory.memory_id)))
    ]
