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
from enum import StrEnum
from typing import Final

from ..catalogue.catalogue import Catalogue
from ..errors import EngineClosed, IndexUnavailable
from ..index.lexical_service import LexicalService
from ..index.pending_records import PendingRecords
from ..log import logger
from ..models.data_models import Memory
from ..models.key import Key
from ..models.migration import (
    Added,
    Before,
    Fate,
    Job,
    JobState,
    Outcome,
    ReverseReport,
    Tally,
    WalkBatch,
)
from ..models.scope import PUBLIC_NAME, SCOPE_FIELD
from ..models.settings import MigrationMode
from ..remember.intake import Intake
from ..runtime.identifiers import Clock, make_id
from ..text.normalising import content_hash
from ..vault.markdown.entry import render
from ..vault.markdown_vault import MarkdownVault
from .legacy_listing import LegacyListing, OwnThreads, as_json, lacks_scope, mark
from .ports import ForeignCollection, ForeignRecord, MigrationStore, Value
from .record_walker import RecordWalker
from .reversal import ScopeReversal
from .rules.legacy_plan import Planned

KIND: Final = "scope"
_GONE: Final = "gone"
"""Why it waits: the owner who deleted the collection may bring it back."""
_RESTORING: Final = "restoring"
"""In a job's detail while its reverse is unfinished."""
_ROUNDS: Final = 3
"""How often a record that is written meanwhile is read again."""
_WORDS_SECONDS: Final = 0.1


class Phase(StrEnum):
    """Where a migration stands in this session."""

    IDLE = "idle"
    """There is nothing to bring."""
    RUNNING = "running"
    DONE = "done"
    REVERSED = "reversed"
    FAILED = "failed"


