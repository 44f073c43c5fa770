"""Memories of other plugins come into ours: read from copies, judged, and walked into the vault.

What was read is staged first, once and for all: the walk over it begins and goes on whenever it was
interrupted, and does not look at the other plugin again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from ..catalogue.catalogue import Catalogue
from ..index.word_index import WordIndex
from ..log import logger
from ..models.migration import Job, Outcome, Tally
from ..models.scope import QUARANTINE_NAME
from ..models.settings import EngineSettings
from ..models.status import Notice
from ..runtime.identifiers import Clock, make_id
from ..runtime.notice_board import NoticeBoard
from ..scopes.scope_book import ScopeBook
from .adoption_staging import AdoptionStaging
from .batch_intake import BatchIntake
from .legacy_port import LegacyStores, StagedBatch
from .legacy_reading import KIND, LegacyReading, StoreReading
from .migration_store import SqliteMigrationStore
from .record_walker import RecordWalker, counted
from .source import Source


class Adoption(Source):
    """Touched from the event loop only. There is nothing to reverse outside our vault: other
    plugins' stores are never touched."""

    kind = KIND

    def __init__(
        self,
        others: LegacyStores,
        staging: AdoptionStaging,
        migration_store: SqliteMigrationStore,
        walker: RecordWalker,
        batch_intake: BatchIntake,
        catalogue: Catalogue,
        lexical: WordIndex,
        book: ScopeBook,
        notices: NoticeBoard,
        clock: Clock,
        settings: EngineSettings,
    ) -> None:
        """A dry run may be had at any time, whether or not the owner wants more."""
        super().__init__(migration_store, walker, lexical, clock)
        self._reader = LegacyReading(others, staging, migration_store, batch_intake, book, clock)
        self._staging = staging
        self._intake = batch_intake
        self._catalogue = catalogue
        self._notices = notices
        self._enabled = settings.adopt_legacy

    async def _run(self) -> None:
        """What was begun goes on; then what is new in the other plugins' stores."""
        if not self._enabled:
            return
        self.phase = "running"
        await self._finish_begun()
        await self._take_in_new()
        await self._until_in_words()
        jobs = await asyncio.to_thread(self._store.jobs)
        states = {job.state for job in jobs if job.kind == KIND}
        self._report_quarantine()
        if self.detail:  # a store that could not be read is tried again at the next start
            self.phase = "failed"
        elif "done" in states:
            self.phase = "done"
        else:
            self.phase = "reversed" if "reversed" in states else "idle"

    async def _finish_begun(self) -> None:
        for staged in await asyncio.to_thread(self._staging.batches):
            job = await self._kept_job(staged)
            if job.state == "running":
                await self._walk(staged, job)

    async def _take_in_new(self) -> None:
        fresh = await self._reader.fresh()
        if not fresh:
            return
        logger.info("stores_found", stores=tuple(store.name for store in fresh))
        async with self._reader.scratch(keep=True) as folder:
            reading = await self._reader.read(fresh, folder)
            self._report_unread(reading)
            staged = await self._stage(reading) if reading.plan.planned else None
        whole = [one.store for one in reading.read if not one.fault]
        await asyncio.to_thread(self._staging.note_seen, whole)
        if staged is not None:
            await self._walk(staged, await self._kept_job(staged))

    async def dry_run(self) -> Tally:
        """What a run would do to what is new, in numbers. Writes nothing of ours."""
        async with self._reader.scratch(keep=False) as folder:
            reading = await self._reader.read(await self._reader.fresh(), folder)
        for store, _, detail in reading.unread:
            logger.warning("store_read_partly", store=store.name, detail=detail)
        return await asyncio.to_thread(
            lambda: counted([one.outcome() for one in reading.plan.planned])
        )

    # Staging, walking

    async def _stage(self, reading: StoreReading) -> StagedBatch:
        batch = make_id("b", self._clock())
        names = tuple(one.store.name for one in reading.read)
        await asyncio.to_thread(self._staging.stage, batch, reading.plan, names, reading.broken())
        count = len(reading.plan.planned)
        logger.info("batch_begun", count=count, batch=batch)
        return StagedBatch(batch, names, count)

    async def _walk(self, staged: StagedBatch, job: Job) -> None:
        self._job = self.at = job
        tally = await self._walker.run(self)
        # The words go before it is done: after a crash between, they would stay for good.
        await asyncio.to_thread(self._staging.finish, staged.batch)
        await asyncio.to_thread(self._store.put_job, replace(job, state="done"))
        self._report(staged, tally)

    async def list(self) -> Sequence[str]:
        """All that was planned."""
        await self._intake.look_at_archives()
        return await asyncio.to_thread(self._staging.ids, self._batch)

    async def step(self, ids: Sequence[str]) -> Sequence[Outcome]:
        """Into the vault and the index of words."""
        rows = await asyncio.to_thread(self._staging.rows, self._batch, ids)
        planned = [one for one, _ in rows]
        # What has no memory was in the vault before, and the batch was taken back.
        memories = {one.key: memory for one, memory in rows if memory is not None}
        await self._intake.bring(self._batch, planned, memories)
        return [one.outcome() for one in planned]

    async def _kept_job(self, staged: StagedBatch) -> Job:
        job = await self._find_job(staged.batch, "、".join(staged.stores), staged.batch)
        await asyncio.to_thread(self._store.put_job, job)
        return job

    # For the owner

    def _report(self, staged: StagedBatch, tally: Tally) -> None:
        logger.info(
            "batch_done",
            batch=staged.batch,
            count=tally.scanned,
            adopted=tally.adopted,
            merged=tally.merged,
            quarantined=tally.quarantined,
            broken=tally.broken,
        )
        if tally.broken:
            params = {"count": str(tally.broken), "file": self._staging.place(staged.batch)}
            self._notices.post(Notice("adoption_broken", staged.batch, params))

    def _report_unread(self, reading: StoreReading) -> None:
        self._notices.clear("adoption_failed")
        for store, code, detail in reading.unread:
            self.detail = f"{store.name}: {detail}"[:200]
            params = {"store": store.name, "detail": f"{code}: {detail}"}
            self._notices.post(Notice("adoption_failed", store.name, params))

    def _report_quarantine(self) -> None:
        """As long as something lies there."""
        count = self._catalogue.counts().get(QUARANTINE_NAME, 0)
        if count:
            params = {"count": str(count)}
            self._notices.post(Notice("adoption_quarantined", params=params))
        else:
            self._notices.clear("adoption_quarantined")

    async def close(self) -> None:
        """``run`` must have ended. Idempotent."""
        self._reader.close()
        await asyncio.to_thread(self._staging.close)
