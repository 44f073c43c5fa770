"""Reads finished turns in batches: gets the model's answer, stores it, and has it applied.

The answer is on disk before it is applied, and the turns stay there until all of it is in the
vault. So after a crash the next start continues where it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from ..errors import EngineClosed, StateUnavailable
from ..log import logger
from ..models.loop import ReflectionReport, Resting
from ..runtime.identifiers import Clock
from .batch_reader import BatchReader
from .batches import Batches, Passed
from .feedback_applier import FeedbackApplier
from .model_calls import ModelCalls
from .rules.fair_shares import Allowance

_MINUTE, _OFTEN, _SELDOM = 60.0, 600.0, 3600.0
"""Seconds between passes without a wake-up: at least, at most while turns wait, and otherwise."""
_READS_NOTHING = frozenset({"off", "learning_paused"})
_LOOKS_SELDOM = frozenset({"budget", "share", "no_provider"})
Wait = Callable[[asyncio.Event, float], Awaitable[None]]


async def _wait(woken: asyncio.Event, seconds: float) -> None:
    waiting = asyncio.ensure_future(woken.wait())
    try:
        await asyncio.wait([waiting], timeout=seconds)
    finally:
        waiting.cancel()


class ReflectionService:
    """Runs one pass at a time, for all callers.

    Args:
        followed: Updates followers of the queue.
        learns: False while the scope filter is switched off: nothing is read, nothing stored.
        wait: Waits until woken, or so many seconds.
    """

    def __init__(
        self,
        batches: Batches,
        model_calls: ModelCalls,
        applier: FeedbackApplier,
        reader: BatchReader,
        clock: Clock,
        followed: Callable[[], Awaitable[None]],
        *,
        learns: bool = True,
        wait: Wait = _wait,
    ) -> None:
        self._batches = batches
        self._model_calls = model_calls
        self._applier = applier
        self._reader = reader
        self._clock = clock
        self._followed = followed
        self._learns = learns
        self.wait = wait
        self._woken = asyncio.Event()
        self._reading = asyncio.Lock()
        self.last = ReflectionReport()
        """The report of the last pass."""
        self._begun = False
        self.error = ""
        """The last error, empty after a success."""

    @property
    def label(self) -> str:
        """Returns the model's label, empty without a model."""
        return self._model_calls.label

    @property
    def resting(self) -> Resting:
        """Returns why turns wait although they are due: a reason that concerns all turns as of now,
        others as of the last pass."""
        return self._resting() or self.last.resting

    def wake(self) -> None:
        """Wake the loop: a turn was queued."""
        self._woken.set()

    async def run(self) -> None:
        """Read what is due, until cancelled or closed. Passes are at least a minute apart, unless
        it is woken."""
        while True:
            self._woken.clear()
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
            await self.wait(self._woken, seconds)

    async def read_due(self) -> ReflectionReport:
        """Read all turns that are due now, once. Raises EngineClosed, StateUnavailable."""
        return await self._pass(None)

    async def reflect(self, *, conversation: str | None = None) -> ReflectionReport:
        """Read at once all waiting turns of a conversation; without one, what is due. Backoff is
        skipped, but not the budget. Raises EngineClosed, StateUnavailable."""
        return await self._pass(conversation, urgent=True)

    async def follow(self) -> None:
        """Update the followers of the queue. Raises StateUnavailable."""
        await self._followed()

    async def retry(self) -> int:
        """Queue dead letters again. Returns how many. Raises StateUnavailable."""
        count = await asyncio.to_thread(self._batches.retry)
        self.wake()
        return count

    def _resting(self) -> Resting:
        if not self._learns:
            return "learning_paused"
        return self._model_calls.unavailable_reason()

    async def seconds_until_due(self) -> float:
        overheard = self.last.resting != "overheard"
        ask = self._batches.seconds_until_due
        due = await asyncio.to_thread(ask, self._clock(), overheard=overheard)
        if due is None and not overheard:
            return _OFTEN
        if due is None or self.last.resting in ("off", "learning_paused"):
            return _SELDOM
        if self.last.resting in _LOOKS_SELDOM:
            return _OFTEN
        waits = await self._model_calls.seconds_to_wait()
        return min(max(due, waits, _MINUTE), _OFTEN)

    async def _pass(self, conversation: str | None, *, urgent: bool = False) -> ReflectionReport:
        async with self._reading:
            if not self._begun:
                self.error, self._begun = await self._model_calls.last_error(), True
            report = ReflectionReport(resting=self._resting())
            if report.resting not in _READS_NOTHING:
                await self._bring_back()
                report = await self._read(ReflectionReport(), conversation, urgent)
            await self._followed()
            waiting = await asyncio.to_thread(self._batches.waiting, conversation)
            if (report.error or report.read) and report.error != self.error:
                self.error = report.error
                await self._model_calls.note_error(self.error)
            self.last = report = replace(report, waiting=waiting)
            return report

    async def _bring_back(self) -> None:
        """Queue the turns of scopes again whose deleted folder is back."""
        for name in await asyncio.to_thread(self._batches.gone):
            if await self._applier.scope_of(name) is not None:
                await asyncio.to_thread(self._batches.bring_back, name)

    async def _read(
        self, report: ReflectionReport, conversation: str | None, urgent: bool
    ) -> ReflectionReport:
        passed: Passed = set()
        while True:
            # A request for a conversation means all its turns.
            allowance = await self._model_calls.allowance() if conversation is None else None
            reading = await asyncio.to_thread(
                self._batches.next, self._clock(), conversation, passed, allowance
            )
            if reading is None:
                return report if allowance is None else await self._left(report, passed, allowance)
            passed.add(reading.batch.batch_id)
            done = await self._reader.read(reading, replace(report, resting=""), urgent=urgent)
            report = replace(done, resting=done.resting or report.resting)
            if done.resting == "backoff":
                return report
            if done.resting and not reading.made:
                passed.add(reading.line)  # later lines may be smaller, or another group's
            if done.resting == "budget" and not await self._model_calls.affords_any():
                return report

    async def _left(
        self, report: ReflectionReport, passed: Passed, allowance: Allowance
    ) -> ReflectionReport:
        """Returns the report of a finished pass, with the reason if more turns are due."""
        if report.resting:
            return report
        unshared = replace(allowance, used={})
        reasons: list[tuple[Resting, Allowance | None]] = [("share", unshared), ("overheard", None)]
        for resting, allowed in reasons:
            ask = self._batches.next
            if await asyncio.to_thread(ask, self._clock(), None, passed, allowed) is not None:
                affords = await self._model_calls.affords_any()
                return replace(report, resting=resting if affords else "budget")
        return report
