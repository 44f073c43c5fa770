"""Makes decisions: the one writer of records.

A decision of one scope is its entry, marked. For everybody, what is to be written is noted in the
state first, then appended to the file, then the proposal's entry is marked. A kill between any two
of these is made good by ``recover``, at the next start and before the next decision.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from ..catalogue.catalogue import Catalogue, entry_key
from ..catalogue.rules.closing import closed
from ..catalogue.rules.proposals import (
    accepted,
    accepted_as,
    accepted_here,
    holds_here,
    is_accepted,
    is_proposed,
    is_published,
    is_rejected,
    number_of,
    proposal_key,
    withdrawn,
)
from ..errors import StateUnavailable
from ..log import logger
from ..models.data_models import Memory, Refused, StoredMemory
from ..models.decisions import DecisionChange, Draft, Recorded, RecordFile, record_name
from ..models.scope import Scope
from ..models.status import Notice
from ..remember.edit import MemoryEditor
from ..runtime.identifiers import Clock
from ..runtime.notice_board import NoticeBoard
from ..storage.appending import AppendFault, NotAppended
from ..storage.record_intents import IntentState, RecordIntent, RecordIntents
from ..vault.markdown.appended_block import open_fence
from ..vault.markdown.decision_record import Record, render, title_and_body
from ..vault.notes.note_book import NoteBook
from .decision_list import decided_here
from .payload import NotOurs, Payload
from .shared_files import SharedFiles, SharedRecords

_SHOWN_FOR: Final = timedelta(minutes=10)
_MOST_SHOWN: Final = 50
_TRIES: Final = 5
_PAUSE: Final = 0.05
"""Seconds between two tries to mark an entry that a person is just changing."""


class Recorder:
    """One decision at a time. It knows no scope: the caller has found the proposal."""

    def __init__(
        self,
        files: SharedFiles,
        intents: RecordIntents,
        catalogue: Catalogue,
        handlers: MemoryEditor,
        note_book: NoteBook,
        notices: NoticeBoard,
        clock: Clock,
        *,
        english: bool,
    ) -> None:
        self._files = files
        self._intents = intents
        self._catalogue = catalogue
        self._editor = handlers
        self._notes = note_book
        self._notices = notices
        self._clock = clock
        self._english = english
        self._lock = asyncio.Lock()
        self._shown: dict[str, tuple[Record, RecordFile | None]] = {}
        """Drafts by digest, the latest last: they are written as they were shown."""

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
                await self._complete()
                there = await self.records()
                rows = await asyncio.to_thread(self._intents.rows)
                known = await self._known(record, file, stored, there)
                if known is not None:
                    return known
                earlier = record.supersedes or record.withdraws
                own = stored is not None and file is None
                former = await self._former(earlier, stored.scope) if stored and own else None
                if earlier and former is None and (own or not there.in_force(earlier)):
                    return Refused("no_such_record")
                given = await asyncio.to_thread(_highest, list(self._catalogue.all()))
                number = 1 + max(there.highest, given, *(row.number for row in rows))
                if own and record.withdraws:
                    number = record.withdraws
                elif stored and not own:  # an old editor buffer may have dropped its record
                    number = self._published_as(stored) or number
                now = self._clock().replace(microsecond=0)
                record = replace(record, number=number, at=now)
                draft = self._was_shown(asked.shown, record, file, now)
                if draft is not None or asked.unseen:
                    return await self._write(draft or record, file, stored)
                text = await asyncio.to_thread(self._files.text, file) if file else ""
                if (line := open_fence(text)) is not None:
                    return Refused("open_fence", detail=str(line))
                return self._show(record, file, outdated=bool(asked.shown))
            except NotAppended as error:
                return _fault(error)
            except StateUnavailable as error:
                return Refused("not_written", detail=str(error))

    def _was_shown(
        self, digest: str, record: Record, file: RecordFile | None, now: datetime
    ) -> Record | None:
        draft, where = self._shown.get(digest, (None, file))
        if draft is None or draft.at is None or now - draft.at > _SHOWN_FOR:
            return None
        return draft if where is file and replace(record, at=draft.at) == draft else None

    def _show(self, record: Record, file: RecordFile | None, *, outdated: bool) -> Draft:
        text = render(record, english=self._english)
        digest = hashlib.sha256(text.encode()).hexdigest()
        self._shown[digest] = (record, file)
        while len(self._shown) > _MOST_SHOWN:
            del self._shown[next(iter(self._shown))]
        return Draft(text, digest, file, outdated)

    async def _known(
        self,
        record: Record,
        file: RecordFile | None,
        stored: StoredMemory | None,
        there: SharedRecords,
    ) -> Recorded | None:
        """Returns what the proposal became, as its entry and the files say."""
        key = record.proposal
        if stored is None or not key:
            return None
        current = self._catalogue.get(entry_key(stored))
        if file is None and current is not None and holds_here(current.memory):
            await self._supersede(record, stored)
            return Recorded(accepted_as(current.memory), None, 0, again=True)
        found = there.of_proposal(key)
        if found is not None:
            where, one = found
            await self._mark(stored, one.record.number, self._clock())
            return Recorded(one.record.number, where, one.first, again=True)
        return None

    def _published_as(self, stored: StoredMemory) -> int:
        current = self._catalogue.get(entry_key(stored))
        return number_of(current.memory) if current and is_published(current.memory) else 0

    async def _former(self, number: int, scope: Scope) -> StoredMemory | None:
        """Returns the scope's own decision with this number, if it is in force."""
        return await asyncio.to_thread(decided_here, self._catalogue.of_scope(scope), number)

    async def _decide_here(self, record: Record, stored: StoredMemory) -> Recorded | Refused:
        """Mark the entry; a kill before it has decided nothing."""
        day = f"{record.at:%Y-%m-%d}"

        def made(memory: Memory) -> Memory:
            """Raises KeyError where it is no more what was shown."""
            if record.withdraws and holds_here(memory):
                return withdrawn(memory, day, record.body)
            said = title_and_body(memory.judgment, memory.reasoning)
            if is_rejected(memory) or said != (record.title, record.body):
                raise KeyError(memory.memory_id)
            return accepted_here(memory, record.number, day, record.reference)

        if not isinstance(await self._editor.annotate(stored, made), StoredMemory):
            return Refused("no_proposal")
        await self._supersede(record, stored)
        # The number is not given again where the entry is forgotten.
        spent = RecordIntent(record.number, "", b"", self._clock(), state=IntentState.SETTLED)
        with suppress(StateUnavailable):
            await asyncio.to_thread(self._intents.begin, spent)
        return Recorded(record.number, None, 0)

    async def _supersede(self, record: Record, stored: StoredMemory) -> None:
        former = await self._former(record.supersedes, stored.scope)
        if former is not None and entry_key(former) != entry_key(stored):
            await self._editor.annotate(former, partial(closed, by=stored.memory.memory_id))

    async def _write(
        self, record: Record, file: RecordFile | None, stored: StoredMemory | None
    ) -> Recorded | Refused:
        """Raises NotAppended, StateUnavailable."""
        if file is None:
            if stored is None:
                return Refused("no_proposal")
            return await self._decide_here(record, stored)
        text = render(record, english=self._english).encode()
        row = RecordIntent(record.number, file.path, text, self._clock(), record.proposal)
        if stored is not None and self._published_as(stored):
            await asyncio.to_thread(self._intents.drop, row.number)
        await asyncio.to_thread(self._intents.begin, row)
        if stored is not None and not _unchanged(row, self._catalogue.get(entry_key(stored))):
            # Forgotten, rejected or edited while another decision was written.
            await asyncio.to_thread(self._intents.drop, row.number)
            return Refused("no_proposal")
        try:
            line = await self._append(row)
        except NotAppended as error:
            if not error.torn:  # who is told that it was not done must not find it published later
                await asyncio.to_thread(self._intents.drop, row.number)
            raise
        await self._close(row, stored)
        await self._notes.refresh()
        return Recorded(record.number, file, line)

    async def _append(self, row: RecordIntent) -> int:
        """Returns the record's first line, once it stands in the file. Raises NotAppended."""
        file = RecordFile.at(row.file)
        make = Payload(row)
        appended = await asyncio.to_thread(self._files.append, file, make)
        step = partial(self._intents.advance, row.number, IntentState.WRITTEN, self._clock())
        await asyncio.to_thread(step)
        self._tell(make.torn(appended.content, appended.at))
        return appended.line

    def _tell(self, notice: Notice | None) -> None:
        if notice is not None:
            self._notices.post(notice)

    async def _close(self, row: RecordIntent, stored: StoredMemory | None) -> None:
        """Mark the proposal's entry; if that fails, the next ``recover`` does it."""
        if stored is None or await self._mark(stored, row.number, row.at):
            step = partial(self._intents.advance, row.number, IntentState.SETTLED, self._clock())
            await asyncio.to_thread(step)

    async def _mark(self, stored: StoredMemory, number: int, at: datetime) -> bool:
        """Returns whether the entry says that it was accepted, or is gone."""
        day = f"{at:%Y-%m-%d}"
        for _ in range(_TRIES):
            current = self._catalogue.get(entry_key(stored))
            if current is None or accepted_as(current.memory) == number:
                return True
            made = partial(accepted, number=number, day=day)
            if isinstance(await self._editor.annotate(current, made), StoredMemory):
                return True
            await asyncio.sleep(_PAUSE)
        return False

    async def recover(self) -> None:
        """Complete what a kill has cut off. Never raises for a disk that fails."""
        async with self._lock:
            try:
                await self._complete()
                await self._mark_published()
            except (NotAppended, StateUnavailable) as error:
                logger.warning("decisions_unchecked", error=error)

    async def _complete(self) -> None:
        """Raises StateUnavailable."""
        for row in await asyncio.to_thread(self._intents.rows):
            if row.state is IntentState.SETTLED:
                continue
            stored = self._proposals().get(row.proposal)
            try:
                if row.state is IntentState.INTENT and not await self._carry_out(row, stored):
                    continue
            except NotAppended as error:  # the other rows need not wait for this file
                logger.warning(
                    "decision_not_written",
                    record=record_name(row.number),
                    file=row.file,
                    error=error,
                )
                continue
            await self._close(row, stored)

    def _proposals(self) -> Mapping[str, StoredMemory]:
        """Returns the proposals of all scopes by their keys: for records that name no scope."""
        return {
            proposal_key(stored.memory.memory_id): stored
            for stored in self._catalogue.all()
            if is_proposed(stored.memory) or is_accepted(stored.memory)
        }

    async def _carry_out(self, row: RecordIntent, stored: StoredMemory | None) -> bool:
        """Append what was noted and perhaps not written. Returns False, and drops the note, where
        the proposal is no longer what it was, or its number was taken."""
        content = await asyncio.to_thread(self._files.read, RecordFile.at(row.file))
        make = Payload(row)
        if not (begun := make.begun(content)):
            self._tell(make.torn(content))
        if begun or not row.proposal or _unchanged(row, stored):
            with suppress(NotOurs):
                await self._append(row)
                return True
        await asyncio.to_thread(self._intents.drop, row.number)
        return False

    async def _mark_published(self) -> None:
        """Mark open proposals whose record stands in a file though the state knows nothing of it.
        Raises NotAppended."""
        there = await self.records()
        if not there.found:
            return
        for key, stored in self._proposals().items():
            found = there.of_proposal(key)
            is_open = is_proposed(stored.memory) or holds_here(stored.memory)
            if found is not None and is_open:
                at = found[1].record.at or self._clock()
                await self._mark(stored, found[1].record.number, at)


def _unchanged(row: RecordIntent, stored: StoredMemory | None) -> bool:
    """Whether the proposal is open, and says what was about to be published."""
    if stored is None or not (is_proposed(stored.memory) or is_accepted(stored.memory)):
        return False
    title, body = title_and_body(stored.memory.judgment, stored.memory.reasoning)
    bare = Record(row.number, title, None, body=body)
    said, asked = (text.split("\n", 2) for text in (row.payload.decode(), render(bare)))
    return (said[0], said[2:]) == (asked[0], asked[2:])


def _highest(entries: Sequence[StoredMemory]) -> int:
    return max((number_of(one.memory) for one in entries), default=0)


def _fault(error: NotAppended) -> Refused:
    if error.code is AppendFault.HIDDEN:
        return Refused("open_fence", detail=error.detail)
    detail = error.detail or error.code.value
    return Refused("half" if error.torn else "not_written", detail=detail)
