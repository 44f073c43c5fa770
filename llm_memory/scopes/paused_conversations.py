"""Conversations that are off the record: nothing of them is kept, and nothing recalled in them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime

from ..errors import StateUnavailable, VaultWriteFailed
from ..log import logger
from ..models.conversation import ConversationId
from ..models.loop import PauseMark
from ..models.notices import Notice, NoticeCode, Severity
from ..runtime.notice_board import NoticeBoard
from ..storage.loop_facts import SqliteLoopFacts
from .pause_mark_file import PauseMarkFile
from .rules.pause_mark import lost_pauses, mark_of

_UNKNOWN = "pauses_unknown"
_RESET, _OLDER = "1", "older "
"""Why: the file was broken; or it lacks so many pauses that the mark knows."""


class PausedConversations:
    """Asked by the cognitive service alone. What is known is held here, so that no turn waits.

    A pause holds for all that one line of the scope map names: a group that the platform splits by
    member is off the record as a whole.

    Where the file was lost, cannot be read, or is older than the mark beside the memories says, it
    is unknown which conversations were paused. Then none is taken for open: no turn is queued and
    none is read, so nothing is learned from what is said by the way, until an admin says that it
    may be. What a person has remembered on purpose is stored, and recall goes on: the notice tells
    that pauses have to be said again.
    """

    def __init__(self, book: SqliteLoopFacts, marks: PauseMarkFile, notices: NoticeBoard) -> None:
        self._book = book
        self._marks = marks
        self._notices = notices
        self._paused: dict[str, datetime] = {}
        self._known = False
        self._writing = asyncio.Lock()

    async def load(self, *, kept: bool) -> None:
        """Read the pauses, and post why they are not known, if they are not. ``kept`` is False for
        a book that was begun anew in the place of a broken one."""
        try:
            reason = await asyncio.to_thread(self._load, kept)
        except StateUnavailable:
            reason = _RESET
        self._known = not reason
        if reason.startswith(_OLDER):
            params = {"count": reason.removeprefix(_OLDER)}
            self._notices.post(
                Notice(NoticeCode.PAUSES_LOST, params=params, severity=Severity.ERROR)
            )
        elif reason:
            self._notices.post(Notice(NoticeCode.LOOP_RESET, severity=Severity.ERROR))

    def _load(self, kept: bool) -> str:
        """Why the pauses are not known, empty where they are."""
        self._paused = dict(self._book.paused())
        mark, reason = self._marks.read(), self._book.fact(_UNKNOWN)
        if not kept:
            reason = _RESET
            self._book.put_fact(_UNKNOWN, reason)
        elif not reason and (lost := lost_pauses(self._mark(), mark)):
            reason = f"{_OLDER}{lost}"
            self._book.put_fact(_UNKNOWN, reason)
        if not reason:
            self._agree(mark)
        return reason

    def _mark(self) -> PauseMark:
        """What the mark should say."""
        return mark_of(self._book.pause_generation(), self._book.paused_scopes())

    def _agree(self, mark: PauseMark | None) -> None:
        """Have the mark say what the book says. The book counts on from the higher number of the
        two, and from 1 where pauses were made before they were counted."""
        mine = self._mark()
        number = max(mine.generation, mark.generation if mark else 0, int(bool(mine.paused)))
        if number != mine.generation:
            self._book.set_pause_generation(number)
        mine = replace(mine, generation=number)
        if number and mark != mine:
            try:
                self._marks.write(mine)
            except VaultWriteFailed as error:  # the next start, or change, writes it again
                logger.warning("pause_mark_not_written", error=error)

    @property
    def known(self) -> bool:
        """Whether all pauses are known."""
        return self._known

    @property
    def count(self) -> int:
        """How many conversations are paused, as far as it is known."""
        return len(self._paused)

    def since(self, conversation_id: ConversationId) -> datetime | None:
        """When this conversation was paused; None where it is not."""
        return self._paused.get(conversation_id.map_key)

    def all(self) -> dict[str, datetime]:
        """The paused conversations, by what the owner's map calls them, as far as they are known,
        with the time."""
        return dict(self._paused)

    def is_paused(self, map_key: str) -> bool:
        """By its own id, or by what the owner's map calls it by."""
        return map_key in self._paused

    async def pause(
        self, conversation_id: ConversationId, scope: str, now: datetime
    ) -> tuple[datetime, bool]:
        """Since when it is paused, and whether it was so before. Durable when it returns.

        Raises StateUnavailable, and then it is not paused.
        """
        key = conversation_id.map_key
        async with self._writing:
            if key in self._paused:
                return self._paused[key], True
            await asyncio.to_thread(self._book.pause, key, scope, at=now)
            self._paused[key] = now
            await self._note_change()
            return now, False

    async def resume(self, conversation_id: ConversationId) -> bool:
        """False if it was not paused. Raises StateUnavailable, and then it stays paused."""
        key = conversation_id.map_key
        async with self._writing:
            if key not in self._paused:
                return False
            await asyncio.to_thread(self._book.resume, key)
            del self._paused[key]
            await self._note_change()
            return True

    async def confirm(self) -> bool:
        """An admin has confirmed the pauses: conversations that are not paused are open. False if
        that was known.

        Raises StateUnavailable.
        """
        async with self._writing:
            if self._known:
                return False
            await asyncio.to_thread(self._confirm)
            self._known = True
        for code in (NoticeCode.LOOP_RESET, NoticeCode.PAUSES_LOST):
            self._notices.clear(code)
        return True

    def _confirm(self) -> None:
        """From here on the book is the newer of the two."""
        mark = self._marks.read()
        number = max(self._book.pause_generation(), mark.generation if mark else 0) + 1
        self._book.set_pause_generation(number)
        self._book.put_fact(_UNKNOWN, "")
        self._agree(mark)

    async def _note_change(self) -> None:
        """While it is not known who was paused, the mark keeps what it knows of it."""
        if self._known:
            mark = await asyncio.to_thread(self._marks.read)
            await asyncio.to_thread(self._agree, mark)
