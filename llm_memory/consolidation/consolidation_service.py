"""The night's work: memories fade, near-duplicates merge, days get their journals, pages, questions
and a backup are written. In small steps, each of which may be the last before a kill."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Final

from ..errors import EngineClosed, StateUnavailable, TransferFailed, VaultWriteFailed
from ..log import logger
from ..models.notices import Notice, NoticeCode
from ..models.scope import QUARANTINE_NAME, Scope
from ..runtime.identifiers import Clock, make_id
from ..runtime.notice_board import NoticeBoard
from ..storage.loop_facts import SqliteLoopFacts
from ..vault.markdown_vault import MarkdownVault
from ..vault.pages import PagesOnDisk
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

_EVERY_SCOPE: Final = ""
_COUNTED_FROM: Final = "nights_counted_from"
"""When the last run ended; at a first start, when that was."""
_ERRORS: Final = 20
_ERROR_CHARS: Final = 200

type Step = Callable[[SleepReport, Scope], Awaitable[SleepReport]]


@dataclass(frozen=True, slots=True)
class ConsolidationParts:
    """What the night is made of."""

    fading: DecayStep
    merging: MergeStep
    journals: DayJournals
    overviews: Overviews
    questions: QuestionStep
    souls: Callable[[], Awaitable[None]]
    """Evaluates what is proposed for the manner of personas."""
    backup: NightlyBackup
    purge_remnants: PurgeRemnants


class ConsolidationService:
    """One run at a time. Each step is idempotent, so after a kill or a close a run begins anew."""

    def __init__(
        self,
        store: SqliteSleepStore,
        book: SqliteLoopFacts,
        vault: MarkdownVault,
        pages: PagesOnDisk,
        notices: NoticeBoard,
        clock: Clock,
        parts: ConsolidationParts,
        *,
        busy: Callable[[], Postponed],
        learns: Callable[[], bool],
    ) -> None:
        """``busy`` says why no run may begin now; where ``learns`` is False there are backups and
        nothing else."""
        self._store = store
        self._book = book
        self._vault = vault
        self._pages = pages
        self._notices = notices
        self._clock = clock
        self._parts = parts
        self._busy = busy
        self._learns = learns
        self._running: asyncio.Task[SleepReport] | None = None
        self._awake = asyncio.Event()
        self._awake.set()
        self._pages_open = False
        self._closed = False
        self.report = SleepReport()
        """Of the run that goes on, else of the last one."""
        self.error = ""
        """What failed last, empty once a whole run has gone well."""
        self.slept_at: datetime | None = None
        """When the last one ended."""
        self._counted_from: datetime | None = None
        self.next_at: datetime | None = None
        """When the next is due, as the scheduler says."""

    @property
    def sleeping(self) -> bool:
        """One is going on."""
        return self._running is not None

    async def load(self) -> None:
        """What is known of the last run. A store that cannot be read tells nothing."""
        try:
            last = await asyncio.to_thread(self._store.last)
            counted = await asyncio.to_thread(self._book.fact, _COUNTED_FROM)
        except (StateUnavailable, EngineClosed):
            return
        if last is not None:
            self.report, self.slept_at = last, last.ended
            self.error = last.errors[0] if last.errors else ""
        self._counted_from = datetime.fromisoformat(counted) if counted else None

    async def missed(self, at: tuple[int, int]) -> bool:
        """True if a run was due at this local time since the last one. A first start is none: it
        is noted, and counted from.

        Raises StateUnavailable.
        """
        if self._counted_from is None:
            await self._count_from(self._clock())
            return False
        return self.is_due(at)

    def is_due(self, at: tuple[int, int], *, early: timedelta = timedelta()) -> bool:
        """True if a run is due, and none was made since. An autumn night has its hour twice, and
        a clock may have been set back."""
        counted = self._counted_from
        return counted is None or was_missed(self._clock() + early, at, counted)

    async def is_unfinished(self) -> bool:
        """True if a run was begun and not brought to its end. Raises StateUnavailable."""
        return await asyncio.to_thread(self._store.is_unfinished)

    async def run_once(self, reason: str, *, patient: bool = True) -> SleepReport:
        """A whole run; ``postponed`` says why none was made.

        Args:
            reason: Who asks; see ``SleepReport``.
            patient: Wait for another time while the index is built; else nothing is merged.

        A caller that is cancelled meanwhile waits for the step under way.
        """
        postponed = self._postponed(patient=patient)
        if postponed is not Postponed.NO:
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
        """None goes on."""
        await self._awake.wait()

    def _postponed(self, *, patient: bool) -> Postponed:
        if self._closed:
            return Postponed.UNREADY
        if self.sleeping:
            return Postponed.SLEEPING
        busy = self._busy()
        return Postponed.NO if busy is Postponed.BUILDING and not patient else busy

    async def close(self) -> None:
        """Stop what goes on after its present step. Idempotent."""
        self._closed = True
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def _run(self, reason: str) -> SleepReport:
        try:
            now = self._clock()
            report = SleepReport(run_id=make_id("s", now), reason=reason, begun=now)
            await asyncio.to_thread(self._store.begin, report)
            since = await self._last_day()
            for scope in await self._scopes():
                for step, work in self._steps(since, self._parts.fading.room(scope)):
                    report = self.report = await self._step(report, step, scope, work)
            report = replace(await self._back_up(report), ended=self._clock())
            await asyncio.to_thread(self._store.end, report)
            self.slept_at = report.ended
            await self._count_from(self._clock())
        except Exception as error:  # noqa: BLE001  (the caller, and the next night, go on)
            logger.error("night_failed", error=repr(error))
            self._failed(str(error))
            unavailable = Postponed.UNAVAILABLE
            return SleepReport(reason=reason, errors=(str(error),), postponed=unavailable)
        self.report = report
        if report.errors:
            self._failed(report.errors[0])
        else:
            self.error = ""
            self._notices.clear(NoticeCode.SLEEP_FAILED)
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

    async def _last_day(self) -> date | None:
        last = await asyncio.to_thread(self._store.last)
        return None if last is None or last.begun is None else last.begun.date()

    async def _scopes(self) -> list[Scope]:
        if not self._learns():
            return []
        scopes = await asyncio.to_thread(self._vault.scopes)
        return [scope for scope in scopes if scope.name != QUARANTINE_NAME]

    def _steps(self, since: date | None, room: int) -> list[tuple[SleepStep, Step]]:
        """Returns the steps in a scope of which ``room`` memories may leave."""

        async def fade(report: SleepReport, scope: Scope) -> SleepReport:
            nonlocal room
            done = await self._parts.fading.run(scope, room)
            room -= done.archived
            return replace(
                report,
                faded=report.faded + done.weaker,
                raised=report.raised + done.stronger,
                archived=report.archived + done.archived,
                waiting=report.waiting + done.waiting,
            )

        async def merge(report: SleepReport, scope: Scope) -> SleepReport:
            merged, whole = await self._parts.merging.run(scope, room)
            return replace(
                report,
                merged=report.merged + merged,
                unmerged=report.unmerged + int(not whole),
            )

        async def journal(report: SleepReport, scope: Scope) -> SleepReport:
            done = await self._parts.journals.run(scope, since)
            return replace(
                report,
                journals=report.journals + done.written,
                postponed_days=report.postponed_days + done.waiting,
            )

        async def questions(report: SleepReport, scope: Scope) -> SleepReport:
            asked = await self._parts.questions.run(scope)
            return replace(report, asked=report.asked + asked)

        return [
            (SleepStep.FADE, fade),
            (SleepStep.MERGE, merge),
            (SleepStep.JOURNAL, journal),
            (SleepStep.OVERVIEW, self._overview),
            (SleepStep.QUESTIONS, questions),
        ]

    async def _step(
        self, report: SleepReport, step: SleepStep, scope: Scope, work: Step
    ) -> SleepReport:
        """One step in one scope. What fails is told, tried again the next night, and stops nothing
        else but for the store, which all of them need."""
        try:
            report = await work(report, scope)
        except (StateUnavailable, EngineClosed):
            raise
        except VaultWriteFailed as error:
            report = _with_error(report, step, scope.name, str(error))
        except Exception as error:  # noqa: BLE001  (one scope's trouble must not cost the others)
            logger.error("night_step_failed", step=step, scope=scope.name, error=repr(error))
            report = _with_error(report, step, scope.name, repr(error))
        return report

    async def _overview(self, report: SleepReport, scope: Scope) -> SleepReport:
        if not self._pages_open:
            await asyncio.to_thread(self._pages.open)
            self._pages_open = True
        pages = await self._parts.overviews.run(scope)
        return replace(report, pages=report.pages + pages.written, left=report.left + pages.left)

    async def _back_up(self, report: SleepReport) -> SleepReport:
        if self._learns():
            report = await self._purge(report)
            report = await self._evolve(report)
        try:
            done = await self._parts.backup.run()
            report = replace(report, backup=done.name, removed=done.removed)
        except TransferFailed as error:
            report = _with_error(report, SleepStep.BACKUP, _EVERY_SCOPE, str(error))
        except Exception as error:  # noqa: BLE001  (the night ends all the same)
            logger.error("backup_failed", error=repr(error))
            report = _with_error(report, SleepStep.BACKUP, _EVERY_SCOPE, repr(error))
        return report

    async def _purge(self, report: SleepReport) -> SleepReport:
        """Whatever becomes of it, the backup is made."""
        try:
            return replace(report, purged=await self._parts.purge_remnants.run())
        except Exception as error:  # noqa: BLE001  (tried again the next night)
            logger.error("purge_failed", error=repr(error))
            return _with_error(report, SleepStep.PURGE, _EVERY_SCOPE, repr(error))

    async def _evolve(self, report: SleepReport) -> SleepReport:
        try:
            await self._parts.souls()
        except Exception as error:  # noqa: BLE001  (tried again the next night)
            logger.error("souls_not_evaluated", error=repr(error))
            return _with_error(report, SleepStep.SOUL, _EVERY_SCOPE, repr(error))
        return report

    async def _count_from(self, at: datetime) -> None:
        await asyncio.to_thread(self._book.put_fact, _COUNTED_FROM, at.isoformat())
        self._counted_from = at

    def _failed(self, detail: str) -> None:
        self.error = detail
        self._notices.post(Notice(NoticeCode.SLEEP_FAILED, params={"detail": detail}))


def _with_error(report: SleepReport, step: SleepStep, scope: str, said: str) -> SleepReport:
    if len(report.errors) >= _ERRORS:
        return report
    where = f"{step}:{scope}" if scope else str(step)
    return replace(report, errors=(*report.errors, f"{where}: {said}"[:_ERROR_CHARS]))
