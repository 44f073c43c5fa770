"""The memory loop as the engine runs it, and how it is doing."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, replace

from ..catalogue.catalogue import Catalogue
from ..consolidation.consolidation_service import ConsolidationService
from ..consolidation.rules.questions import wants_questions
from ..errors import EngineClosed, StateUnavailable
from ..models.loop import LoopStatus
from ..models.settings import LoopSettings
from ..models.status import Notice, NoticeCode, Severity
from ..reflection.reflection_service import ReflectionService
from ..reflection.turn_queue import TurnQueue
from ..reflection.turn_store import SqliteTurnStore
from ..runtime.identifiers import Clock
from ..runtime.notice_board import NoticeBoard
from ..scopes.paused_conversations import PausedConversations
from ..storage.loop_facts import SqliteLoopFacts
from ..storage.loop_file import SqliteLoopFile


@dataclass(eq=False)
class MemoryLoop:
    """Learns from finished turns, tidies up at night, and tells a returning conversation where
    things stand. Opened and closed by the engine."""

    _file: SqliteLoopFile
    _turns: SqliteTurnStore
    _catalogue: Catalogue
    _book: SqliteLoopFacts
    _paused_conversations: PausedConversations
    _settings: LoopSettings
    _notices: NoticeBoard
    _clock: Clock
    reflection: ReflectionService
    sleep: ConsolidationService
    _queue: TurnQueue

    def __post_init__(self) -> None:
        self._queue.follow_with(self.reflection.wake)

    async def open(self) -> None:
        """Memories do not depend on the loop, so a file that cannot be opened stops nothing but
        the loop itself: nothing is queued, and a notice says so."""
        await self._paused_conversations.load()
        try:
            kept = await asyncio.to_thread(self._file.open)
        except StateUnavailable as error:
            params = {"path": error.path, "detail": error.cause}
            self._notices.post(
                Notice(NoticeCode.LOOP_UNAVAILABLE, params=params, severity=Severity.ERROR)
            )
            return
        if not kept:
            self._notices.post(Notice(NoticeCode.LOOP_RESET, severity=Severity.ERROR))
        await self.sleep.load()
        with contextlib.suppress(StateUnavailable):  # the next look takes it in
            await self.reflection.follow()

    async def close(self) -> None:
        """Give the file back, with what waited to be written to it. Idempotent."""
        await self._queue.close()
        await asyncio.to_thread(self._file.close)

    async def status(self) -> LoopStatus:
        """How it is doing, now. Never raises for a store that cannot be read."""
        plain = LoopStatus(
            provider=self.reflection.label,
            resting=self.reflection.resting,
            error=self.reflection.error or self.sleep.error,
            budget=self._settings.daily_tokens,
            paused=self._paused_conversations.count,
            slept_at=self.sleep.slept_at,
            sleeping=self.sleep.sleeping,
            next_sleep=self.sleep.next_at,
        )
        if plain.provider:
            living = list(self._catalogue.all())
            unasked = await asyncio.to_thread(lambda: sum(map(wants_questions, living)))
            plain = replace(plain, unasked=unasked)
        try:
            return await asyncio.to_thread(self._counted, plain)
        except (StateUnavailable, EngineClosed):
            return plain

    def _counted(self, status: LoopStatus) -> LoopStatus:
        day = self._clock().date()
        shares = tuple(one for one in self._book.shares(day) if one.tokens or one.dropped)
        return replace(status, queue=self._turns.size(), spent=self._book.spent(day), shares=shares)
