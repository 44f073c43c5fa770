"""Finished turns, queued durably with the scope in which they were said."""

from __future__ import annotations

import asyncio

from ..errors import StateUnavailable, VaultWriteFailed
from ..log import logger
from ..models.data_models import Rejected, RejectReason, RememberOutcome
from ..models.scope import Scope, ScopeFilter
from ..models.turns import Feedback, FeedbackReport, NotObserved, ObserveOutcome, Ticket, Turn
from ..policies.text import clean
from ..ports import Key, QueuedTurn, StateStore, Vault
from .catalogue import Catalogue, key_of
from .identifiers import Clock, make_id
from .memory_handlers import MemoryHandlers
from .use_counts import UseCounts


class TurnQueue:
    """Puts turns in, and settles them with what was learned."""

    def __init__(
        self,
        state: StateStore,
        uses: UseCounts,
        vault: Vault,
        catalogue: Catalogue,
        handlers: MemoryHandlers,
        clock: Clock,
    ) -> None:
        self._state = state
        self._uses = uses
        self._vault = vault
        self._catalogue = catalogue
        self._handlers = handlers
        self._clock = clock
        self._settling = asyncio.Lock()

    async def put(self, turn: Turn, scope: Scope | Rejected, conversation: str) -> ObserveOutcome:
        """A ticket, once the turn is on disk."""
        if isinstance(scope, Rejected):
            return NotObserved(scope.why)
        now = self._clock()
        queued = QueuedTurn(
            ticket_id=make_id("t", now),
            scope=scope.name,
            conversation=conversation,
            observed_at=now,
            person=turn.actor.person,
            who=clean(turn.actor.name),
            user_text=clean(turn.user_text),
            reply_text=clean(turn.reply_text),
        )
        try:
            # The folder is where the scope is found again, also after a restart.
            await asyncio.to_thread(self._vault.ensure, scope)
            await asyncio.to_thread(self._state.put_turn, queued)
        except (VaultWriteFailed, StateUnavailable) as error:
            logger.warning("这一轮没有排进队列：{}", error)
            return NotObserved()
        return Ticket(queued.ticket_id)

    async def settle(self, feedback: Feedback, ticket: Ticket) -> FeedbackReport:
        """Count useful memories, write new ones, take the turn from the queue: in this order, so
        that a crash between repeats work rather than losing it (the same words are stored once).
        A turn whose words the disk refused stays in the queue."""
        async with self._settling:
            return await self._settle(feedback, ticket)

    async def _settle(self, feedback: Feedback, ticket: Ticket) -> FeedbackReport:
        turn = await asyncio.to_thread(self._state.get_turn, ticket.ticket_id)
        if turn is None:
            return FeedbackReport(known=False)
        scopes = await asyncio.to_thread(self._vault.scopes)
        scope = next((scope for scope in scopes if scope.name == turn.scope), None)
        if scope is None:
            await asyncio.to_thread(self._state.drop_turn, ticket.ticket_id)
            return FeedbackReport(known=False)
        outcomes: list[RememberOutcome] = [
            await self._handlers.write(
                draft, scope, conversation=turn.conversation, trusted=False, role=""
            )
            for draft in feedback.drafts
        ]
        keys = self._visible_keys(feedback.useful_ids, scope)
        await self._uses.count(keys)
        if not any(_is_unwritten(outcome) for outcome in outcomes):
            await asyncio.to_thread(self._state.drop_turn, ticket.ticket_id)
        return FeedbackReport(True, tuple(key.memory_id for key in keys), tuple(outcomes))

    def _visible_keys(self, memory_ids: tuple[str, ...], scope: Scope) -> list[Key]:
        scope_filter = ScopeFilter.reading_as(scope)
        found = (self._catalogue.find(memory_id, scope_filter) for memory_id in memory_ids)
        return [key_of(stored) for stored in found if stored is not None]


def _is_unwritten(outcome: RememberOutcome) -> bool:
    return isinstance(outcome, Rejected) and outcome.reason is RejectReason.NOT_WRITTEN
