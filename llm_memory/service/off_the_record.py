"""Conversations that are off the record: nothing of them is kept, and nothing recalled in them."""

from __future__ import annotations

import asyncio
from datetime import datetime

from ..errors import StateUnavailable
from ..models.conversation import ConversationId
from ..models.notices import NoticeCode
from ..ports.loop import LoopBook
from .notice_board import NoticeBoard

_UNKNOWN = "pauses_unknown"


class OffTheRecord:
    """Asked by the cognitive service alone. What is known is held here, so that no turn waits.

    A pause holds for all that one line of the scope map names: a group that the platform splits by
    member is off the record as a whole.

    Where nobody knows any more who was paused, because the file was lost or cannot be read, no
    conversation is taken for open: no turn is queued, so nothing is learned from what is said by
    the way, until an admin says that it may be. What somebody wants remembered on purpose is
    stored, and recall goes on: the notice tells that pauses have to be said again.
    """

    def __init__(self, book: LoopBook, notices: NoticeBoard) -> None:
        self._book = book
        self._notices = notices
        self._paused: dict[str, datetime] = {}
        self._known = False
        self._writing = asyncio.Lock()

    async def load(self, *, kept: bool) -> None:
        """What the book says. ``kept`` is False for a book that was begun anew in the place of one
        that nobody could read."""
        try:
            if not kept:
                await asyncio.to_thread(self._book.put_fact, _UNKNOWN, "1")
            self._paused = dict(await asyncio.to_thread(self._book.paused))
            self._known = not await asyncio.to_thread(self._book.fact, _UNKNOWN)
        except StateUnavailable:
            self._known = False

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
            return now, False

    async def resume(self, conversation_id: ConversationId) -> bool:
        """False if it was not paused. Raises StateUnavailable, and then it stays paused."""
        key = conversation_id.map_key
        async with self._writing:
            if key not in self._paused:
                return False
            await asyncio.to_thread(self._book.resume, key)
            del self._paused[key]
            return True

    async def confirm(self) -> bool:
        """An admin has said again who is paused: whoever is not, is open. False if that was known.

        Raises StateUnavailable.
        """
        async with self._writing:
            if self._known:
                return False
            await asyncio.to_thread(self._book.put_fact, _UNKNOWN, "")
            self._known = True
        self._notices.clear(NoticeCode.LOOP_RESET)
        return True