class ScopeMigration:
    """One walk over the collection. It is the ``Walk``, too."""

    def __init__(
        self,
        collection: ForeignCollection,
        store: MigrationStore,
        walker: RecordWalker,
        vault: MarkdownVault,
        catalogue: Catalogue,
        intake: Intake,
        pending: PendingRecords,
        words: LexicalService,
        clock: Clock,
        mode: MigrationMode,
    ) -> None:
        self._collection = collection
        self._store = store
        self._walker = walker
        self._catalogue = catalogue
        self._intake = intake
        self._pending = pending
        self._words = words
        self._clock = clock
        self._threads = OwnThreads()
        self._call = self._threads.call
        self._listing = LegacyListing(
            collection,
            vault,
            catalogue,
            pending,
            self._threads,
            clock,
            self._rest,
            mode,
        )
        self._mode = mode
        self._job: Job | None = None
        self._first: frozenset[str] = frozenset()
        self.phase = Phase.IDLE
        self.waiting = ""
        self.detail = ""
        self.at: Job | None = None

    @property
    def name(self) -> str:
        """The job's; it holds the collection's own id, which it keeps wherever it is served."""
        if self._job is None:
            raise EngineClosed("no collection was found")
        return self._job.name

    @property
    def job(self) -> Job | None:
        """None before ``find``, and where there is nothing to bring."""
        return self._job

    async def find(self) -> Job | None:
        """Connect, and look up the job. None where there is no such collection.

        Raises IndexUnavailable, StateUnavailable.
        """
        found = await self._call(self._collection.open)
        if not found:
            self._job = None
            return None
        name = f"{KIND}-{found}"
        known = {job.name: job for job in await self._call(self._store.jobs)}
        begun = self._job if self._job is not None and self._job.name == name else None
        now = self._clock()
        self._job = (
            known.get(name)
            or begun
            or Job(name, KIND, self._collection.label, make_id("b", now), JobState.RUNNING, now)
        )
        return self._job

    async def run(self) -> None:
        """To its end, once: the source is waited for as long as it does not answer.

        Raises whatever it cannot go on after; then the phase is FAILED.
        """
        self.detail = ""
        try:
            await self._run()
        except (asyncio.CancelledError, EngineClosed):
            raise
        except Exception as error:
            self.phase, self.detail = Phase.FAILED, f"{type(error).__name__}: {error}"[:200]
            raise
        finally:
            if self.phase is not Phase.RUNNING:
                self._listing.forget()
        there = self._job is not None and self.phase in (Phase.DONE, Phase.IDLE)
        if self._mode is MigrationMode.ON and there:
            self._listing.go_on_looking(await self._call(self._store.ids_with_outcome, self.name))

    @property
    def mode_on(self) -> bool:
        """Records that state no scope are recalled now, as public ones."""
        return self._listing.mode_on

    async def _run(self) -> None:
        self._first = frozenset()
        job = await self._found()
        if job is None or not job.name:
            self.phase = Phase.IDLE
            return
        if job.state is JobState.REVERSED:
            if job.detail == _RESTORING:
                await self.reverse(job)
            self.phase = Phase.REVERSED
            return
        self.phase = Phase.RUNNING
        for _ in range(_ROUNDS):
            before = await self._call(self._store.tally, job.name)
            after = await self._walker.run(self)
            if not self._listing.listed or before == after:
                break
            # What was changed while we looked at it has no outcome yet.
        await self._until_in_words()
        if (await self._call(self._store.tally, job.name)).scanned:
            await self._call(self._store.put_job, replace(job, state=JobState.DONE))
            self.phase = Phase.DONE
        else:
            self.phase = Phase.IDLE

    async def _found(self) -> Job | None:
        failures = 0
        while True:
            try:
                job = await self.find()
            except IndexUnavailable as error:
                self.waiting = error.code
                if await self._call(self._is_begun):
                    self.phase = Phase.RUNNING
                await asyncio.sleep(self._walker.retry(failures))
                failures += 1
            else:
                self.waiting = ""
                return job

    def _is_begun(self) -> bool:
        """Whatever is there, some of it was brought, and not all. Blocks."""
        jobs = self._store.jobs()
        return any(job.kind == KIND and job.state is JobState.RUNNING for job in jobs)

    async def _rest(self, began: float) -> None:
        """Between two slices of a listing. What the index of words does not hold yet is looked
        through by each recall, so it has its turn first; then the bot."""
        while True:
            if not self._words.catches_up:
                break
            await asyncio.sleep(_WORDS_SECONDS / 5)
        await self._walker.rest(began)

    async def _until_in_words(self) -> None:
        """Done is what is found by words. A broken index holds up no walk: recall has other
        ways then."""
        while True:
            if not self._words.catches_up:
                return
            await asyncio.sleep(_WORDS_SECONDS)

    # The walk

    async def list(self) -> Sequence[str]:
        """Read the collection, have its records recalled already, and plan what becomes of each."""
        if await self.find() is None:
            raise IndexUnavailable("the earlier collection is gone", code=_GONE)
        settled = await self._call(self._store.ids_with_outcome, self.name)
        self._first = await self._listing.make(settled, self._first)
        listed = self._listing.listed
        if listed and self._job is not None:
            self.at = replace(self._job, state=JobState.RUNNING)
            await self._call(self._store.put_job, self.at)
            logger.info("{}：有 {} 条旧记忆要收进来", self._collection.label, len(listed))
        return list(listed)

    async def step(self, ids: Sequence[str]) -> WalkBatch:
        """Read them again; into the vault; then fill in the scopes of those that still lack one."""
        records = {one.record_id: one for one in await self._call(self._collection.read, ids)}
        same = [
            one
            for one in (self._listing.listed[name].planned for name in ids if name in records)
            if mark(records[one.record_id]) == self._listing.listed[one.record_id].mark
        ]
        kept = [one for one in same if one.fate is not Fate.BROKEN]
        fates = await self._bring(kept)
        patched = await self._patch([records[one.record_id] for one in kept])
        outcomes = [
            Outcome(
                one.record_id,
                fates.get(one.record_id, one.fate),
                patched=patched.get(one.record_id, False),
                scope=one.scope,
                memory_id=one.memory_id,
                reason=one.reason,
            )
            for one in same
            if one.fate is Fate.BROKEN or one.record_id in patched
        ]
        self._drop_pending(ids, {one.record_id for one in outcomes})
        return WalkBatch(tuple(outcomes))

    def _drop_pending(self, ids: Sequence[str], done: set[str]) -> None:
        """What stands in the vault waits no more; nor does what somebody changed: it may be
        anybody's by now."""
        for name in ids:
            planned = self._listing.listed[name].planned
            self._pending.drop([Key(planned.scope, planned.memory_id)])
            if name in done:
                del self._listing.listed[name]

    async def _bring(self, planned: Sequence[Planned]) -> dict[str, Fate]:
        """Into the vault: the fate of each record, as it is when nobody was ever interrupted."""
        batch = self._job.batch if self._job is not None else ""
        places = dict.fromkeys((one.scope, one.memory_id) for one in planned)
        memories = {
            place: self._listing.memories[place] for place in places if not self._lives(place[1])
        }
        for place in await self._call(self._listing.forgotten, memories, self._listing.scopes):
            del memories[place]
        first: dict[tuple[str, str], str] = {}
        for one in planned:
            first.setdefault((one.scope, one.memory_id), one.record_id)
        fresh = [
            Added(scope, memory_id, entry_digest(memory), first[scope, memory_id])
            for (scope, memory_id), memory in memories.items()
        ]
        # Noted before it is written: taking the batch back needs all of it.
        await self._call(self._store.keep_added, batch, fresh)
        by_scope: dict[str, list[Memory]] = {}
        for (scope, _), memory in memories.items():
            by_scope.setdefault(scope, []).append(memory)
        for scope, some in by_scope.items():
            await self._intake.take(self._listing.scopes[scope], some)
        ids = [memory_id for _, memory_id in places]
        ours = {
            (one.scope, one.memory_id): one.record_id
            for one in await self._call(self._store.added, batch, ids)
        }
        return {one.record_id: _fate(one, ours.get((one.scope, one.memory_id))) for one in planned}

    def _lives(self, memory_id: str) -> bool:
        """Somewhere: an id is made of the scope, too, so elsewhere a person has moved it there."""
        return any(self._catalogue.get(Key(name, memory_id)) for name in self._catalogue.counts())

    async def _patch(self, records: Sequence[ForeignRecord]) -> dict[str, bool]:
        """Whether each is patched; one that was changed since it was read is not in the answer."""
        if not records:
            return {}
        return await self._call(self._patched, {one.record_id: one for one in records})

    def _patched(self, read: Mapping[str, ForeignRecord]) -> dict[str, bool]:
        """Blocks. Under the writer's lock of the collection."""
        job = self.name
        noted = {one.record_id for one in self._store.before(job, list(read))}
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
            self._store.keep_before(
                job,
                [Before(one.record_id, PUBLIC_NAME, as_json(one.metadata)) for one in lacking],
            )
            return {one.record_id: {SCOPE_FIELD: PUBLIC_NAME} for one in lacking}

        self._collection.change(list(read), decide)
        return found

    # Reverse, dry run, end

    async def reverse(self, job: Job) -> ReverseReport | None:
        """Give the collection back what it held before; None if the job is another collection's.

        Raises IndexUnavailable, StateUnavailable; called again it does the rest, and so does the
        next start.
        """
        found = await self.find() if job.kind == KIND else None
        if found is None or found.name != job.name:
            return None
        # First of all: after a crash what is being restored is not patched anew.
        restoring = replace(found, state=JobState.REVERSED, detail=_RESTORING)
        await self._call(self._store.put_job, restoring)
        self.phase = Phase.REVERSED
        self._listing.forget()
        walk = ScopeReversal(self._collection, self._store, found)
        await self._walker.run(walk, though_paused=True)
        await self._call(self._store.forget_outcomes, found.name)
        await self._call(self._store.forget_outcomes, walk.name)
        self._walker.forget(walk.name)
        refused = len(await self._call(self._store.before, found.name))
        if not refused:  # else the next start tries again
            await self._call(self._store.put_job, replace(restoring, detail=""))
        return ReverseReport(walk.restored, walk.left + refused)

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


def entry_digest(memory: Memory) -> str:
    """Changes with anything that a person or the bot changes of a memory."""
    return content_hash(render(memory))


def _fate(planned: Planned, first: str | None) -> Fate:
    """``first``: the record that the memory came from, None if this batch did not bring it."""
    if first is None or first != planned.record_id:
        return Fate.MERGED
    return Fate.QUARANTINED if planned.reason else Fate.ADOPTED
