"""All that comes from elsewhere, brought one after the other behind the bot; and taken back."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from ..errors import EngineClosed, StateUnavailable
from ..log import logger
from ..models.migration import Job, MigrationState, MigrationStatus, Outcome, Tally
from ..models.settings import EngineSettings
from ..runtime.identifiers import Clock
from .batch_walks import BringBack, TakeBack
from .holdings import Holdings
from .ports import Walk
from .record_walker import RecordWalker
from .source import Source


class Migrations:
    """``open``, then ``run`` as the one task; the rest may be called beside it at any time: what
    runs is interrupted first."""

    def __init__(
        self,
        walker: RecordWalker,
        sources: Sequence[Source],
        holdings: Holdings,
        clock: Clock,
        settings: EngineSettings,
    ) -> None:
        self._store = holdings.store
        self.walker = walker
        self._sources = tuple(sources)
        self._holdings = holdings
        self._clock = clock
        self._mode = settings.migration_mode
        self._turn = asyncio.Lock()
        self._again = asyncio.Event()
        self._walking: asyncio.Task[None] | None = None
        self._known: dict[str, tuple[Job, Tally]] = {}
        self._bringing = False
        self._undoing = 0
        self._ran = False
        self._detail = ""

    async def open(self) -> None:
        """Read what is known. A store that cannot be used stops nothing but migrations."""
        try:
            if not await asyncio.to_thread(self._store.open):
                logger.warning("migration_records_broken")
            await self._refresh()
        except StateUnavailable as error:
            self._detail = str(error)
            logger.error("migration_off", error=error)

    async def _refresh(self) -> None:
        self._known = await asyncio.to_thread(self._read)

    def _read(self) -> dict[str, tuple[Job, Tally]]:
        return {job.name: (job, self._store.tally(job.name)) for job in self._store.jobs()}

    async def run(self) -> None:
        """Bring everything to its end; then again whenever asked. Until cancelled."""
        while True:
            self._again.clear()
            await self.run_once()
            await self._again.wait()

    async def run_once(self) -> None:
        """Bring everything to its end, or until it is interrupted."""
        async with self._turn:
            walking = asyncio.create_task(self._run_all(), name="scoped-memory-migration")
            self._walking = walking
            try:
                await asyncio.wait([walking])
            finally:
                await self._stop_walking()
            if not walking.cancelled():
                walking.result()  # raises what nobody expected: whoever runs this tells of it

    async def _run_all(self) -> None:
        if self._detail:
            return
        self._bringing = True
        try:
            for source in self._sources:
                await self._run_one(source)
            await self._refresh()
        finally:
            self._bringing, self._ran = False, True

    async def _run_one(self, source: Source) -> None:
        try:
            await source.run()
        except EngineClosed:
            return
        except Exception as error:  # noqa: BLE001  (what one meets must not end the others)
            logger.error("migration_failed", error=repr(error))

    async def _stop_walking(self) -> None:
        walking, self._walking = self._walking, None
        if walking is not None:
            walking.cancel()
            await asyncio.gather(walking, return_exceptions=True)

    @property
    def going(self) -> bool:
        """Records are being brought, or a person has what was brought undone. Not while a source is
        waited for: for how long is unknown."""
        status = self.status()
        brings = status.state == "running" and not status.waiting
        return self._undoing > 0 or brings

    def status(self) -> MigrationStatus:
        """Now, from memory."""
        tally, remaining = Tally(), 0
        for name, (_, stored) in self._known.items():
            progress = self.walker.progress(name)
            tally += stored if progress is None else progress.tally
        for name in self.walker.names():
            progress = self.walker.progress(name)
            if progress is not None:
                remaining += progress.remaining
                tally += Tally() if name in self._known else progress.tally
        phases = [source.phase for source in self._sources]
        if not self._ran and set(phases) <= {"idle"}:  # what the last session left
            phases = [job.state for job, _ in self._known.values()]
        waiting = [source.waiting for source in self._sources if source.waiting]
        details = [self._detail, *(source.detail for source in self._sources)]
        return MigrationStatus(
            state=self._state(phases),
            tally=tally,
            remaining=remaining,
            reversed="reversed" in phases,
            waiting=next(iter((*waiting, *self.walker.waits())), ""),
            detail=next((text for text in details if text), ""),
            batches={job.batch: job.source for job in self._jobs()},
            mode=self._mode,
            mode_on=any(source.mode_on for source in self._sources),
        )

    def _jobs(self) -> list[Job]:
        """Those that were known, and those that were begun since."""
        known = [job for job, _ in self._known.values()]
        return [*known, *(source.at for source in self._sources if source.at is not None)]

    def _state(self, phases: Sequence[MigrationState]) -> MigrationState:
        if self._detail or "failed" in phases:
            return "failed"
        if "running" in phases:
            return "paused" if self.walker.paused else "running"
        if "done" in phases:
            return "running" if self._bringing else "done"
        return "idle"

    async def begin_again(self) -> int:
        """Let go on what was taken back, and look for more: how many jobs begin anew."""
        async with self.interrupted():
            jobs = [job for job, _ in self._known.values() if job.state == "reversed"]
            for job in jobs:
                await self.walker.run_aside(BringBack(job.batch, self._holdings))
                running = replace(job, state="running")
                await asyncio.to_thread(self._store.put_job, running)
            await self._refresh()
        return len(jobs)

    async def reverse(self) -> tuple[int, int]:
        """Give other people's records back what they held before; the memories stay. What was
        reversed does not begin again by itself. Returns how many were restored, and how many were
        left: changed meanwhile, or gone.

        Raises IndexUnavailable, StateUnavailable; the rest is done when it is called again.
        """
        restored = left = 0
        async with self.interrupted():
            for job, _ in list(self._known.values()):
                for source in self._sources:
                    done = await source.reverse(job) or (0, 0)
                    restored, left = restored + done[0], left + done[1]
            await self._refresh()
        return restored, left

    async def take_back(self, batch: str) -> tuple[int, int] | None:
        """Take what a batch brought out of the vault, into the archives, and tell as ``reverse``
        does; None if there is no such batch. It does not begin again by itself.

        Raises StateUnavailable, VaultError.
        """
        async with self.interrupted():
            job = next((job for job, _ in self._known.values() if job.batch == batch), None)
            if job is None:
                return None
            walk = TakeBack(batch, self._holdings, self._clock)
            await self.walker.undo(job, walk)
            await self._refresh()
        return walk.done, walk.left

    async def dry_run(self) -> Tally:
        """What a run would do now, in numbers. Changes nothing. Raises IndexUnavailable."""
        async with self.interrupted():
            found = [await source.dry_run() for source in self._sources]
        total = Tally()
        for one in found:
            total += one
        return total

    async def dead_letters(self, limit: int) -> list[Outcome]:
        """What was left behind, with the reasons: for the owner of the files."""
        found: list[Outcome] = []
        for name in self._known:
            found += await asyncio.to_thread(self._store.dead_letters, name, limit - len(found))
        return found

    async def run_aside(self, walk: Walk) -> None:
        """A walk over memories of ours that a person asked for. Nothing is brought from elsewhere
        meanwhile, and no night begins."""
        async with self.interrupted():
            await self.walker.run_aside(walk)

    @contextlib.asynccontextmanager
    async def interrupted(self) -> AsyncIterator[None]:
        """Nothing is brought meanwhile; the batch under way has come to its end. What was
        interrupted goes on, however this ends."""
        self._undoing += 1
        try:
            await self._stop_walking()
            async with self._turn:
                await self._refresh()
                yield
        finally:
            self._undoing -= 1
            self._again.set()

    async def close(self) -> None:
        """``run`` has ended. Idempotent."""
        await self._stop_walking()
        for source in self._sources:
            await source.close()
        await asyncio.to_thread(self._store.close)
