"""When the nightly consolidation runs: at its hour, after a night was missed, or when asked."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from functools import partial
from importlib import import_module
from itertools import count
from typing import Any

from astrbot.api import logger

from ...llm_memory import Engine, Postponed, ScopedMemoryError, SleepReport
from ...llm_memory.texts import Texts

NIGHTLY, MISSED, RESUMED, COMMAND = "nightly", "missed", "resumed", "command"
_EARLY = timedelta(minutes=1)
_LATE_SECONDS = 6 * 3600
"""A machine that slept through the hour is woken later: the night is made up for then."""


@dataclass(frozen=True, slots=True)
class SchedulePace:
    """How long a run waits. Not the owner's to set, but a test's.

    Attributes:
        catch_up_seconds: A missed or interrupted run, after the start: the bot is busy then.
        retry_seconds: One that was postponed.
        patience: So often it is postponed because the index is built; then it runs without.
    """

    catch_up_seconds: float = 300.0
    retry_seconds: float = 600.0
    patience: int = 18


class CronTimer:
    """Calls at a local time every day: APScheduler's job, in the bot's own zone."""

    def __init__(self, zone: tzinfo | None) -> None:
        """``zone`` None: the machine's."""
        self._zone = zone
        self._scheduler: Any = None
        self.job: Any = None

    async def start(self, at: tuple[int, int], due: Callable[[], object]) -> None:
        """Raises ImportError where the package is missing, whatever it raises where it is odd."""
        schedulers = await asyncio.to_thread(import_module, "apscheduler.schedulers.asyncio")
        triggers = await asyncio.to_thread(import_module, "apscheduler.triggers.cron")
        trigger = triggers.CronTrigger(hour=at[0], minute=at[1], timezone=self._zone)

        async def call() -> None:  # a plain function would be called in a thread
            due()

        self._scheduler = schedulers.AsyncIOScheduler(timezone=trigger.timezone)
        self.job = self._scheduler.add_job(
            call, trigger, coalesce=True, max_instances=1, misfire_grace_time=_LATE_SECONDS
        )
        self._scheduler.start()

    def next_at(self) -> datetime | None:
        moment = None if self.job is None else self.job.next_run_time
        return moment if isinstance(moment, datetime) else None

    async def stop(self) -> None:
        scheduler, self._scheduler, self.job = self._scheduler, None, None
        if scheduler is not None and scheduler.running:
            scheduler.shutdown(wait=False)
            await asyncio.sleep(0)


class SleepSchedule:
    """``run`` is its one task: all runs are made there, so no two overlap."""

    def __init__(
        self,
        engine: Engine,
        at: tuple[int, int] | None,
        zone: tzinfo | None,
        texts: Texts,
        *,
        timer: CronTimer | None = None,
        pace: SchedulePace | None = None,
    ) -> None:
        """``at``: local hour and minute; None for never but when asked."""
        self._sleep = engine.sleep
        self._at = at
        self._texts = texts
        self._pace = pace or SchedulePace()
        self._timer = timer or CronTimer(zone)
        self._asked = asyncio.Event()
        self._reason = ""
        self._running = False
        self.waiting = Postponed.NO
        """Why the run that is due has not begun."""
        self.looked = asyncio.Event()
        """Whether a night was missed is known."""
        self.no_timer = False
        """APScheduler cannot be used: a night comes after a start, or when it is asked for."""

    @property
    def going(self) -> bool:
        """A run goes on, or waits to be tried again, or was just asked for."""
        return self._sleep.sleeping or self.waiting is not Postponed.NO or self._asked.is_set()

    @property
    def report(self) -> SleepReport:
        """Of the run that goes on, else of the last one."""
        return self._sleep.report

    def ask(self, reason: str = COMMAND) -> bool:
        """Make a run now, or as soon as may be. False where no task can make it."""
        if not self._running:
            return False
        if not (self._asked.is_set() and self._reason == COMMAND):
            self._reason = reason
        self._asked.set()
        return True

    async def run(self) -> None:
        """Until cancelled; the step that is under way then is brought to its end."""
        self._running = True
        late: asyncio.Task[None] | None = None
        try:
            await self._start_timer()
            late = asyncio.create_task(self._catch_up(), name="scoped-memory-night-catch-up")
            while True:
                await self._asked.wait()
                reason = self._reason
                self._asked.clear()
                if await self._is_due(reason):
                    await self._one(reason)
                self._sleep.next_at = self._timer.next_at()
        finally:
            self._running = False
            self.waiting = Postponed.NO
            self._sleep.next_at = None
            if late is not None:
                late.cancel()
                await asyncio.gather(late, return_exceptions=True)
            await self._timer.stop()

    async def _is_due(self, reason: str) -> bool:
        """Whether to make the run now: another one may have been made while this one waited."""
        if reason == COMMAND:
            return True
        if reason == RESUMED:
            with contextlib.suppress(ScopedMemoryError):
                if await self._sleep.is_unfinished():
                    return True
        return self._at is not None and self._sleep.is_due(self._at, early=_EARLY)

    async def _start_timer(self) -> None:
        if self._at is None:
            return
        try:
            await self._timer.start(self._at, partial(self.ask, NIGHTLY))
        except Exception as error:  # noqa: BLE001  (no package, or a zone that it does not know)
            logger.warning(self._texts.say("log.no_timer", detail=repr(error)[:200]))
            self.no_timer = True
        self._sleep.next_at = self._timer.next_at()

    async def _catch_up(self) -> None:
        """Once after the start: what was interrupted, or a night that was missed. A first start is
        none."""
        try:
            missed = self._at is not None and await self._sleep.missed(self._at)
            unfinished = await self._sleep.is_unfinished()
        except ScopedMemoryError:  # when the last one was is unknown; a notice has said why
            missed = unfinished = False
        self.looked.set()
        if missed or unfinished:
            await asyncio.sleep(self._pace.catch_up_seconds)
            self.ask(RESUMED if unfinished else MISSED)

    async def _one(self, reason: str) -> None:
        """A run; one that was postponed is tried again until it is made, or given up where nobody
        knows when it could be."""
        for tries in count():
            report = await self._sleep.run_once(reason, patient=tries < self._pace.patience)
            self.waiting = report.postponed
            if report.postponed in (Postponed.NO, Postponed.UNAVAILABLE):
                break
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._pace.retry_seconds):
                    await self._asked.wait()
            self._asked.clear()
        self.waiting = Postponed.NO
