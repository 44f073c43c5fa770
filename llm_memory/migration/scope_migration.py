"""A pre-scope plugin's records on the configured server: into the vault, and their scopes filled
in.

Each batch enters the vault before it is patched, and how a record was is noted before it is
changed. So a crash anywhere leaves either a record as it was, whose memory is known again by its
id, or one that a note tells of; the next walk counts both as done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from ..errors import IndexUnavailable
from ..index.pending_records import PendingRecords
from ..index.word_index import WordIndex
from ..log import logger
from ..models.migration import Fate, Job, Outcome, Tally
from ..models.passages import Key
from ..models.scope import PUBLIC_NAME, SCOPE_FIELD
from ..models.settings import EngineSettings, MigrationMode
from ..runtime.identifiers import Clock
from .batch_intake import BatchIntake
from .legacy_listing import LegacyListing, OwnThreads, as_json, lacks_scope, mark
from .migration_store import SqliteMigrationStore
from .ports import ForeignCollection, ForeignRecord, Value
from .record_walker import RecordWalker
from .reversal import ScopeReversal
from .rules.legacy_plan import Planned
from .source import Source

KIND: Final = "scope"
_GONE: Final = "gone"
"""Why it waits: the owner who deleted the collection may bring it back."""
_RESTORING: Final = "restoring"
"""In a job's detail while its reverse is unfinished."""
_ROUNDS: Final = 3
"""How often a record that is written meanwhile is read again."""
_TURN_SECONDS: Final = 0.02
"""Between two looks whether the index of words has had its turn."""


