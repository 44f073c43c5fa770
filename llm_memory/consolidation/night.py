"""The night's run: a backup, then in each scope what fades, merges and is written, then what was
purged, then souls.

Each step is idempotent, and may be the last before a kill or a close: the next run does all of them
again. The backup comes first and needs the files alone, so that nothing else keeps it from being
made. What is known of nights is one fact, the report of the last run that came to its end: a night
that was cut off was missed.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from ..errors import EngineClosed, StateUnavailable
from ..log import logger
from ..models.scope import QUARANTINE_NAME
from ..models.status import Notice
from ..runtime.identifiers import Clock
from ..runtime.lifecycle import shielded
from ..runtime.notice_board import NoticeBoard
from ..storage.loop_file import SqliteLoopFacts, SqliteLoopFile
from ..vault.markdown_vault import MarkdownVault
from .backup import Backup
from .leaving import Leaving
from .pages import MemoryPages
from .purge import Purge
from .questions import QuestionStep
from .report import Postponed, SleepReport
from .rules.schedule import last_due

_FACT: Final = "night"
_SAME_NIGHT: Final = timedelta(hours=1)
"""A run that ended so shortly before the hour was that night's: in autumn the hour comes twice."""
_DETAIL_CHARS: Final = 400


@dataclass(eq=False)
class Night:
    """Does one run at a time."""

    _loop_file: SqliteLoopFile
    _loop_book: SqliteLoopFacts
    _vault: MarkdownVault
    _notices: NoticeBoard
    _clock: Clock
    _leaving: Leaving
    _memory_pages: MemoryPages
    _questions: QuestionStep
    _souls: Callable[[], Awaitable[None]]
    """Evaluates the changes that are proposed for the manner of personas."""
    _backup: Backup
    _purge: Purge
    _busy: Callable[[], Postponed]
    """Returns why no run may begin now."""
    _learns: Callable[[], bool]
    """While it returns False, a run makes a backup only."""
    report: SleepReport = field(init=False, default_factory=SleepReport)
    """The report of the current run, else of the last one."""
    next_at: datetime | None = field(init=False, default=None)
    """When the next run is due, by the scheduler."""

    def __post_init__(self) -> None:
        self._going = asyncio.Lock()
        self._task: asyncio.Task[object] | None = None
        self._last = SleepReport(ended=self._clock())
        """Of the last run that came to its end; without a reason it is the first start, and where
        nothing is known of nights this one."""

    @property
    def sleeping(self) -> bool:
        """True during a run."""
        return self._going.locked()

    @property
    def slept_at(self) -> datetime | None:
        """When the last run ended."""
        return self._last.ended if self._last.reason else None

    async def load(self) -> None:
        """Read what is known of the last run. Where that cannot be read, nights are counted from
        now."""
        with suppress(StateUnavailable, EngineClosed, ValueError):
            if text := await asyncio.to_thread(self._loop_book.fact, _FACT):
                self._last = SleepReport.of_json(text)
                self.report = self._last if self._last.reason else self.report
            else:
                await self._keep(self._last)

    async def _keep(self, report: SleepReport) -> None:
        await asyncio.to_thread(self._loop_book.put_fact, _FACT, report.as_json())

    def missed(self, at: tuple[int, int]) -> bool:
        """Returns True if a run was due at this local time since the last one, and where the clock
        was wrong then: it shows a time before that one."""
        now = self._clock()
        ended, due = ((one or now).astimezone(UTC) for one in (self._last.ended, last_due(now, at)))
        return now.astimezone(UTC) < ended - _SAME_NIGHT or due > ended + _SAME_NIGHT

    async def run_once(self, reason: str, *, patient: bool = True) -> SleepReport:
        """Do a whole run. ``postponed`` of the report says why none was made.

        Args:
            reason: Who asks; see ``SleepReport``.
            patient: Postpone the run while the index is built; else the run merges nothing.

        A caller that is cancelled waits for the current step.
        """
        busy: Postponed = "sleeping" if self.sleeping else self._busy()
        if busy and (patient or busy != "building"):
            return SleepReport(reason=reason, postponed=busy)
        async with self._going:
            return await shielded(self._run(reason), on_cancel=self._cancel)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def over(self) -> None:
        """Wait until no run goes on."""
        async with self._going:
            return

    async def close(self) -> None:
        """Stop a run after its current step. Idempotent."""
        self._cancel()
        await self.over()

    async def _run(self, reason: str) -> SleepReport:
        self._task = asyncio.current_task()
        self.report = SleepReport(reason=reason)
        await self._step("backup", self._backup.run())
        opened = await self._step("state/loop.sqlite", asyncio.to_thread(self._loop_file.check))
        if self._learns():
            if not opened.errors:  # else a step of each scope would wait for the same file
                await self._step("scopes", self._scopes())
            await self._step("purge", self._purge.run())
            await self._step("souls", self._souls())
        gc.freeze()  # what came in the day lives as long as the engine
        self.report = replace(self.report, ended=self._clock())
        kept = await self._step("end", self._keep(self.report))
        if not kept.errors:  # else it was missed: what could not be done is done in the next one
            self._last = self.report
        if error := "; ".join(self.report.errors)[:_DETAIL_CHARS]:
            self._notices.post(Notice("sleep_failed", params={"detail": error}))
        else:
            self._notices.clear("sleep_failed")
        return self.report

    async def _scopes(self) -> None:
        for scope in await asyncio.to_thread(self._vault.scopes):
            if scope.name != QUARANTINE_NAME:
                await self._step(f"leaving:{scope.name}", self._leaving.run(scope))
                await self._step(f"pages:{scope.name}", self._memory_pages.run(scope))
                await self._step(f"questions:{scope.name}", self._questions.run(scope))

    async def _step(self, name: str, work: Awaitable[SleepReport | None]) -> SleepReport:
        """Do a step and add what it did to the report. One that fails is noted there, is tried
        again the next night and stops no other one."""
        try:
            done = await work or SleepReport()
        except Exception as error:  # noqa: BLE001  (the other steps, and the next night, go on)
            logger.error("night_step_failed", step=name, error=repr(error))
            done = SleepReport(errors=(f"{name}: {error}",))
        self.report = self.report.plus(done)
        return done
