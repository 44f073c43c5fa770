"""Finished turns, queued durably with the scope in which they were said."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from ..errors import StateUnavailable, VaultWriteFailed
from ..models.conversation import ConversationId, ConversationKind
from ..models.data_models import Refused
from ..models.scope import Scope
from ..models.settings import LoopSettings
from ..models.status import Notice
from ..models.turns import ObserveOutcome, QueuedTurn, Ticket, Turn
from ..remember.rules.gate import is_confidence
from ..runtime.identifiers import Clock, make_id
from ..runtime.lifecycle import Lifespan
from ..runtime.notice_board import NoticeBoard
from ..scopes.scope_book import ScopeBook
from ..text.turn_text import MOST_CHARS, cut, name_of, spoken
from ..vault.markdown_vault import MarkdownVault
from .turn_store import SqliteTurnStore
from .unread_follower import UnreadFollower

_MARGIN = 200
_MOST_RECALLED = 50
_PATIENCE: Final = 60.0
"""Seconds that a turn waits for another's lock on the file; ``_AGAIN`` between two attempts."""
_AGAIN: Final = 1.0


@dataclass(eq=False)
class TurnQueue:
    """Puts turns in, and makes them recallable."""

    _book: ScopeBook
    _turns: SqliteTurnStore
    _vault: MarkdownVault
    _clock: Clock
    _hide: Callable[[str], str]
    """Returns a text without what is private in it. It may block."""
    _settings: LoopSettings
    _notices: NoticeBoard
    _life: Lifespan
    _unread_follower: UnreadFollower
    _writing: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)
    """One waits for the file at a time, or all threads would."""
    _lost: int = field(init=False, default=0)

    async def put(
        self, turn: Turn, scope: Scope | Refused, conversation_id: ConversationId
    ) -> ObserveOutcome:
        """A ticket, once the turn is on disk and can be recalled. Never raises for a disk that
        refuses it: ``not_written``, and a notice counts such turns."""
        if isinstance(scope, Refused):
            return scope
        if not self._settings.reads_turns:
            return Refused("learning_paused")
        # What the bot only overhears takes no place from what is said to it.
        addressed = bool(turn.reply_text) or conversation_id.kind is ConversationKind.PRIVATE
        code = "queue_full" if addressed else "chatter_full"
        most = self._settings.most_queued // (1 if addressed else 2)
        deadline = asyncio.get_running_loop().time() + _PATIENCE
        try:
            queued = await asyncio.to_thread(self._made, turn, scope, conversation_id)
            if isinstance(queued, Refused):
                return queued
            # The folder is where the scope is found again, also after a restart.
            await asyncio.to_thread(self._vault.ensure, scope)
            async with self._writing:
                put = partial(self._put, queued, most, may_replace=addressed)
                dropped = await self._patiently(put, deadline)
        except (VaultWriteFailed, StateUnavailable, OSError, RuntimeError) as error:
            # RuntimeError: no thread can be started.
            self._lost += 1
            params = {"count": str(self._lost), "detail": str(error)}
            self._notices.post(Notice("turns_lost", params=params, error=True))
            return Refused("not_written", detail=str(error))
        self._lost = 0
        self._notices.clear("turns_lost")
        if dropped == "":
            self._notices.clear(code)
        else:
            self._notices.post(Notice(code, params={"count": str(most)}))
        if dropped is None:
            return Refused("full")
        self._unread_follower.let_go([dropped])
        await self._unread_follower.take_in(queued, scope)
        return Ticket(queued.ticket_id)

    async def _patiently[T](self, put: Callable[[], T], deadline: float) -> T:
        clock = asyncio.get_running_loop().time
        while True:
            try:
                return await asyncio.to_thread(put)
            except StateUnavailable as error:
                if "locked" not in error.cause or clock() >= deadline or self._life.is_closing:
                    raise
            await asyncio.sleep(_AGAIN)

    def _put(self, turn: QueuedTurn, most: int, *, may_replace: bool) -> str | None:
        """Returns the ticket of the turn whose place it took, empty for none; None where the queue
        is full."""
        if self._turns.count() < most:
            self._turns.put(turn)
            return ""
        if not may_replace:
            return None
        return self._turns.put_instead(turn, day=self._clock().date()) or None

    def _made(
        self, turn: Turn, scope: Scope, conversation_id: ConversationId
    ) -> QueuedTurn | Refused:
        if self._book.no_confidence(scope) and is_confidence(turn.user_text):
            return Refused("confidence")
        user_text, reply_text = self._kept(turn.user_text), self._kept(turn.reply_text)
        if not user_text and not reply_text:
            return Refused("empty")
        now = self._clock()
        return QueuedTurn(
            ticket_id=make_id("t", now),
            scope=scope.name,
            conversation=conversation_id.umo,
            persona=conversation_id.persona or "",
            observed_at=turn.said_at or now,
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

    def _kept(self, text: str) -> str:
        # What is private is looked for in a little more than is kept, lest half a number be left.
        return cut(self._hide(spoken(text)[: MOST_CHARS + _MARGIN]))