class ScopeMigration(Source):
    """One walk over the collection, whose own id names the job: it keeps that wherever it is
    served."""

    kind = KIND

    def __init__(
        self,
        legacy: ForeignCollection,
        migration_store: SqliteMigrationStore,
        walker: RecordWalker,
        batch_intake: BatchIntake,
        pending: PendingRecords,
        lexical: WordIndex,
        clock: Clock,
        settings: EngineSettings,
    ) -> None:
        super().__init__(migration_store, walker, lexical, clock)
        self._collection = legacy
        self._intake = batch_intake
        self._pending = pending
        self._threads = OwnThreads()
        self._call = self._threads.call
        self._listing = LegacyListing(
            legacy,
            batch_intake,
            pending,
            self._threads,
            clock,
            self._rest,
            settings.migration_mode,
        )
        self._mode = settings.migration_mode
        self._first: frozenset[str] = frozenset()

    async def find(self) -> Job | None:
        """Connect, and look up the job. None where there is no such collection.

        Raises IndexUnavailable, StateUnavailable.
        """
        found = await self._call(self._collection.open)
        if not found:
            self._job = None
            return None
        return await self._find_job(found, self._collection.label)

    async def run(self) -> None:
        """To its end, once: the source is waited for as long as it does not answer."""
        try:
            await super().run()
        finally:
            if self.phase != "running":
                self._listing.forget()
        there = self._job is not None and self.phase in ("done", "idle")
        if self._mode is MigrationMode.ON and there:
            self._listing.go_on_looking(await self._call(self._store.ids_with_outcome, self.name))

    @property
    def mode_on(self) -> bool:
        """Records that state no scope are recalled now, as public ones."""
        return self._listing.mode_on

    async def _run(self) -> None:
        self._first = frozenset()
        job = await self._found()
        if job is None:
            self.phase = "idle"
            return
        if job.state == "reversed":
            if job.detail == _RESTORING:
                await self.reverse(job)
            self.phase = "reversed"
            return
        self.phase = "running"
        for _ in range(_ROUNDS):
            before = await self._call(self._store.tally, job.name)
            after = await self._walker.run(self)
            if not self._listing.listed or before == after:
                break
            # What was changed while we looked at it has no outcome yet.
        await self._until_in_words()
        if (await self._call(self._store.tally, job.name)).scanned:
            await self._call(self._store.put_job, replace(job, state="done"))
            self.phase = "done"
        else:
            self.phase = "idle"

    async def _found(self) -> Job | None:
        failures = 0
        while True:
            try:
                job = await self.find()
            except IndexUnavailable as error:
                self.waiting = error.code
                if await self._call(self._is_begun):
                    self.phase = "running"
                await asyncio.sleep(self._walker.retry(failures))
                failures += 1
            else:
                self.waiting = ""
                return job

    def _is_begun(self) -> bool:
        """Whatever is there, some of it was brought, and not all. Blocks."""
        jobs = self._store.jobs()
        return any(job.kind == KIND and job.state == "running" for job in jobs)

    async def _rest(self, began: float) -> None:
        """Between two slices of a listing. What the index of words does not hold yet is looked
        through by each recall, so it has its turn first; then the bot."""
        await self._until_in_words(_TURN_SECONDS)
        await self._walker.rest(began)

    # The walk

    async def list(self) -> Sequence[str]:
        """Read the collection, have its records recalled already, and plan what becomes of each."""
        if await self.find() is None:
            raise IndexUnavailable("the earlier collection is gone", code=_GONE)
        settled = await self._call(self._store.ids_with_outcome, self.name)
        self._first = await self._listing.make(settled, self._first)
        listed = self._listing.listed
        if listed and self._job is not None:
            self.at = replace(self._job, state="running")
            await self._call(self._store.put_job, self.at)
            logger.info("walk_begun", walk=self._collection.label, count=len(listed))
        return list(listed)

    async def step(self, ids: Sequence[str]) -> Sequence[Outcome]:
        """Read them again; into the vault; then fill in the scopes of those that still lack one."""
        records = {one.record_id: one for one in await self._call(self._collection.read, ids)}
        same = [
            one
            for one in (self._listing.listed[name].planned for name in ids if name in records)
            if mark(records[one.record_id]) == self._listing.listed[one.record_id].mark
        ]
        kept = [one for one in same if one.fate != "broken"]
        fates = await self._bring(kept)
        patched = await self._patch([records[one.record_id] for one in kept])
        outcomes = [
            one.outcome(fates.get(one.record_id), patched=patched.get(one.record_id, False))
            for one in same
            if one.fate == "broken" or one.record_id in patched
        ]
        self._drop_pending(ids, {one.record_id for one in outcomes})
        return outcomes

    def _drop_pending(self, ids: Sequence[str], done: set[str]) -> None:
        """Drop what stands in the vault from the pending records; and what was changed in the
        collection meanwhile, for it may belong to another scope now."""
        for name in ids:
            planned = self._listing.listed[name].planned
            self._pending.drop([planned.key])
            if name in done:
                del self._listing.listed[name]

    async def _bring(self, planned: Sequence[Planned]) -> dict[str, Fate]:
        """Into the vault. Returns the fate of each record, as it is when the walk was never
        interrupted."""
        await self._intake.bring(self._batch, planned, self._listing.memories)
        ids = [one.memory_id for one in planned]
        added = await self._call(self._store.added, self._batch, ids)
        ours = {Key(one.scope, one.memory_id): one.record_id for one in added}
        return {one.record_id: _fate(one, ours.get(one.key)) for one in planned}

    async def _patch(self, records: Sequence[ForeignRecord]) -> dict[str, bool]:
        """Whether each is patched; one that was changed since it was read is not in the answer."""
        if not records:
            return {}
        return await self._call(self._patched, {one.record_id: one for one in records})

    def _patched(self, read: Mapping[str, ForeignRecord]) -> dict[str, bool]:
        """Blocks. Under the writer's lock of the collection."""
        job = self.name
        noted = self._store.before(job, list(read))
        found: dict[str, bool] = {}

        def decide(
            records: Sequence[ForeignRecord],
        ) -> Mapping[str, Mapping[str, Value | None]]:
            now = {one.record_id: one for one in records}
            unchanged = [one for name, one in read.items() if now.get(name) == one]
            lacking = [one for one in unchanged if lacks_scope(one.metadata)]
            # What has a scope and is noted was patched before a crash.
            found.update((one.record_id, one.record_id in noted) for one in unchanged)
            found.update((one.record_id, True) for one in lacking)
            before = {one.record_id: as_json(one.metadata) for one in lacking}
            self._store.keep_before(job, before)
            return {one.record_id: {SCOPE_FIELD: PUBLIC_NAME} for one in lacking}

        self._collection.change(list(read), decide)
        return found

    # Reverse, dry run, end

    async def reverse(self, job: Job) -> tuple[int, int] | None:
        """Give the collection back what it held before; None if the job is another collection's.

        Raises IndexUnavailable, StateUnavailable; called again it does the rest, and so does the
        next start.
        """
        found = await self.find() if job.kind == KIND else None
        if found is None or found.name != job.name:
            return None
        self.phase = "reversed"
        self._listing.forget()
        walk = ScopeReversal(self._collection, self._store, found)
        await self._walker.undo(replace(found, detail=_RESTORING), walk)
        refused = len(await self._call(self._store.before, found.name))
        if not refused:  # else the next start tries again
            await self._call(self._store.put_job, replace(found, state="reversed", detail=""))
        return walk.restored, walk.left + refused

    async def dry_run(self) -> Tally:
        """What a run would do, in numbers. Changes nothing. Raises IndexUnavailable."""
        job = await self.find()
        if job is None:
            return Tally()
        return await self._listing.dry_run(await self._call(self._store.ids_with_outcome, job.name))

    async def close(self) -> None:
        """Let go of the server. ``run`` must have ended. Idempotent."""
        self._listing.forget()
        self._threads.close(self._collection.close)


def _fate(planned: Planned, first: str | None) -> Fate:
    """``first``: the record that the memory came from, None if this batch did not bring it."""
    if first is None or first != planned.record_id:
        return "merged"
    return "quarantined" if planned.reason else "adopted"
