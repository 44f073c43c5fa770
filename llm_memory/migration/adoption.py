"""Memories of other plugins come into ours: read from copies, judged, and walked into the vault.

What was read is staged first, once and for all: the walk over it begins and goes on whenever it was
interrupted, and does not look at the other plugin again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from typing import Final

from ..catalogue.catalogue import Catalogue
from ..errors import EngineClosed
from ..index.lexical_service import LexicalService
from ..log import logger
from ..models.migration import Fate, Job, JobState, ReverseReport, Tally
from ..models.notices import Notice, NoticeCode
from ..models.scope import QUARANTINE_NAME
from ..remember.intake import Intake
from ..runtime.identifiers import Clock, make_id
from ..runtime.notice_board import NoticeBoard
from ..scopes.scope_book import ScopeBook
from ..vault.markdown_vault import MarkdownVault
from .adoption_walk import AdoptionWalk
from .legacy_port import LegacyStores, ReadStore, StagedBatch, Staging
from .legacy_reading import KIND, LegacyReading, Reading
from .legacy_vectors import LegacyVectors
from .ports import MigrationStore
from .record_walker import RecordWalker
from .scope_migration import Phase

_WORDS_SECONDS: Final = 0.1


class Adoption:
    """Touched from the event loop only."""

    def __init__(
        self,
        stores: LegacyStores,
        staging: Staging,
        store: MigrationStore,
        walker: RecordWalker,
        vault: MarkdownVault,
        catalogue: Catalogue,
        intake: Intake,
        vectors: LegacyVectors,
        words: LexicalService,
        book: ScopeBook,
        notices: NoticeBoard,
        clock: Clock,
        *,
        enabled: bool,
    ) -> None:
        """``enabled``: the owner wants it. A dry run may be had at any time."""
        self._reader = LegacyReading(stores, staging, store, vault, catalogue, book, clock)
        self._staging = staging
        self._store = store
        self._walker = walker
        self._vault = vault
        self._catalogue = catalogue
        self._intake = intake
        self._vectors = vectors
        self._words = words
        self._notices = notices
        self._clock = clock
        self._enabled = enabled
        self.phase = Phase.IDLE
        self.waiting = ""
        self.detail = ""
        self.at: Job | None = None
        self.mode_on = False
        """What other plugins left on this machine is recalled once it stands in the vault."""

    async def run(self) -> None:
        """What was begun goes on; then what is new in the other plugins' stores. Once.

        Raises whatever it cannot go on after; then the phase is FAILED.
        """
        if not self._enabled:
            return
        self.phase, self.detail = Phase.RUNNING, ""
        try:
            await self._finish_begun()
            await self._take_in_new()
            await self._until_in_words()
            states = {job.state for job in await self._jobs()}
        except (asyncio.CancelledError, EngineClosed):
            raise
        except Exception as error:
            self.phase, self.detail = Phase.FAILED, f"{type(error).__name__}: {error}"[:200]
            raise
        self._report_quarantine()
        if self.detail:  # a store that could not be read is tried again at the next start
            self.phase = Phase.FAILED
        elif JobState.DONE in states:
            self.phase = Phase.DONE
        else:
            self.phase = Phase.REVERSED if JobState.REVERSED in states else Phase.IDLE

    async def reverse(self, job: Job) -> ReverseReport | None:
        """There is nothing to undo outside our vault: other plugins' stores are never touched."""
        return None

    async def _jobs(self) -> list[Job]:
        jobs = await asyncio.to_thread(self._store.jobs)
        return [job for job in jobs if job.kind == KIND]

    async def _finish_begun(self) -> None:
        for staged in await asyncio.to_thread(self._staging.batches):
            job = await self._job(staged)
            if job.state is JobState.RUNNING:
                await self._walk(staged, job)

    async def _take_in_new(self) -> None:
        fresh = await self._reader.fresh()
        if not fresh:
            return
        logger.info("发现别的插件的记忆：{}", "、".join(store.name for store in fresh))
        async with self._reader.scratch(keep=True) as folder:
            reading = await self._reader.read(fresh, folder)
            self._report_unread(reading)
            staged = await self._stage(reading) if reading.plan.planned else None
        whole = [one.store for one in reading.read if not one.fault]
        await asyncio.to_thread(self._staging.note_seen, whole)
        if staged is not None:
            await self._walk(staged, await self._job(staged))

    async def dry_run(self) -> Tally:
        """What a run would do to what is new, in numbers. Writes nothing of ours."""
        async with self._reader.scratch(keep=False) as folder:
            reading = await self._reader.read(await self._reader.fresh(), folder)
        for store, _, detail in reading.unread:
            logger.warning("试算时没有读全 {}：{}", store.name, detail)
        fates = Counter(planned.fate for planned in reading.plan.planned)
        return Tally(
            scanned=len(reading.plan.planned),
            adopted=fates[Fate.ADOPTED],
            merged=fates[Fate.MERGED],
            quarantined=fates[Fate.QUARANTINED],
            broken=fates[Fate.BROKEN],
        )

    # Staging, walking

    async def _stage(self, reading: Reading) -> StagedBatch:
        batch = make_id("b", self._clock())
        by_name = {one.store.name: one for one in reading.read}

        def source_of(record_id: str) -> tuple[ReadStore, str]:
            record = reading.records[record_id]
            return by_name[record.source], record.record_id

        await asyncio.to_thread(
            self._staging.stage,
            batch,
            reading.plan,
            reading.read,
            source_of=source_of,
            broken=reading.broken(),
        )
        count = len(reading.plan.planned)
        logger.info("读到 {} 条，开始收进记忆（批次 {}）", count, batch)
        return StagedBatch(batch, tuple(by_name), count)

    async def _walk(self, staged: StagedBatch, job: Job) -> None:
        self.at = job
        walk = AdoptionWalk(
            job, staged.batch, self._staging, self._store, self._catalogue, self._intake,
            self._vectors, self._vault,
        )  # fmt: skip
        tally = await self._walker.run(walk)
        # The words go before it is done: after a crash between, they would stay for good.
        await asyncio.to_thread(self._staging.finish, staged.batch)
        await asyncio.to_thread(self._store.put_job, replace(job, state=JobState.DONE))
        await self._vectors.discard(staged.batch)
        self._report(staged, tally)

    async def _job(self, staged: StagedBatch) -> Job:
        name = f"{KIND}-{staged.batch}"
        known = next((job for job in await self._jobs() if job.name == name), None)
        if known is not None:
            return known
        source = "、".join(staged.stores)
        job = Job(name, KIND, source, staged.batch, JobState.RUNNING, self._clock())
        await asyncio.to_thread(self._store.put_job, job)
        return job

    async def _until_in_words(self) -> None:
        """Done is what is found by words."""
        while self._words.catches_up:  # noqa: ASYNC110
            await asyncio.sleep(_WORDS_SECONDS)

    # For the owner

    def _report(self, staged: StagedBatch, tally: Tally) -> None:
        logger.info(
            "批次 {} 收完：共 {} 条，收下 {}，合并 {}，隔离 {}，坏的 {}",
            staged.batch,
            tally.scanned,
            tally.adopted,
            tally.merged,
            tally.quarantined,
            tally.broken,
        )
        if tally.broken:
            params = {"count": str(tally.broken), "file": self._staging.place(staged.batch)}
            self._notices.post(Notice(NoticeCode.ADOPTION_BROKEN, staged.batch, params))

    def _report_unread(self, reading: Reading) -> None:
        self._notices.clear(NoticeCode.ADOPTION_FAILED)
        for store, code, detail in reading.unread:
            self.detail = f"{store.name}: {detail}"[:200]
            params = {"store": store.name, "detail": f"{code}: {detail}"}
            self._notices.post(Notice(NoticeCode.ADOPTION_FAILED, store.name, params))

    def _report_quarantine(self) -> None:
        """As long as something lies there."""
        count = self._catalogue.counts().get(QUARANTINE_NAME, 0)
        if count:
            params = {"count": str(count)}
            self._notices.post(Notice(NoticeCode.ADOPTION_QUARANTINED, params=params))
        else:
            self._notices.clear(NoticeCode.ADOPTION_QUARANTINED)

    async def close(self) -> None:
        """``run`` must have ended. Idempotent."""
        self._reader.close()
        await asyncio.to_thread(self._staging.close)
