"""Puts records back that an old editor buffer has overwritten.

Whoever had a file open while a record was appended, and saves it later, drops the record without
having seen it. A person who deletes one leaves the later ones, or deletes it again: so no record is
appended where an earlier one has to be put back first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from itertools import takewhile
from typing import Final

from ..errors import StateUnavailable
from ..log import logger
from ..models.decisions import RecordFile, record_name
from ..models.status import Notice, NoticeCode
from ..runtime.identifiers import Clock
from ..runtime.notice_board import NoticeBoard
from ..storage.appending import NotAppended
from ..storage.record_intents import IntentState, RecordIntent, RecordIntents
from ..vault.markdown.decision_record import records_of
from .payload import Payload
from .shared_files import SharedFiles

BUFFER: Final = timedelta(hours=24)
"""So long a file may have been open in an editor. Our copy of the words is kept no longer."""
_AT_ONCE: Final = timedelta(minutes=1)
"""What is missing so soon after it was put back was overwritten by a save that had begun before."""
_SETTLE_SECONDS: Final = 1.0


class StaleSaves:
    """Looks at what was written in the last day. ``mend`` is cheap where nothing was."""

    def __init__(
        self,
        files: SharedFiles,
        intents: RecordIntents,
        notices: NoticeBoard,
        clock: Clock,
        *,
        settle_seconds: float = _SETTLE_SECONDS,
    ) -> None:
        """``settle_seconds``: what is missing is looked for again after so long, for an editor that
        saves in place has its file empty for a moment."""
        self._files = files
        self._intents = intents
        self._notices = notices
        self._clock = clock
        self._settle = settle_seconds

    async def mend(self) -> None:
        """Put back what is missing, once each. Never raises for a disk that fails."""
        try:
            for file in RecordFile:
                await self.put_back(file)
        except (NotAppended, StateUnavailable) as error:
            logger.warning("decisions_unchecked", error=error)

    async def guard(self, file: RecordFile) -> Callable[[bytes], bool]:
        """Returns what says of the file's content whether a record is to be put back there first:
        behind a later one it would look as if a person had deleted it.

        Raises StateUnavailable.
        """
        rows = await self._rows(file)
        return lambda content: bool(self._overwritten(rows, _missing(rows, content)))

    async def _rows(self, file: RecordFile) -> list[RecordIntent]:
        """Returns the records that stood in the file once, and whose words the state still has."""
        rows = await asyncio.to_thread(self._intents.rows)
        told = (row for row in rows if row.payload and row.state is not IntentState.INTENT)
        return [row for row in told if row.file == file.path]

    async def put_back(self, file: RecordFile) -> None:
        """The same for one file. Raises NotAppended, StateUnavailable."""
        rows = await self._rows(file)
        missing = await self._looked(file, rows) if rows else set()
        if missing:
            await asyncio.sleep(self._settle)
            missing = await self._looked(file, rows)
        lost = self._overwritten(rows, missing)
        for row in lost:
            await asyncio.to_thread(self._files.append, file, Payload(row, again=True))
            await asyncio.to_thread(self._intents.note_put_back, row.number, self._clock())
            name = record_name(row.number)
            params = {"number": name, "path": file.path}
            self._notices.post(Notice(NoticeCode.RECORD_PUT_BACK, f"{file.path}/{name}", params))
        done = [row.number for row in rows if row not in lost and self._is_done(row, missing)]
        if done:
            await asyncio.to_thread(self._intents.drop_payloads, done)

    def _is_done(self, row: RecordIntent, missing: set[int]) -> bool:
        old = self._clock() - row.at >= BUFFER and row.state is IntentState.SETTLED
        return row.number in missing or old

    def _overwritten(self, rows: Sequence[RecordIntent], missing: set[int]) -> list[RecordIntent]:
        """Returns the missing records that an old buffer dropped. ``rows`` are one file's, by
        number."""
        now = self._clock()
        last = {row.number for row in takewhile(lambda row: row.number in missing, reversed(rows))}
        return [
            row
            for row in rows
            if row.number in missing
            and now - row.at < (_AT_ONCE if row.put_back else BUFFER)
            and (row.put_back or row.number in last)
        ]

    async def _looked(self, file: RecordFile, rows: Sequence[RecordIntent]) -> set[int]:
        return _missing(rows, await asyncio.to_thread(self._files.read, file))

    async def forget(self, proposal: str) -> None:
        """Keep no copy of the words of a proposal that was deleted for good. Raises
        StateUnavailable."""
        rows = await asyncio.to_thread(self._intents.rows)
        numbers = [row.number for row in rows if row.proposal == proposal and row.payload]
        if numbers:
            await asyncio.to_thread(self._intents.drop_payloads, numbers)


def _missing(rows: Sequence[RecordIntent], content: bytes) -> set[int]:
    """Returns the numbers of those without a heading. A person may have changed the rest."""
    found = records_of(content.decode("utf-8", "replace"))
    return {row.number for row in rows} - {one.record.number for one in found}
