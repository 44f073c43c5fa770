"""Finished turns, queued durably with the scope in which they were said."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, repeat
from typing import Final

from ..errors import EngineClosed, StateUnavailable, VaultWriteFailed
from ..log import logger
from ..models.conversation import ConversationId, ConversationKind
from ..models.data_models import Refused
from ..models.scope import Scope
from ..models.settings import LoopSettings
from ..models.status import Notice
from ..models.turns import ObserveOutcome, QueuedTurn, Ticket, Turn
from ..remember.rules.gate import is_confidence
from ..runtime.identifiers import Clock, make_id
from ..runtime.notice_board import NoticeBoard
from ..runtime.shielded import shielded
from ..scopes.scope_book import ScopeBook
from ..text.turn_text import MOST_CHARS, cut, name_of, spoken
from ..vault.markdown_vault import MarkdownVault
from .rules.fair_shares import choose_evicted, party_of
from .turn_store import SqliteTurnStore

_MARGIN = 200
_MOST_RECALLED = 50
_MOST_HELD: Final = 200
"""Turns that are held in memory at most."""
_RETRY_SECONDS: Final = (1.0, 2.0, 5.0, 15.0, 60.0)
_REFUSED: Final = (VaultWriteFailed, StateUnavailable, OSError, RuntimeError)
"""RuntimeError: no thread can be started."""


@dataclass(frozen=True, slots=True)
class _Said:
    """A turn on its way to the queue; its scope, id and time are fixed."""

    turn: Turn
    scope: Scope
    conversation_id: ConversationId
    ticket_id: str
    at: datetime

    @property
    def overheard(self) -> bool:
        in_private = self.conversation_id.kind is ConversationKind.PRIVATE
        return not self.turn.reply_text and not in_private


class TurnQueue:
    """Puts turns in. A turn that cannot be written is held in memory until it can be."""

    def __init__(
        self,
        book: ScopeBook,
        turns: SqliteTurnStore,
        vault: MarkdownVault,
        clock: Clock,
        hide: Callable[[str], str],
        settings: LoopSettings,
        notices: NoticeBoard,
    ) -> None:
        """``hide``: a text without what is private in it. It may block."""
        self._book = book
        self._turns = turns
        self._vault = vault
        self._clock = clock
        self._hide = hide
        self._settings = settings
        self._notices = notices
        self._held: deque[_Said] = deque()
        self._lost = 0
        self._detail = ""
        """Why the last write failed."""
        self._writing = asyncio.Lock()
        self._retrying: asyncio.Task[None] | None = None
        self._written: Callable[[], None] = lambda: None

    def follow_with(self, written: Callable[[], None]) -> None:
        """Set what is called once held turns are on disk."""
        self._written = written

    async def put(
        self, turn: Turn, scope: Scope | Refused, conversation_id: ConversationId
    ) -> ObserveOutcome:
        """A ticket, once the turn is on disk. Never raises for a disk that refuses it: the turn is
        ``held``, or ``not_written`` where too many are."""
        if isinstance(scope, Refused):
            return scope
        if not self._settings.reads_turns:
            return Refused("learning_paused")
        now = self._clock()
        said = _Said(turn, scope, conversation_id, make_id("t", now), now)
        if self._held:  # they come first, and nobody waits for a lock that others hold
            return self._hold(said)
        async with self._writing:
            if not self._held:
                try:
                    return await self._write(said)
                except _REFUSED as error:
                    self._detail = str(error)
            return self._hold(said)

    async def _write(self, said: _Said) -> ObserveOutcome:
        # What the bot only overhears takes no place from what is said to it.
        most, code = self._settings.most_queued, "queue_full"
        if said.overheard:
            most, code = most // 2, "chatter_full"
        outcome, is_full = await asyncio.to_thread(self._put, said, most)
        match outcome:
            case Refused("full"):
                self._notices.post(Notice(code, params={"count": str(most)}))
            case Ticket() if not is_full:
                self._notices.clear(code)
        return outcome

    def _hold(self, said: _Said) -> Refused:
        if len(self._held) >= _MOST_HELD:
            self._lost += 1
            params = {"count": str(self._lost)}
            self._notices.post(Notice("turns_lost", params=params, error=True))
            return Refused("not_written")
        self._held.append(said)
        self._report()
        if self._retrying is None or self._retrying.done():
            logger.warning("turn_held", detail=self._detail)
            self._retrying = asyncio.create_task(self._retry(), name="scoped-memory-held-turns")
        return Refused("held")

    def _report(self) -> None:
        if self._held:
            params = {"count": str(len(self._held)), "detail": self._detail}
            self._notices.post(Notice("turns_held", params=params, error=True))
        else:
            self._notices.clear("turns_held")

    async def _retry(self) -> None:
        for seconds in chain(_RETRY_SECONDS, repeat(_RETRY_SECONDS[-1])):
            await asyncio.sleep(seconds)
            if await shielded(self._flush()):
                return

    async def _flush(self) -> bool:
        """Write what is held. Returns whether all of it is on disk."""
        async with self._writing:
            while self._held:
                try:
                    await self._write(self._held[0])
                except (*_REFUSED, EngineClosed) as error:
                    self._detail = str(error)
                    self._report()
                    return False
                self._held.popleft()
                self._report()
        self._written()
        return True

    async def close(self) -> None:
        """Write what is held, for the last time, before the file is closed. Idempotent."""
        if self._retrying is not None:
            self._retrying.cancel()
            await asyncio.gather(self._retrying, return_exceptions=True)
        if self._held and not await self._flush():
            logger.error("turns_lost", count=len(self._held))
            self._held.clear()

    def _put(self, said: _Said, most: int) -> tuple[ObserveOutcome, bool]:
        """What became of it, and whether the queue was full. There what was said to the bot may
        take the place of a turn of whoever holds the most."""
        turn, scope, conversation_id = said.turn, said.scope, said.conversation_id
        if self._book.no_confidence(scope) and is_confidence(turn.user_text):
            return Refused("confidence"), False
        user_text, reply_text = self._kept(turn.user_text), self._kept(turn.reply_text)
        if not user_text and not reply_text:
            return Refused("empty"), False
        is_full = self._turns.count() >= most
        if is_full and said.overheard:
            return Refused("full"), True
        queued = QueuedTurn(
            ticket_id=said.ticket_id,
            scope=scope.name,
            conversation=conversation_id.umo,
            persona=conversation_id.persona or "",
            observed_at=turn.said_at or said.at,
            person=turn.actor.person,
            who=self._hide(name_of(turn.actor.name)),
            user_text=user_text,
            reply_text=reply_text,
            recalled=turn.recalled[:_MOST_RECALLED],
            map_key=conversation_id.map_key,
            admin=turn.actor.admin,
            stored=turn.stored[:_MOST_RECALLED],
            history=turn.history,
        )
        # The folder is where the scope is found again, also after a restart.
        self._vault.ensure(scope)
        if is_full:
            return self._put_instead(queued, said.at), True
        self._turns.put(queued)
        return Ticket(queued.ticket_id), False

    def _put_instead(self, queued: QueuedTurn, now: datetime) -> ObserveOutcome:
        """In the place of the oldest turn of whoever holds the most."""
        party = choose_evicted(self._turns.held(), party_of(queued))
        if party is None or not self._turns.put_instead(queued, party, day=now.date()):
            return Refused("full")
        logger.info("queue_full", speaker=party.speaker)
        return Ticket(queued.ticket_id)

    def _kept(self, text: str) -> str:
        # What is private is looked for in a little more than is kept, lest half a number be left.
        return cut(self._hide(spoken(text)[: MOST_CHARS + _MARGIN]))
