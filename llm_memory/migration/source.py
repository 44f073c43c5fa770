"""What the sources of other people's records have in common."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Final

from ..errors import EngineClosed
from ..index.word_index import WordIndex
from ..models.migration import Job, MigrationState, Outcome, Tally
from ..runtime.identifiers import Clock, make_id
from .migration_store import SqliteMigrationStore
from .record_walker import RecordWalker

_WORDS_SECONDS: Final = 0.1


class Source(ABC):
    """One source of other people's records, and the ``Walk`` over them.

    ``run`` brings it to its end, however often it is called. It reads the state of its jobs from
    the store, and leaves those alone that are REVERSED: its phase is that, then.

    Attributes:
        kind: Of its jobs.
        waiting: Why it does not get on just now: a stable code, empty if it does.
        detail: Why it failed.
        at: The job that it works on, or worked on last, as it is kept.
    """

    kind: ClassVar[str]

    def __init__(
        self,
        store: SqliteMigrationStore,
        walker: RecordWalker,
        words: WordIndex,
        clock: Clock,
    ) -> None:
        self._store = store
        self._walker = walker
        self._words = words
        self._clock = clock
        self._job: Job | None = None
        self.phase: MigrationState = "idle"
        self.waiting = ""
        self.detail = ""
        self.at: Job | None = None

    @property
    def name(self) -> str:
        """The job's."""
        return self._found_job.name

    @property
    def _batch(self) -> str:
        return self._found_job.batch

    @property
    def _found_job(self) -> Job:
        if self._job is None:
            raise EngineClosed("no job was found")
        return self._job

    @property
    def mode_on(self) -> bool:
        """Records that state no scope are recalled from there now, as public ones."""
        return False

    async def run(self) -> None:
        """To its end, once. Sets ``phase``. Raises what it cannot go on after: then the phase is
        FAILED."""
        self.detail = ""
        try:
            await self._run()
        except (asyncio.CancelledError, EngineClosed):
            raise
        except Exception as error:
            self.phase = "failed"
            self.detail = f"{type(error).__name__}: {error}"[:200]
            raise

    @abstractmethod
    async def _run(self) -> None: ...

    @abstractmethod
    async def list(self) -> Sequence[str]: ...

    @abstractmethod
    async def step(self, ids: Sequence[str]) -> Sequence[Outcome]: ...

    async def reverse(self, job: Job) -> tuple[int, int] | None:
        """Undo what it did outside our vault for a job; None if there is nothing of the kind, or
        the job is another's. May be stopped anywhere and called again."""
        return None

    @abstractmethod
    async def dry_run(self) -> Tally:
        """Returns what ``run`` would do, in numbers. Changes nothing of ours or of others."""

    @abstractmethod
    async def close(self) -> None:
        """``run`` has ended. Idempotent."""

    async def _find_job(self, of: str, source: str, batch: str = "") -> Job:
        """Returns the job as it is kept, or as it was begun in this session; else a new one, which
        is kept nowhere yet. ``of`` names it among those of its kind."""
        name = f"{self.kind}-{of}"
        known = [*await asyncio.to_thread(self._store.jobs), *([self._job] if self._job else ())]
        now = self._clock()
        self._job = next((job for job in known if job.name == name), None) or Job(
            name, self.kind, source, batch or make_id("b", now), "running", now
        )
        return self._job

    async def _until_in_words(self, seconds: float = _WORDS_SECONDS) -> None:
        """Done is what is found by words. A broken index holds up no walk: recall has other ways
        then."""
        while self._words.backlog and self._words.state != "off":  # noqa: ASYNC110
            await asyncio.sleep(seconds)
