"""Reads finished turns in passes: what is due is read, in the order of who used the least.

An answer is on disk before it is applied, and the turns stay there until all of it is in the vault.
So after a crash the next pass continues where it was.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final

from ..errors import ChatFailed, EngineClosed, StateUnavailable
from ..log import logger
from ..models.loop import Batch, LineName, ReflectionReport, Resting, WaitingLine
from ..models.settings import LoopSettings
from ..models.turns import QueuedTurn
from ..runtime.identifiers import Clock
from ..scopes.paused_conversations import PausedConversations
from ..storage.loop_facts import SqliteLoopFacts
from .batch_reader import BatchReader
from .model import Model, Purpose, Rests
from .rules.due import may_pay, seconds_until_due
from .rules.fair_shares import Allowance
from .rules.prompt import MOST_TURNS, REPLY_TOKENS, how_many_fit
from .rules.worth_reading import worth_of
from .turn_store import SqliteTurnStore
from .unread_follower import UnreadFollower

_MINUTE: Final = 60.0
_OFTEN: Final = 600.0
"""Seconds between two passes: at least, and at most."""
_READS_NOTHING: Final = frozenset({"off", "learning_paused"})
_LOOKS_SELDOM: Final = frozenset({"budget", "no_provider"}) | _READS_NOTHING
_OFTEN_ENOUGH: Final = 2
"""After so many failures of a line its words are suspected."""
_REMEMBERED: Final = 1_000
"""Lines whose worth is remembered until something is said in them."""
_ERROR: Final = "reader_error"


class ReflectionService:
    """Runs one pass at a time, for all callers."""

    def __init__(
        self,
        turns: SqliteTurnStore,
        model: Model,
        reader: BatchReader,
        unread_follower: UnreadFollower,
        paused_conversations: PausedConversations,
        loop_book: SqliteLoopFacts,
        clock: Clock,
        settings: LoopSettings,
        *,
        learns: bool = True,
    ) -> None:
        """``learns``: False while the scope filter is switched off: nothing is read or stored."""
        self._turns = turns
        self._model = model
        self._reader = reader
        self._follower = unread_follower
        self._paused = paused_conversations
        self._book = loop_book
        self._clock = clock
        self._settings = settings
        self._learns = learns
        self._idle = timedelta(minutes=settings.idle_minutes)
        self._worth = lru_cache(_REMEMBERED)(self._worth_of)
        self._reading = asyncio.Lock()
        self._woken = asyncio.Event()
        self._heard: Counter[LineName] = Counter()
        """How many turns wait in a line, as far as it was counted."""
        self._failing: Counter[LineName] = Counter()
        """How often in a row the service failed for a line: others come first."""
        self.last = ReflectionReport()
        """The report of the last pass."""
        self.error: str | None = None
        """The last error, empty after a success, None before it was read from the file."""

    @property
    def label(self) -> str:
        """Returns the model's label, empty without a model."""
        return self._model.label

    @property
    def resting(self) -> Resting:
        """Returns why turns wait although they are due: a reason that concerns all turns as of now,
        others as of the last pass."""
        return self._unavailable() or self.last.resting

    def _unavailable(self) -> Resting:
        return self._model.unavailable_reason() if self._learns else "learning_paused"

    def wake(self) -> None:
        """Have the next pass begin now."""
        self._woken.set()

    def heard(self, turn: QueuedTurn) -> None:
        """A turn was queued."""
        name = (turn.scope, turn.conversation, turn.persona)
        self._heard[name] += 1
        if self._heard[name] >= self._settings.after_turns:
            self.wake()

    async def run(self) -> None:
        """Read what is due, until cancelled or closed."""
        while True:
            try:
                await self.read_due()
                seconds = await self.seconds_until_due()
            except EngineClosed:
                return
            except StateUnavailable as error:
                logger.warning("queue_unread", error=error)
                seconds = _OFTEN
            except Exception as error:  # noqa: BLE001  (an error in one pass must not end the loop)
                logger.error("reading_failed", error=repr(error))
                seconds = _OFTEN
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), seconds)
            self._woken.clear()

    async def read_due(self) -> ReflectionReport:
        """Read all turns that are due now, once. Raises EngineClosed, StateUnavailable."""
        return await self._pass(None)

    async def reflect(self, *, conversation: str | None = None) -> ReflectionReport:
        """Read at once all waiting turns of a conversation; without one, what is due. Backoff is
        skipped, but not the budget. Raises EngineClosed, StateUnavailable."""
        return await self._pass(conversation, urgent=True)

    async def follow(self) -> None:
        """Have exactly what waits be recallable. Raises StateUnavailable."""
        await self._follower.follow()

    async def retry(self) -> int:
        """Queue again what was put aside. Returns how many batches. Raises StateUnavailable."""
        count = await asyncio.to_thread(self._turns.retry)
        self.wake()
        return count

    async def seconds_until_due(self) -> float:
        """Returns how long to wait for the next pass. Raises StateUnavailable."""
        due = await asyncio.to_thread(self._seconds_until_due)
        if self.last.resting in _LOOKS_SELDOM:
            return _OFTEN
        return min(max(due, await self._model.seconds_to_wait(), _MINUTE), _OFTEN)

    def _seconds_until_due(self) -> float:
        lines, now = self._lines(), self._clock()
        self._heard = Counter({line.name: line.count for line in lines})
        waits = (self._seconds_until(line, now) for line in lines)
        return 0.0 if self._answered() else min(waits, default=_OFTEN)

    def _seconds_until(self, line: WaitingLine, now: datetime) -> float:
        after = self._settings.after_turns
        return seconds_until_due(line, self._worth(line), now, after_turns=after, idle=self._idle)

    async def _pass(self, conversation: str | None, *, urgent: bool = False) -> ReflectionReport:
        await self.follow()
        async with self._reading:
            if self.error is None:
                self.error = await asyncio.to_thread(self._book.fact, _ERROR)
            report = ReflectionReport(resting=self._unavailable())
            if report.resting not in _READS_NOTHING:
                report = await self._read(conversation, "asked" if urgent else "reading")
            if (report.error or report.read) and report.error != self.error:
                self.error = report.error
                await asyncio.to_thread(self._book.put_fact, _ERROR, self.error)
            size = await asyncio.to_thread(self._turns.size, conversation)
            self.last = replace(report, waiting=size.waiting)
            return self.last

    async def _read(self, conversation: str | None, purpose: Purpose) -> ReflectionReport:
        reader, passed = self._reader, set[object]()
        resting: Resting = ""
        reader.begin()
        while True:
            # A request for a conversation means all its turns.
            allowance = await self._model.allowance() if conversation is None else None
            found = await asyncio.to_thread(self._next, conversation, allowance, passed)
            if found is None:
                break
            before, (batch, turns) = reader.report, found
            line = (turns[0].scope, turns[0].conversation, turns[0].persona)
            try:
                if batch is None:
                    doubtful = self._failing[line] >= _OFTEN_ENOUGH
                    await reader.read(turns, purpose, doubtful=doubtful)
                else:
                    await reader.finish(batch, turns)
                del self._failing[line]
            except Rests as rests:
                resting = rests.why
            except ChatFailed as failed:
                logger.warning("model_silent", error=failed)
                self._failing[line] += 1
                return replace(reader.report, error=str(failed), resting="backoff")
            if resting == "backoff":
                break
            if (reader.report.read, reader.report.dead) == (before.read, before.dead):
                passed.add(line if batch is None else batch.batch_id)
        if not resting and allowance is not None:
            left = await asyncio.to_thread(self._next, None, None, passed)
            resting = "" if left is None else "budget"
        return replace(reader.report, resting=resting)

    def _next(
        self, conversation: str | None, allowance: Allowance | None, passed: Collection[object]
    ) -> tuple[Batch | None, list[QueuedTurn]] | None:
        """Returns what to read next, with its answer if there is one already: of a conversation
        whatever waits; else what is due, of who used the least today, as far as the allowance
        goes."""
        for batch, turns in self._answered(conversation):
            if batch.batch_id not in passed:
                return batch, turns
        now = self._clock()
        addressed = allowance is not None and not allowance.overhears
        lines = [
            line
            for line in self._lines(conversation, addressed=addressed)
            if line.name not in passed
            and (conversation is not None or self._seconds_until(line, now) == 0)
        ]
        if allowance is not None:
            lines = allowance.in_order(lines)
        lines.sort(key=lambda line: self._failing[line.name] > 0)
        if not lines:
            return None
        left = self._settings.daily_tokens
        if allowance is not None:
            left = min(left, allowance.left_for(lines[0].group))
        first = self._turns.waiting(lines[0], MOST_TURNS, addressed=addressed)
        chosen = first[: how_many_fit(first, left - REPLY_TOKENS)]
        return None, self._turns.turns([turn.ticket_id for turn in chosen])

    def _lines(
        self, conversation: str | None = None, *, addressed: bool = False
    ) -> list[WaitingLine]:
        """Returns the lines of conversations that are not paused: by their own id, or the group's
        on platforms that split a group by member."""
        return [
            line
            for line in self._turns.lines(addressed=addressed)
            if conversation in (None, line.conversation)
            and not any(map(self._paused.of, (line.conversation, line.map_key)))
        ]

    def _answered(self, conversation: str | None = None) -> list[tuple[Batch, list[QueuedTurn]]]:
        """Returns what has an answer that is not applied yet, and may be."""
        found = [
            (batch, self._turns.of_batch(batch.batch_id))
            for batch in self._turns.batches()
            if batch.reply and conversation in (None, batch.conversation)
        ]
        return [
            (batch, turns) for batch, turns in found if not self._reader.is_off_the_record(turns)
        ]

    def _worth_of(self, line: WaitingLine) -> float:
        """Returns the worth of a line's turns, 0 if it does not matter."""
        if not may_pay(line, after_turns=self._settings.after_turns):
            return 0.0
        return sum(map(worth_of, self._turns.waiting(line, MOST_TURNS)))
