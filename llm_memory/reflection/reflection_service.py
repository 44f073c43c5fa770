"""Reads finished turns: asks for one answer to some of them, keeps it, and has it applied.

The answer stands on disk before anything is made of it, and the turns stay there until all of it is
in the vault. So whatever ends the bot in between, the next start goes on where it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from ..errors import EngineClosed, StateUnavailable
from ..log import logger
from ..models.loop import Letter, ReflectionReport, Resting
from ..runtime.identifiers import Clock
from .batch_reader import BatchReader
from .batches import Batches, Passed
from .feedback_applier import FeedbackApplier
from .model_calls import ModelCalls
from .rules.fair_shares import Allowance

_MINUTE, _OFTEN, _SELDOM = 60.0, 600.0, 3600.0
"""Seconds between two looks where nobody says that there is anything: at least, at most while
something waits, and else."""
_READS_NOTHING = frozenset({Resting.OFF, Resting.PAUSED_LEARNING, Resting.PAUSES_UNKNOWN})
_LOOKS_SELDOM = frozenset(
    {Resting.PAUSES_UNKNOWN, Resting.BUDGET, Resting.SHARE, Resting.NO_PROVIDER}
)
Wait = Callable[[asyncio.Event, float], Awaitable[None]]


async def _wait(woken: asyncio.Event, seconds: float) -> None:
    waiting = asyncio.ensure_future(woken.wait())
    try:
        await asyncio.wait([waiting], timeout=seconds)
    finally:
        waiting.cancel()


class ReflectionService:
    """One reader at a time, whoever asks for it.

    Args:
        followed: Has others told of what is queued, and what was read.
        pauses_known: False while the state may lack pauses: nothing is read, for any turn may be
            of a conversation that is off the record.
        learns: False while the scope filter is switched off: nothing is read, nothing stored.
        wait: Until woken, or so many seconds.
    """

    def __init__(
        self,
        batches: Batches,
        asking: ModelCalls,
        learning: FeedbackApplier,
        reader: BatchReader,
        clock: Clock,
        followed: Callable[[], Awaitable[None]],
        *,
        learns: bool = True,
        pauses_known: Callable[[], bool] = lambda: True,
        wait: Wait = _wait,
    ) -> None:
        self._batches = batches
        self._model_calls = asking
        self._applier = learning
        self._reader = reader
        self._clock = clock
        self._followed = followed
        self._learns = learns
        self._pauses_known = pauses_known
        self._wait = wait
        self._woken = asyncio.Event()
        self._reading = asyncio.Lock()
        self.last = ReflectionReport()
        """What came of the last look."""
        self._begun = False
        self.error = ""
        """What went wrong last, empty once something went right."""

    @property
    def label(self) -> str:
        """Who reads, empty for nobody."""
        return self._model_calls.label

    @property
    def resting(self) -> Resting:
        """Why turns wait although they are due, as it was when they were looked at last; what
        concerns all of them, as it is now."""
        return self._resting() or self.last.resting

    def wake(self) -> None:
        """Something was queued."""
        self._woken.set()

    async def run(self) -> None:
        """Read what is due, until cancelled or closed. Looks at least a minute apart, but when it
        is woken."""
        while True:
            self._woken.clear()
            try:
                await self.read_due()
                seconds = await self._seconds_until_due()
            except EngineClosed:
                return
            except StateUnavailable as error:
                logger.warning("轮次队列现在读不了，稍后再试：{}", error)
                seconds = _OFTEN
            except Exception as error:  # noqa: BLE001  (whatever it was, the next turn is another)
                logger.error("读对话时出错，稍后再试：{!r}", error)
                seconds = _OFTEN
            await self._wait(self._woken, seconds)

    async def read_due(self) -> ReflectionReport:
        """Once all that is due now. Raises EngineClosed, StateUnavailable."""
        return await self._pass(None)

    async def reflect(self, *, conversation: str | None = None) -> ReflectionReport:
        """At once: all that waits of a conversation; without one, what is due. A call that failed
        is not waited for, but the budget holds. Raises EngineClosed, StateUnavailable."""
        return await self._pass(conversation, urgent=True)

    async def follow(self) -> None:
        """Have others told of what is queued. Raises StateUnavailable."""
        await self._followed()

    async def letters(self) -> list[Letter]:
        """What was given up. Raises StateUnavailable."""
        return await asyncio.to_thread(self._batches.letters)

    async def retry(self, batch_id: str = "") -> int:
        """Read what was given up again, one or all: how many. Raises StateUnavailable."""
        count = await asyncio.to_thread(self._batches.retry, batch_id)
        self.wake()
        return count

    async def drop(self, batch_id: str) -> int:
        """Forget the turns of a batch that was given up: how many. Raises StateUnavailable."""
        return await asyncio.to_thread(self._batches.drop, batch_id)

    def _resting(self) -> Resting:
        if not self._learns:
            return Resting.PAUSED_LEARNING
        nobody = self._model_calls.nobody()
        if nobody is Resting.OFF or self._pauses_known():
            return nobody
        return Resting.PAUSES_UNKNOWN

    async def _seconds_until_due(self) -> float:
        overheard = self.last.resting is not Resting.OVERHEARD
        ask = self._batches.seconds_until_due
        due = await asyncio.to_thread(ask, self._clock(), overheard=overheard)
        if due is None and not overheard:
            return _OFTEN
        if due is None or self.last.resting in (Resting.OFF, Resting.PAUSED_LEARNING):
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
        """A scope whose folder was gone is there again: its turns may be read."""
        for name in await asyncio.to_thread(self._batches.gone):
            if await self._applier.scope_of(name) is not None:
                await asyncio.to_thread(self._batches.bring_back, name)

    async def _read(
        self, report: ReflectionReport, conversation: str | None, urgent: bool
    ) -> ReflectionReport:
        passed: Passed = set()
        while True:
            # Who asks for a conversation means all that is said in it.
            allowance = await self._model_calls.allowance() if conversation is None else None
            reading = await asyncio.to_thread(
                self._batches.next, self._clock(), conversation, passed, allowance
            )
            if reading is None:
                return report if allowance is None else await self._left(report, passed, allowance)
            passed.add(reading.batch.batch_id)
            done = await self._reader.read(
                reading, replace(report, resting=Resting.NO), urgent=urgent
            )
            report = replace(done, resting=done.resting or report.resting)
            if done.resting is Resting.BACKOFF:
                return report
            if done.resting is not Resting.NO and not reading.made:
                passed.add(reading.line)  # what comes after it may be smaller, or somebody else's
            if done.resting is Resting.BUDGET and not await self._model_calls.affords_any():
                return report

    async def _left(
        self, report: ReflectionReport, passed: Passed, allowance: Allowance
    ) -> ReflectionReport:
        """All is read that may be now; says why, where more is due."""
        if report.resting is not Resting.NO:
            return report
        reasons = [(Resting.SHARE, allowance.without_shares()), (Resting.OVERHEARD, None)]
        for resting, allowed in reasons:
            ask = self._batches.next
            if await asyncio.to_thread(ask, self._clock(), None, passed, allowed) is not None:
                affords = await self._model_calls.affords_any()
                return replace(report, resting=resting if affords else Resting.BUDGET)
        return report
