"""Finished turns, queued durably with the scope in which they were said."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime

from ..errors import StateUnavailable, VaultWriteFailed
from ..log import logger
from ..models.conversation import ConversationId, ConversationKind
from ..models.data_models import Rejected
from ..models.notices import Notice, NoticeCode
from ..models.scope import Scope
from ..models.settings import LoopSettings
from ..models.turns import NotObserved, ObserveOutcome, QueuedTurn, Ticket, Turn
from ..remember.rules.confidences import may_be_stored
from ..runtime.identifiers import Clock, make_id
from ..runtime.notice_board import NoticeBoard
from ..text.turn_text import MOST_CHARS, cut, name_of, spoken
from ..vault.markdown_vault import MarkdownVault
from .rules.fair_shares import choose_evicted, party_of
from .turn_store import SqliteTurnStore

_MARGIN = 200
_MOST_RECALLED = 50


class TurnQueue:
    """Puts turns in."""

    def __init__(
        self,
        turns: SqliteTurnStore,
        vault: MarkdownVault,
        clock: Clock,
        hide: Callable[[str], str],
        settings: LoopSettings,
        notices: NoticeBoard,
    ) -> None:
        """``hide``: a text without what is private in it. It may block."""
        self._turns = turns
        self._vault = vault
        self._clock = clock
        self._hide = hide
        self._settings = settings
        self._notices = notices

    async def put(
        self, turn: Turn, scope: Scope | Rejected, conversation_id: ConversationId
    ) -> ObserveOutcome:
        """A ticket, once the turn is on disk. Never raises for a disk that refuses it."""
        if isinstance(scope, Rejected):
            return NotObserved(scope.why)
        if not self._settings.reads_turns:
            return NotObserved(note="off")
        # What the bot only overhears takes no place from what is said to it.
        most, code = self._settings.most_queued, NoticeCode.QUEUE_FULL
        overheard = not turn.reply_text and conversation_id.kind is not ConversationKind.PRIVATE
        if overheard:
            most, code = most // 2, NoticeCode.CHATTER_FULL
        try:
            outcome, is_full = await asyncio.to_thread(
                self._put, turn, scope, conversation_id, most, displaces=not overheard
            )
        except (VaultWriteFailed, StateUnavailable) as error:
            logger.warning("这一轮没有排进队列：{}", error)
            return NotObserved(note="not_written")
        match outcome:
            case NotObserved(note="full"):
                self._notices.post(Notice(code, params={"count": str(most)}))
            case Ticket() if not is_full:
                self._notices.clear(code)
        return outcome

    def _put(
        self,
        turn: Turn,
        scope: Scope,
        conversation_id: ConversationId,
        most: int,
        *,
        displaces: bool,
    ) -> tuple[ObserveOutcome, bool]:
        """What became of it, and whether the queue was full. ``displaces``: in a full queue it may
        take the place of a turn of somebody who holds more than a fair share."""
        if not may_be_stored((turn.user_text,), scope):
            return NotObserved(note="confidence"), False
        user_text, reply_text = self._kept(turn.user_text), self._kept(turn.reply_text)
        if not user_text and not reply_text:
            return NotObserved(note="empty"), False
        is_full = self._turns.count() >= most
        if is_full and not displaces:
            return NotObserved(note="full"), True
        now = self._clock()
        queued = QueuedTurn(
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
        # The folder is where the scope is found again, also after a restart.
        self._vault.ensure(scope)
        if is_full:
            return self._put_instead(queued, most, now), True
        self._turns.put(queued)
        return Ticket(queued.ticket_id), False

    def _put_instead(self, queued: QueuedTurn, most: int, now: datetime) -> ObserveOutcome:
        """In the place of the oldest turn of whoever holds most beyond a fair share."""
        party = choose_evicted(most, self._turns.held(), party_of(queued))
        if party is None or not self._turns.put_instead(queued, party, day=now.date()):
            return NotObserved(note="full")
        logger.info("队列满了：{} 排得最多，最早的一轮让出了位置", party.speaker)
        return Ticket(queued.ticket_id)

    def _kept(self, text: str) -> str:
        # What is private is looked for in a little more than is kept, lest half a number be left.
        return cut(self._hide(spoken(text)[: MOST_CHARS + _MARGIN]))
