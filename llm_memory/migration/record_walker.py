"""Walks over all records of a source behind the running bot: in batches, with pauses, and again
after whatever stopped it.

What goes over many records and comes to an end goes through here: filling in scopes, adoption,
their reverse. What an index lacks (``index/follower.py``) is another thing and stays one: it is fed
while it is worked on, holds of each memory the newest state only, has no end, and keeps no
progress, because the index itself tells by its hashes what it lacks.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ..errors import EngineClosed, IndexUnavailable, StateUnavailable, VaultError
from ..log import logger
from ..models.migration import Job, Outcome, Tally
from ..models.settings import EngineSettings
from .migration_store import SqliteMigrationStore
from .ports import Walk

_LOG_SECONDS: Final = 10.0
_SHOWN: Final = 64
"""Characters of a foreign id in a line of the log."""
_TOO_MANY: Final = 50
"""Single records in a row that fail unexpectedly: then it is no record's fault."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a walk is. ``waiting``: why it does not get on just now, empty if it does."""

    tally: Tally
    remaining: int = 0
    waiting: str = ""


class RecordWalker:
    """Runs walks, one after the other or several at once. Every walk can be cancelled anywhere: the
    batch under way is brought to its end, and the next ``run`` goes on with what is left."""

    def __init__(
        self,
        migration_store: SqliteMigrationStore,
        settings: EngineSettings,
        others_done: Callable[[], Awaitable[None]],
    ) -> None:
        """Before each batch ``others_done`` waits for what else goes over all memories."""
        self._store = migration_store
        self._pace, self._most = settings.pace, settings.migration_batch
        self._going = asyncio.Event()
        self.paused = settings.migration_paused
        self._progress: dict[str, Progress] = {}
        self._others_done = others_done

    @property
    def paused(self) -> bool:
        """True while the owner has walks paused."""
        return not self._going.is_set()

    @paused.setter
    def paused(self, pause: bool) -> None:
        if pause:
            self._going.clear()
        else:
            self._going.set()

    def retry(self, failures: int) -> float:
        """Returns the seconds to wait for a source that failed to answer so often."""
        return self._pace.retry(failures)

    async def rest(self, began: float) -> None:
        """Leave the machine to the bot after work that began then, by ``time.monotonic()``."""
        least, most = self._pace.rest_seconds
        await asyncio.sleep(min(max(time.monotonic() - began, least), most))

    def progress(self, name: str) -> Progress | None:
        """Returns how far a walk is that was begun since this start."""
        return self._progress.get(name)

    def names(self) -> tuple[str, ...]:
        """Returns the names of the walks that were begun since this start."""
        return tuple(self._progress)

    def waits(self) -> tuple[str, ...]:
        """Returns why walks do not get on just now."""
        return tuple(one.waiting for one in self._progress.values() if one.waiting)

    def forget(self, name: str) -> None:
        """Drop the progress of a walk."""
        self._progress.pop(name, None)

    async def run(self, walk: Walk, *, though_paused: bool = False) -> Tally:
        """Take steps until nothing is left. A source that does not answer is waited for.

        Args:
            though_paused: A person asked for it: the switch is for what goes on by itself.

        Raises:
            EngineClosed: the engine was closed meanwhile.
            Exception: what ``list`` raises unexpectedly, or what ``step`` raises for one record
                after the other.
        """
        failures = 0
        while True:
            before = self._known(walk).tally.scanned
            try:
                return await self._run(walk, though_paused=though_paused)
            except (IndexUnavailable, VaultError, StateUnavailable) as error:
                progress = self._known(walk)
                got_on = progress.tally.scanned > before
                failures = 0 if got_on else failures
                why = _cause(error)
                self._progress[walk.name] = Progress(progress.tally, progress.remaining, why)
                if failures == 0:
                    logger.warning("walk_waits", walk=walk.name, error=error)
                await asyncio.sleep(self._pace.retry(failures))
                failures += 1

    async def run_aside(self, walk: Walk) -> None:
        """Run a walk that a person asked for, and drop its progress."""
        await self.run(walk, though_paused=True)
        self.forget(walk.name)

    async def undo(self, job: Job, walk: Walk) -> None:
        """Run a walk that takes back what a job did. Its end is for the caller to keep.

        The job is REVERSED from the beginning: after a crash nothing is brought anew. Only when
        all is taken back its outcomes are forgotten.
        """
        reversed_job = replace(job, state="reversed")
        await asyncio.to_thread(self._store.put_job, reversed_job)
        await self.run_aside(walk)
        for name in (job.name, walk.name):
            await asyncio.to_thread(self._store.forget_outcomes, name)
        self.forget(job.name)

    def _known(self, walk: Walk) -> Progress:
        return self._progress.get(walk.name) or Progress(Tally())

    async def _run(self, walk: Walk, *, though_paused: bool) -> Tally:
        listed = await walk.list()
        left = await asyncio.to_thread(self._left, walk.name, listed)
        tally = await asyncio.to_thread(self._store.tally, walk.name)
        logged_at = time.monotonic()
        failure_streak = _FailureStreak()
        self._progress[walk.name] = Progress(tally, len(left))
        while left:
            if not though_paused:
                await self._going.wait()
            await self._others_done()
            began = time.monotonic()
            ids = [left.popleft() for _ in range(min(self._most, len(left)))]
            tally = await self._shielded(walk, ids, len(left), failure_streak)
            now = time.monotonic()
            if now - logged_at > _LOG_SECONDS:
                logged_at = now
                logger.info("walk_goes_on", walk=walk.name, done=tally.scanned, left=len(left))
            if left:
                await self.rest(began)
        return tally

    def _left(self, name: str, listed: Sequence[str]) -> deque[str]:
        settled = self._store.ids_with_outcome(name)
        return deque(one for one in dict.fromkeys(listed) if one not in settled)

    async def _shielded(
        self, walk: Walk, ids: Sequence[str], left: int, failure_streak: _FailureStreak
    ) -> Tally:
        """One batch, whole even if we are cancelled: nothing is written once our task has ended."""
        batch = asyncio.ensure_future(self._batch(walk, ids, left, failure_streak))
        try:
            return await asyncio.shield(batch)
        except asyncio.CancelledError:
            await asyncio.wait([batch])
            raise

    async def _batch(
        self, walk: Walk, ids: Sequence[str], left: int, failure_streak: _FailureStreak
    ) -> Tally:
        try:
            outcomes = await self._step(walk, ids, failure_streak)
        except _NoRecordsFault as error:
            await asyncio.to_thread(self._store.forget_outcomes, walk.name, failure_streak.failed)
            raise error.cause from error
        broken = [one for one in outcomes if one.fate == "broken"]
        if broken:
            named = tuple(f"{one.record_id[:_SHOWN]} ({one.reason})" for one in broken)
            logger.warning("records_broken", walk=walk.name, count=len(broken), records=named)
        # A crash before this line leaves records that are done and not counted: the next walk finds
        # them done and counts them then.
        await asyncio.to_thread(self._store.note_outcomes, walk.name, outcomes)
        tally = self._progress[walk.name].tally + counted(outcomes)
        self._progress[walk.name] = Progress(tally, left)
        return tally

    async def _step(
        self, walk: Walk, ids: Sequence[str], failure_streak: _FailureStreak
    ) -> list[Outcome]:
        """A batch that fails is cut in two until the record that is to blame is alone."""
        try:
            outcomes = list(await walk.step(ids))
        except (EngineClosed, IndexUnavailable, VaultError, StateUnavailable, _NoRecordsFault):
            raise
        except Exception as error:
            if len(ids) > 1:
                half = len(ids) // 2
                first = await self._step(walk, ids[:half], failure_streak)
                return first + await self._step(walk, ids[half:], failure_streak)
            failure_streak.failed.append(ids[0])
            if len(failure_streak.failed) >= _TOO_MANY:
                raise _NoRecordsFault(error) from error
            logger.debug("{}: {} cannot be processed: {!r}", walk.name, ids[0][:_SHOWN], error)
            return [Outcome(ids[0], "broken", patched=False, reason=type(error).__name__)]
        failure_streak.failed.clear()
        return outcomes


@dataclass(slots=True)
class _FailureStreak:
    """Single records in a row that failed unexpectedly."""

    failed: list[str] = field(default_factory=list)


class _NoRecordsFault(Exception):
    """One record after the other fails: something else is wrong, and none of them is broken."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


def _cause(error: Exception) -> str:
    match error:
        case IndexUnavailable(code=code):
            return code
        case StateUnavailable():
            return "state"
        case _:
            return "vault"


def counted(outcomes: Sequence[Outcome]) -> Tally:
    """How many came to which end."""
    fates = [one.fate for one in outcomes]
    return Tally(
        scanned=len(outcomes),
        patched=sum(one.patched is True for one in outcomes),
        skipped=sum(one.patched is False for one in outcomes),
        adopted=fates.count("adopted"),
        merged=fates.count("merged"),
        quarantined=fates.count("quarantined"),
        broken=fates.count("broken"),
    )
