"""Runs the night's work: makes a backup, fades memories, merges near-duplicates, writes journals,
pages and questions. It goes in small steps, each of which may be the last before a kill."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from functools import partial
from typing import Final

from ..errors import EngineClosed, StateUnavailable, TransferFailed, VaultWriteFailed
from ..log import logger
from ..models.scope import QUARANTINE_NAME, Scope
from ..models.status import Notice
from ..runtime.identifiers import Clock, make_id
from ..runtime.notice_board import NoticeBoard
from ..storage.loop_facts import SqliteLoopFacts
from ..vault.markdown_vault import MarkdownVault
from .day_journals import DayJournals
from .decay_step import DecayStep
from .merging import MergeStep
from .models import Postponed, SleepReport, SleepStep
from .nightly_backup import NightlyBackup
from .overviews import Overviews
from .purge_remnants import PurgeRemnants
from .question_step import QuestionStep
from .rules.schedule import was_missed
from .sleep_store import SqliteSleepStore

_COUNTED_FROM: Final = "nights_counted_from"
"""When the last run ended; at a first start, when that was."""
_SAME_NIGHT: Final = timedelta(hours=1)
"""A run that ended so shortly before the hour was that night's."""
_ERROR_CHARS: Final = 200

type Step = Callable[[], Awaitable[SleepReport]]
"""Returns what it did."""


