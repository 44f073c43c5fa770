"""When the nightly consolidation runs: at its hour, after a night was missed, or when asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from importlib import import_module
from typing import Any

from astrbot.api import logger

from ...llm_memory import Engine, Postponed
from ...llm_memory.consolidation.rules.schedule import last_due


@dataclass(eq=False)
class SleepSchedule:
    """``run`` is its one task: all runs are made there, so no two overlap. ``at``: local hour and
    minute, None for never but when asked. ``first_look``: seconds after the start, when the bot is
    busy; ``look``: seconds between two looks at the clock, beside the alarm, which a machine may
    sleep through, and a clock be set across. A run that was postponed is tried again then:
    ``patience`` times because the index is built, then it runs without. While ``running`` is set, a
    run that is asked for will be made; ``waiting``: why the one that is due has not begun."""

    engine: Engine
    at: tuple[int, int] | None
    clock: Callable[[], datetime]
    first_look: float = 300.0
    look: float = 600.0
    patience: int = 18
    running: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    waiting: Postponed = field(default="", init=False)
    _woken: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _asked: bool = field(default=False, init=False)

    @property
    def going(self) -> bool:
        """A run goes on, or waits to be tried again, or was just asked for."""
        return self.engine.sleep.sleeping or bool(self.waiting) or self._asked

    def ask(self) -> bool:
        """Make a run now, or as soon as may be. False where no task can make it."""
        if self.running.is_set():
            self._asked = True
            self._woken.set()
        return self.running.is_set()

    async def run(self) -> None:
        """Until cancelled; the step that is under way then is brought to its end."""
        sleep, alarm = self.engine.sleep, None
        try:
            alarm = await self._set_alarm()
            wanted, seconds, made, tries = "", self.first_look, None, 0
            self.running.set()
            while True:
                if self.at is not None:
                    sleep.next_at = last_due(self.clock() + timedelta(days=1), self.at)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._woken.wait(), seconds)
                self._woken.clear()
                due, seconds = self._due(), self.look
                if self._asked:
                    wanted, self._asked = "command", False
                elif due not in (None, made):
                    wanted = wanted or "nightly"
                if not wanted:
                    continue
                report = await sleep.run_once(wanted, patient=tries < self.patience)
                self.waiting, tries = report.postponed, tries + 1
                if not report.postponed:
                    # One that failed comes again in the next night: nobody knows when it could be.
                    wanted, made, tries, self.waiting = "", due, 0, ""
        finally:
            self.running.clear()
            self.waiting, sleep.next_at = "", None
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

    def _due(self) -> datetime | None:
        """The hour of a night that was not made; None for none."""
        is_due = self.at is not None and self.engine.sleep.missed(self.at)
        return last_due(self.clock(), self.at) if self.at and is_due else None
