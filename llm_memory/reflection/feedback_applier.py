"""What was learned from finished turns, applied: inside the scope in which they were said.

Whoever read the turns may have been talked into anything. So nothing that it says is taken on
trust: not who spoke, not which memories it may touch, and never a scope.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from ..catalogue.catalogue import Catalogue
from ..catalogue.unread_turns import UnreadTurns
from ..log import logger
from ..models.data_models import Rejected, RejectReason, RememberOutcome, StoredMemory
from ..models.loop import Batch, BatchState
from ..models.scope import Scope
from ..models.turns import Feedback, FeedbackReport, QueuedTurn, Ticket
from ..recall.memory_manager import MemoryManager
from ..runtime.identifiers import Clock
from ..storage.loop_port import TurnStore
from ..text.content_words import content
from ..text.derived_ids import derived_id
from ..vault.markdown_vault import MarkdownVault
from .result_applier import ResultApplier
from .rules.related import related
from .rules.said_rules import rules_said

SCOPE_GONE = "scope_gone"
"""A batch's error: a person has deleted the folder of its scope."""
_MOST_KNOWN = 30
_MOST_COMPARED = 3_000
_MOST_OF_A_RULE = 0.6


class FeedbackApplier:
    """Settles tickets. One at a time: a crash in between is repeated, and finds what stands."""

    def __init__(
        self,
        turns: TurnStore,
        vault: MarkdownVault,
        catalogue: Catalogue,
        lessons: ResultApplier,
        manager: MemoryManager,
        unread: UnreadTurns,
        clock: Clock,
    ) -> None:
        self._turns = turns
        self._vault = vault
        self._catalogue = catalogue
        self._results = lessons
        self._manager = manager
        self._unread = unread
        self._clock = clock
        self._change_applier = asyncio.Lock()

    async def scope_of(self, name: str) -> Scope | None:
        """The scope that turns were queued with, None if its folder is gone."""
        scopes = await asyncio.to_thread(self._vault.scopes)
        return next((scope for scope in scopes if scope.name == name), None)

    async def known(self, turns: Sequence[QueuedTurn], scope: Scope) -> list[StoredMemory]:
        """What is remembered of what the turns speak of, as far as their scope sees it now: what
        was recalled for them, what was stored in their conversation meanwhile, and what the same
        people have said of it before."""
        lesson = self._results.lesson(turns, scope)
        own = lesson.own
        recalled = dict.fromkeys(memory_id for turn in turns for memory_id in turn.recalled)
        found = [self._catalogue.find(memory_id, lesson.sees) for memory_id in recalled]
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

    async def settle(self, feedback: Feedback, ticket: Ticket) -> FeedbackReport:
        """Write what is new, count what helped, take the turns from the queue: in this order, so
        that a crash in between repeats work rather than losing it. Turns whose words the disk
        refused stay in the queue."""
        async with self._change_applier:
            return await self._settle(feedback, ticket)

    async def _settle(self, feedback: Feedback, ticket: Ticket) -> FeedbackReport:
        turns = await asyncio.to_thread(self._turns.turns, ticket.ids)
        if not turns:
            return FeedbackReport(known=False)
        if len({(turn.scope, turn.conversation) for turn in turns}) > 1:
            logger.error("一张回执里混进了别的会话，没有采用")
            return FeedbackReport(known=False)
        scope = await self.scope_of(turns[0].scope)
        if scope is None:
            await asyncio.to_thread(self._put_aside, turns)
            return FeedbackReport(known=False)
        lesson = self._results.lesson(turns, scope)
        orders = [turn for turn in turns if _orders(turn)]
        rules = {rule: turn for turn in orders for rule in rules_said(turn.user_text)}
        said = [content(rule) for rule in rules]
        drafts = [one for one in feedback.drafts if not _repeats(content(one.judgment), said)]
        learn, add_rule = self._results.learn, self._results.add_rule
        outcomes = [await add_rule(rule, turn, lesson) for rule, turn in rules.items()]
        outcomes += [await learn(draft, lesson) for draft in drafts]
        dropped = 0
        for contradiction in feedback.contradictions:
            outcome, taken = await self._results.correct(contradiction, lesson)
            outcomes.append(outcome)
            dropped += not taken
        for merge in feedback.merges:
            merged = await self._results.merge(merge, lesson)
            outcomes.append(merged or Rejected(RejectReason.REFUSED, detail="merge"))
            dropped += merged is None
        report = FeedbackReport(known=True, outcomes=tuple(outcomes), dropped=dropped)
        if any(map(_is_unwritten, outcomes)):
            return report
        recalled = {memory_id for turn in turns for memory_id in turn.recalled}
        served = await self._manager.feedback(feedback, lesson.sees, recalled=recalled)
        await asyncio.to_thread(self._turns.drop, ticket.ids)
        self._unread.drop(ticket.ids)
        return replace(report, counted=served.counted, dropped=dropped + served.dropped)

    def _put_aside(self, turns: Sequence[QueuedTurn]) -> None:
        """Turns of a scope whose folder a person deleted: they may go nowhere else, and it is for
        an admin to say that they are meant to go. A batch that they are in goes with them."""
        left = {turn.ticket_id: turn for turn in turns}
        for batch in self._turns.batches():
            held = {turn.ticket_id for turn in self._turns.of_batch(batch.batch_id)}
            if held & left.keys():
                self._turns.put_batch(dead(batch, SCOPE_GONE))
            left = {ticket: turn for ticket, turn in left.items() if ticket not in held}
        if left:
            first = turns[0]
            names = (first.scope, first.conversation, first.persona)
            batch = Batch(derived_id("b", *left), *names, self._clock())
            self._turns.make_batch(dead(batch, SCOPE_GONE), left)
        logger.warning("{} 的文件夹不在了，它的 {} 轮对话搁置", turns[0].scope, len(turns))


def dead(batch: Batch, error: str) -> Batch:
    """Given up, with the turns that it holds."""
    return replace(batch, state=BatchState.DEAD, reply="", error=error)


def _orders(turn: QueuedTurn) -> bool:
    """Whether an admin spoke to the bot: what was only overheard is no order to it."""
    return turn.admin and bool(turn.person) and bool(turn.reply_text)


def _repeats(words: frozenset[str], rules: Sequence[frozenset[str]]) -> bool:
    """Whether a reader says one of the rules in its own words."""
    return any(len(words & rule) > len(rule) * _MOST_OF_A_RULE for rule in rules)


def _is_unwritten(outcome: RememberOutcome) -> bool:
    return isinstance(outcome, Rejected) and outcome.reason is RejectReason.NOT_WRITTEN
