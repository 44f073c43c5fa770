"""When the nightly consolidation runs: at its hour, after a night was missed, or when asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from importlib import import_module
from itertools import count
from typing import Any

from astrbot.api import logger

from ...llm_memory import Engine, Postponed, ScopedMemoryError, SleepReport
from ...llm_memory.consolidation.rules.schedule import last_due

NIGHTLY, RESUMED, COMMAND = "nightly", "resumed", "command"


@dataclass(frozen=True, slots=True)
class SchedulePace:
    """How long a run waits. Not the owner's to set, but a test's.

    Attributes:
        catch_up_seconds: A missed or interrupted run, after the start: the bot is busy then.
        look_seconds: How often the clock is looked at beside the alarm, which a machine may sleep
            through, and a clock be set across.
        retry_seconds: A run that was postponed.
        patience: So often it is postponed because the index is built; then it runs without.
    """

    catch_up_seconds: float = 300.0
    look_seconds: float = 600.0
    retry_seconds: float = 600.0
    patience: int = 18


@dataclass(eq=False)
class SleepSchedule:
    """``run`` is its one task: all runs are made there, so no two overlap.

    Attributes:
        at: Local hour and minute; None for never but when asked.
        waiting: Why the run that is due has not begun.
        looked: Whether a night was missed is known.
    """

    engine: Engine
    at: tuple[int, int] | None
    clock: Callable[[], datetime]
    pace: SchedulePace = SchedulePace()
    waiting: Postponed = field(default=Postponed.NO, init=False)
    looked: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _woken: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _asked: bool = field(default=False, init=False)
    _running: bool = field(default=False, init=False)

    @property
    def going(self) -> bool:
        """A run goes on, or waits to be tried again, or was just asked for."""
        waits = self.waiting is not Postponed.NO
        return self.engine.sleep.sleeping or waits or self._asked

    @property
    def report(self) -> SleepReport:
        """Of the run that goes on, else of the last one."""
        return self.engine.sleep.report

    def ask(self) -> bool:
        """Make a run now, or as soon as may be. False where no task can make it."""
        if self._running:
            self._asked = True
            self._woken.set()
        return self._running

    async def run(self) -> None:
        """Until cancelled; the step that is under way then is brought to its end."""
        self._running = True
        alarm = None
        try:
            alarm = await self._set_alarm()
            tried = None
            await self._due()  # a first start counts from here
            left = await self._is(self.engine.sleep.is_unfinished())
            seconds = self.pace.catch_up_seconds
            self.looked.set()
            while True:
                if self.at is not None:
                    self.engine.sleep.next_at = last_due(self.clock() + timedelta(days=1), self.at)
                asked = await self._is_asked(within=seconds)
                due = await self._due()
                if asked or left or due not in (None, tried):
                    await self._make(COMMAND if asked else RESUMED if left else NIGHTLY)
                    tried, left = due, False
                seconds = self.pace.look_seconds
        finally:
            self._running, self.waiting = False, Postponed.NO
            self.engine.sleep.next_at = None
            if alarm is not None:
                alarm.shutdown(wait=False)

    async def _set_alarm(self) -> Any:
        """APScheduler's, at the hour of the bot's clock. None where it can be set by none: the next
        look makes the night then."""
        if self.at is None:
            return None
        hour, minute = self.at
        try:
            schedulers = await asyncio.to_thread(import_module, "apscheduler.schedulers.asyncio")
            alarm = schedulers.AsyncIOScheduler(timezone=self.clock().tzinfo)
            alarm.add_job(self._ring, "cron", hour=hour, minute=minute, misfire_grace_time=None)
            alarm.start()
        except Exception as error:  # noqa: BLE001  (no package, or a zone that it does not know)
            logger.debug("no alarm wakes the night, its hour is looked at: %r", error)
            return None
        return alarm

    async def _ring(self) -> None:  # a plain function would be called in a thread
        self._woken.set()

    async def _due(self) -> datetime | None:
        """The hour of a night that was not made; None for none."""
        if self.at is None or not await self._is(self.engine.sleep.missed(self.at)):
            return None
        return last_due(self.clock(), self.at)

    async def _is(self, asked: Awaitable[bool]) -> bool:
        with suppress(ScopedMemoryError):  # what is known of nights is not; a notice has said why
            return await asked
        return False

    async def _is_asked(self, *, within: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._woken.wait()
        self._woken.clear()
        asked, self._asked = self._asked, False
        return asked

    async def _make(self, reason: str) -> None:
        """A run; one that was postponed is tried again until it is made, or given up where nobody
        knows when it could be."""
        for tries in count():
            report = await self.engine.sleep.run_once(reason, patient=tries < self.pace.patience)
            self.waiting = report.postponed
            if report.postponed in (Postponed.NO, Postponed.UNAVAILABLE):
                break
            await self._is_asked(within=self.pace.retry_seconds)
        self.waiting = Postponed.NO