@dataclass(eq=False)
class ConsolidationService:
    """Does one run at a time. Each step is idempotent, so a run begins anew after a kill or a
    close."""

    _sleep_store: SqliteSleepStore
    _loop_book: SqliteLoopFacts
    _vault: MarkdownVault
    _notices: NoticeBoard
    _clock: Clock
    _fading: DecayStep
    _merging: MergeStep
    _journals: DayJournals
    _overviews: Overviews
    _questions: QuestionStep
    _souls: Callable[[], Awaitable[None]]
    """Evaluates the changes that are proposed for the manner of personas."""
    _backup: NightlyBackup
    _remnants: PurgeRemnants
    _busy: Callable[[], Postponed]
    """Returns why no run may begin now."""
    _learns: Callable[[], bool]
    """While it returns False, a run makes a backup only."""
    report: SleepReport = field(init=False, default_factory=SleepReport)
    """The report of the current run, else of the last one."""
    error: str = field(init=False, default="")
    """The last error, empty once a whole run has succeeded."""
    slept_at: datetime | None = field(init=False, default=None)
    """When the last run ended."""
    next_at: datetime | None = field(init=False, default=None)
    """When the next run is due, by the scheduler."""

    def __post_init__(self) -> None:
        self._running: asyncio.Task[SleepReport] | None = None
        self._awake = asyncio.Event()
        self._awake.set()
        self._closed = False
        self._counted_from: datetime | None = None
        self._since: date | None = None

    @property
    def sleeping(self) -> bool:
        """True during a run."""
        return self._running is not None

    async def load(self) -> None:
        """Read what is known of the last run: nothing where the store cannot be read."""
        try:
            last = await asyncio.to_thread(self._sleep_store.last)
            counted = await asyncio.to_thread(self._loop_book.fact, _COUNTED_FROM)
        except (StateUnavailable, EngineClosed):
            return
        if last is not None:
            self.report, self.slept_at = last, last.ended
            self.error = last.errors[0] if last.errors else ""
        self._counted_from = datetime.fromisoformat(counted) if counted else None

    async def missed(self, at: tuple[int, int]) -> bool:
        """Returns True if a run was due at this local time since the last one. At a first start
        none was: runs are counted from then on.

        Raises StateUnavailable.
        """
        if self._counted_from is None:
            await self._count_from(self._clock())
            return False
        counted = self._counted_from
        if self.slept_at is not None:
            # An autumn night has its hour twice, and a clock may have been set back.
            counted = max(counted, self.slept_at + _SAME_NIGHT)
        return was_missed(self._clock(), at, counted)

    async def is_unfinished(self) -> bool:
        """Returns True if a run was begun and has not ended. Raises StateUnavailable."""
        return await asyncio.to_thread(self._sleep_store.is_unfinished)

    async def run_once(self, reason: str, *, patient: bool = True) -> SleepReport:
        """Do a whole run. ``postponed`` of the report says why none was made.

        Args:
            reason: Who asks; see ``SleepReport``.
            patient: Postpone the run while the index is built; else the run merges nothing.

        A caller that is cancelled waits for the current step.
        """
        postponed = self._postponed(patient=patient)
        if postponed:
            return replace(SleepReport(reason=reason), postponed=postponed)
        self._awake.clear()
        self._running = task = asyncio.create_task(self._run(reason), name="scoped-memory-sleep")
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            raise
        finally:
            self._running = None
            self._awake.set()

    async def over(self) -> None:
        """Wait until no run goes on."""
        await self._awake.wait()

    def _postponed(self, *, patient: bool) -> Postponed:
        if self._closed:
            return "unready"
        if self.sleeping:
            return "sleeping"
        busy = self._busy()
        return "" if busy == "building" and not patient else busy

    async def close(self) -> None:
        """Stop a run after its current step. Idempotent."""
        self._closed = True
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def _run(self, reason: str) -> SleepReport:
        now = self._clock()
        self.report = SleepReport(run_id=make_id("s", now), reason=reason, begun=now)
        try:
            begun = await self._step(SleepStep.BEGIN, self._begin)
            # First, and of the files alone: whatever else fails, or is cut off by a close.
            await self._step(SleepStep.BACKUP, self._backup.run)
            if self._learns():
                if not begun.errors:
                    await self._step(SleepStep.SCOPES, self._tidy_all)
                await self._step(SleepStep.PURGE, self._remnants.run)
                await self._step(SleepStep.SOUL, self._evolve)
            self.report = replace(self.report, ended=self._clock())
            ended = begun if begun.errors else await self._step(SleepStep.END, self._end)
        except Exception as error:  # noqa: BLE001  (the caller, and the next night, go on)
            logger.error("night_failed", error=repr(error))
            self._failed(str(error))
            return SleepReport(reason=reason, errors=(str(error),), postponed="unavailable")
        report = self.report
        if ended.errors:  # it counts as no night: what could not be done is done in the next one
            report = replace(report, postponed="unavailable")
        if report.errors:
            self._failed(report.errors[0])
        else:
            self.error = ""
            self._notices.clear("sleep_failed")
        logger.info(
            "night_done",
            weaker=report.faded,
            stronger=report.raised,
            archived=report.archived,
            merged=report.merged,
            journals=report.journals,
            asked=report.asked,
            backup=report.backup or "-",
        )
        return report

    async def _begin(self) -> SleepReport:
        last = await asyncio.to_thread(self._sleep_store.last)
        self._since = None if last is None or last.begun is None else last.begun.date()
        await asyncio.to_thread(self._sleep_store.begin, self.report)
        return SleepReport()

    async def _end(self) -> SleepReport:
        report = self.report
        await asyncio.to_thread(self._sleep_store.end, report)
        self.slept_at = report.ended
        await self._count_from(self._clock())
        return SleepReport()

    async def _tidy_all(self) -> SleepReport:
        for scope in await asyncio.to_thread(self._vault.scopes):
            if scope.name != QUARANTINE_NAME:
                await self._tidy(scope)
        return SleepReport()

    async def _tidy(self, scope: Scope) -> None:
        """Do the steps of one scope, of which a quarter may leave."""
        room = self._fading.room(scope)
        done = await self._step(SleepStep.FADE, partial(self._fading.run, scope, room), scope)
        steps: dict[SleepStep, Step] = {
            SleepStep.MERGE: partial(self._merging.run, scope, room - done.archived),
            SleepStep.JOURNAL: partial(self._journals.run, scope, self._since),
            SleepStep.OVERVIEW: partial(self._overviews.run, scope),
            SleepStep.QUESTIONS: partial(self._questions.run, scope),
        }
        for step, work in steps.items():
            await self._step(step, work, scope)

    async def _step(self, step: SleepStep, work: Step, scope: Scope | None = None) -> SleepReport:
        """Do a step and add what it did to the report. A step that fails is noted there, is tried
        again the next night and stops no other one. Raises EngineClosed."""
        where = f"{step}:{scope.name}" if scope else str(step)
        try:
            done = await work()
        except EngineClosed:
            raise
        except (VaultWriteFailed, TransferFailed, StateUnavailable) as error:
            done = SleepReport(errors=(f"{where}: {error}"[:_ERROR_CHARS],))
        except Exception as error:  # noqa: BLE001  (the other steps, and the next night, go on)
            logger.error("night_step_failed", step=where, error=repr(error))
            done = SleepReport(errors=(f"{where}: {error!r}"[:_ERROR_CHARS],))
        self.report = self.report.plus(done)
        return done

    async def _evolve(self) -> SleepReport:
        await self._souls()
        return SleepReport()

    async def _count_from(self, at: datetime) -> None:
        self._counted_from = at  # a night comes, and makes its backup, where this cannot be written
        await asyncio.to_thread(self._loop_book.put_fact, _COUNTED_FROM, at.isoformat())

    def _failed(self, detail: str) -> None:
        self.error = detail
        self._notices.post(Notice("sleep_failed", params={"detail": detail}))
