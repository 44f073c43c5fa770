"""Applies what was learned from finished turns, inside the scope in which they were said.

The model that read the turns may have been manipulated by them. So nothing in its answer is
trusted: not who spoke, not which memories it may change, and never a scope.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from ..catalogue.catalogue import Catalogue
from ..catalogue.unread_turns import UnreadTurns
from ..log import logger
from ..models.data_models import Refused, RememberOutcome, StoredMemory
from ..models.scope import Scope
from ..models.soul import MannerWish
from ..models.turns import Feedback, FeedbackReport, QueuedTurn, Ticket
from ..recall.afterwards import UseCounts
from ..runtime.identifiers import Clock
from ..text.overlap import content
from ..vault.markdown_vault import MarkdownVault
from .result_applier import ResultApplier
from .rules.related import related
from .rules.said_rules import rules_said
from .turn_store import SqliteTurnStore

SCOPE_GONE = "scope_gone"
"""The error code of a batch whose scope's folder a person deleted."""
_MOST_KNOWN = 30
_MOST_COMPARED = 3_000
_MOST_OF_A_RULE = 0.6

type CountManner = Callable[[str, str, datetime, Sequence[MannerWish]], None]
"""Counts wishes by scope, persona and time. It blocks, and raises StateUnavailable."""


class FeedbackApplier:
    """Settles tickets one at a time. After a crash the ticket is settled again, idempotently."""

    def __init__(
        self,
        turns: SqliteTurnStore,
        vault: MarkdownVault,
        catalogue: Catalogue,
        results: ResultApplier,
        uses: UseCounts,
        unread: UnreadTurns,
        clock: Clock,
        count_manner: CountManner | None = None,
    ) -> None:
        self._turns = turns
        self._vault = vault
        self._catalogue = catalogue
        self._results = results
        self._uses = uses
        self._unread = unread
        self._clock = clock
        self._count_manner = count_manner
        self._lock = asyncio.Lock()

    async def scope_of(self, name: str) -> Scope | None:
        """Returns the scope that turns were queued with, None if its folder was deleted."""
        scopes = await asyncio.to_thread(self._vault.scopes)
        return next((scope for scope in scopes if scope.name == name), None)

    async def known(self, turns: Sequence[QueuedTurn], scope: Scope) -> list[StoredMemory]:
        """Returns memories related to the turns, as far as their scope sees them now: what was
        recalled for them, what was stored in their conversation meanwhile, and what the same people
        have said about it before."""
        context = self._results.lesson(turns, scope)
        own = context.own
        recalled = dict.fromkeys(memory_id for turn in turns for memory_id in turn.recalled)
        found = [self._catalogue.find(memory_id, context.sees) for memory_id in recalled]
        since, now = min(turn.observed_at for turn in turns), self._clock()
        here = turns[0].conversation
        meanwhile = [
            stored
            for stored in self._catalogue.of_days(since.date(), now.date(), own, now.tzinfo)
            if stored.memory.provenance.conversation == here and stored.memory.created_at >= since
        ]
        mine = list(self._catalogue.visible(own))[-_MOST_COMPARED:]
        before = await asyncio.to_thread(related, turns, mine)
        shown = (*before, *(one for one in found if one is not None), *meanwhile)
        return list({stored.pointer: stored for stored in shown}.values())[:_MOST_KNOWN]

    async def apply(self, feedback: Feedback, ticket: Ticket) -> FeedbackReport:
        """Write what is new, count useful memories, delete the turns from the queue: in this order,
        so that a crash in between repeats work rather than losing it. If the disk refused a write,
        the turns stay in the queue."""
        async with self._lock:
            return await self._apply(feedback, ticket)

    async def _apply(self, feedback: Feedback, ticket: Ticket) -> FeedbackReport:
        turns = await asyncio.to_thread(self._turns.turns, ticket.ids)
        if not turns:
            return FeedbackReport(known=False)
        if len({(turn.scope, turn.conversation) for turn in turns}) > 1:
            logger.error("tickets_mixed")
            return FeedbackReport(known=False)
        scope = await self.scope_of(turns[0].scope)
        if scope is None:
            return FeedbackReport(known=False)  # whoever reads them puts them aside
        context = self._results.lesson(turns, scope)
        orders = [turn for turn in turns if _is_order(turn)]
        rules = {rule: turn for turn in orders for rule in rules_said(turn.user_text)}
        said = [content(rule) for rule in rules]
        drafts = [one for one in feedback.drafts if not _repeats(content(one.judgment), said)]
        learn, add_rule = self._results.learn, self._results.add_rule
        outcomes = [await add_rule(rule, turn, context) for rule, turn in rules.items()]
        outcomes += [await learn(draft, context) for draft in drafts]
        dropped = 0
        for contradiction in feedback.contradictions:
            outcome, taken = await self._results.correct(contradiction, context)
            outcomes.append(outcome)
            dropped += not taken
        report = FeedbackReport(known=True, outcomes=tuple(outcomes), dropped=dropped)
        if any(map(_is_unwritten, outcomes)):
            return report
        recalled = {memory_id for turn in turns for memory_id in turn.recalled}
        await self._count(feedback, turns, scope)
        unused = await self._uses.feedback(feedback, context.sees, recalled=recalled)
        await asyncio.to_thread(self._turns.drop, ticket.ids)
        self._unread.drop(ticket.ids)
        return replace(report, dropped=dropped + unused)

    async def _count(self, feedback: Feedback, turns: Sequence[QueuedTurn], scope: Scope) -> None:
        """Count what was asked of the bot's manner, by those who spoke."""
        persons = {turn.person for turn in turns}
        wishes = [wish for wish in feedback.manner if wish.person in persons]
        if self._count_manner is not None and wishes:
            first, count = turns[0], self._count_manner
            await asyncio.to_thread(count, scope.name, first.persona, first.observed_at, wishes)


def _is_order(turn: QueuedTurn) -> bool:
    """Returns whether an admin spoke to the bot: overheard words are no order to it."""
    return turn.admin and bool(turn.person) and bool(turn.reply_text)


def _repeats(words: frozenset[str], rules: Sequence[frozenset[str]]) -> bool:
    """Returns whether a draft repeats one of the rules in other words."""
    return any(len(words & rule) > len(rule) * _MOST_OF_A_RULE for rule in rules)


def _is_unwritten(outcome: RememberOutcome) -> bool:
    return isinstance(outcome, Refused) and outcome.reason == "not_written"
