"""Another plugin's records as a walk lists them: read a page at a time, judged, recalled already,
and planned."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import batched
from typing import Final

from ..errors import EngineClosed, IndexUnavailable, StateUnavailable
from ..index.pending_records import PendingRecords
from ..log import logger
from ..models.data_models import Memory, StoredMemory
from ..models.migration import Tally
from ..models.passages import Key
from ..models.scope import MARKER_FIELD, SCOPE_FIELD, Scope, ScopeFilter
from ..models.settings import MigrationMode
from ..models.vault_layout import topic_path
from ..remember.rules.gate import topic_for
from ..runtime.cooperative import cooperative
from ..runtime.identifiers import Clock
from ..text.overlap import pieces
from .batch_intake import BatchIntake
from .ports import ForeignCollection, ForeignRecord
from .record_walker import counted
from .rules.legacy_plan import Plan, Planned
from .rules.legacy_records import Adopted, Foreign, Judged, judge

_PAGE: Final = 1000
_SLICE: Final = 50
"""Records judged and handed over at once, before the bot has its turn."""
_AHEAD_SECONDS: Final = 0.1
_AHEAD_RECORDS: Final = 60
_MOST_PIECES: Final = 16
_MOST_LATE: Final = 3
"""Late answers, after which none is waited for: the collection is too large for it."""


class OwnThreads:
    """Two threads beside those of the event loop: a call that waits for a server must not take one
    that the bot needs."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(2, "scoped-memory-legacy")

    async def call[**P, T](self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Raises EngineClosed, and whatever the call raises."""
        try:
            answer = self._pool.submit(call, *args, **kwargs)
        except RuntimeError as error:  # the threads are gone
            raise EngineClosed("the engine is closed") from error
        return await asyncio.wrap_future(answer)

    def close(self, last: Callable[[], None]) -> None:
        """After one last call. Idempotent; waits for nothing."""
        try:
            self._pool.submit(last)
        except RuntimeError:
            return
        self._pool.shutdown(wait=False)


@dataclass(frozen=True, slots=True)
class Read:
    """A record as it was when it was listed; ``mark`` tells whether it still is."""

    record_id: str
    judged: Judged
    mark: int
    lacks: bool


@dataclass(frozen=True, slots=True)
class Listed:
    planned: Planned
    mark: int


class LegacyListing:
    """What is left of a collection, and what is to become of it. Touched from the event loop only.

    Attributes:
        listed: What is planned, by the record's id.
        memories: What is to enter the vault, by scope and id.
    """

    def __init__(
        self,
        collection: ForeignCollection,
        intake: BatchIntake,
        pending: PendingRecords,
        threads: OwnThreads,
        clock: Clock,
        rest: Callable[[float], Awaitable[None]],
        mode: MigrationMode,
    ) -> None:
        """``rest`` is awaited between two slices, with the time at which the last one began."""
        self._collection = collection
        self._intake = intake
        self._pending = pending
        self._call = threads.call
        self._clock = clock
        self._rest = rest
        self._mode = mode
        self._settled: frozenset[str] = frozenset()
        self._late = 0
        self._model_calls: asyncio.Future[None] | None = None
        self.listed: dict[str, Listed] = {}
        self.memories: dict[Key, Memory] = {}

    async def make(self, settled: frozenset[str], only: frozenset[str]) -> frozenset[str]:
        """List anew what has no outcome yet, ``only`` those if there are any: their ids. Each is
        recalled from the moment it was read.

        Raises IndexUnavailable.
        """
        self.forget()
        self._settled = settled
        await self._intake.look_at_archives()
        self._pending.look = self._ahead
        try:
            read = await self._read_all(show=True)
            recallable = self._intake.recallable()
            wanted, left = await self._call(_wanted, read, only)
            planned = partial(self._planned, left, recallable)
            self.listed, made = await self._call(planned)
            self.memories = made.memories
            self._pending.drop(await self._call(self._unplanned, read))
        finally:
            self._pending.look = None
        return wanted

    def forget(self) -> None:
        """Drop the list, and what is recalled of it."""
        self.listed, self.memories = {}, {}
        self._pending.look = None
        self._pending.clear()

    def go_on_looking(self, settled: frozenset[str]) -> None:
        """After the walk: what was written there since is recalled from there."""
        self._settled = settled
        self._pending.look = self._ahead

    @property
    def mode_on(self) -> bool:
        """Records that state no scope are recalled now, as public ones."""
        return self._mode is not MigrationMode.OFF and (
            self._pending.look is not None or any(self._pending.all())
        )

    async def _read_all(self, *, show: bool) -> list[Read]:
        """Returns the records without an outcome, read a page at a time."""
        found: list[Read] = []
        count = await self._call(self._collection.count)
        offset = 0
        while offset < count:
            page = await self._call(self._collection.page, offset, _PAGE)
            if not page:
                break
            offset += len(page)
            for some in batched(page, _SLICE):
                began = time.monotonic()
                read = await self._call(self._judged, some)
                found += read
                if show:
                    await self._show(read)
                await self._rest(began)
        return found

    def _judged(self, records: Iterable[ForeignRecord]) -> list[Read]:
        """Blocks."""
        now, source = self._clock(), self._collection.label
        return [
            Read(
                one.record_id,
                # "later": what states no scope is public here, whatever else says the same.
                judge(Foreign(source, one.record_id, one.document, one.metadata, later=True), now),
                mark(one),
                lacks_scope(one.metadata),
            )
            for one in cooperative(records)
            if one.record_id not in self._settled and not _is_ours(one.metadata)
        ]

    async def _show(self, read: Sequence[Read]) -> None:
        """Have them recalled from now on: each under its own scope, none that is quarantined."""
        strict = self._mode is MigrationMode.OFF
        shown = (one.judged for one in read if not (strict and one.lacks))
        adopted = [judged for judged in shown if isinstance(judged, Adopted)]
        self._pending.add(await self._call(self._waiting, adopted))

    def _waiting(self, adopted: Sequence[Adopted]) -> list[StoredMemory]:
        """Blocks."""
        keys = [Key(one.scope.name, one.memory.memory_id) for one in adopted]
        forgotten = self._intake.forgotten(keys)
        return [
            _to_wait(one.scope, one.memory)
            for one, key in cooperative(zip(adopted, keys, strict=True))
            if key not in forgotten
        ]

    def _unplanned(self, read: Sequence[Read]) -> list[Key]:
        """Returns what is recalled already and was not planned: its scope turned out to be no legal
        name. Blocks."""
        shown = {
            Key(one.judged.scope.name, one.judged.memory.memory_id)
            for one in read
            if isinstance(one.judged, Adopted)
        }
        return [key for key in shown if key not in self.memories]

    def _planned(
        self, read: Sequence[Read], recallable: Sequence[StoredMemory]
    ) -> tuple[dict[str, Listed], Plan]:
        """Blocks."""
        made = self._intake.plan(((one.record_id, one.judged) for one in read), recallable)
        marks = {one.record_id: one.mark for one in read}
        planned = cooperative(made.planned)
        return {one.record_id: Listed(one, marks[one.record_id]) for one in planned}, made

    async def _ahead(self, query: str, scope_filter: ScopeFilter) -> None:
        """Ask the server for records that share words with a question, and have them recalled."""
        words = sorted(pieces(query).items(), key=lambda pair: -pair[1])
        best = [word for word, weight in words if weight == words[0][1]][:_MOST_PIECES]
        if not best or self._model_calls is not None:
            return
        self._model_calls = asking = asyncio.ensure_future(
            self._look(best, replace(scope_filter, migrating=self._mode is not MigrationMode.OFF))
        )
        if self._late < _MOST_LATE:  # else it is found when it is asked for again
            done, _ = await asyncio.wait([asking], timeout=_AHEAD_SECONDS)
            self._late += not done

    async def _look(self, words: Sequence[str], scope_filter: ScopeFilter) -> None:
        try:
            found = await self._call(self._collection.search, words, scope_filter, _AHEAD_RECORDS)
            read = await self._call(self._judged, found)
            if self._pending.look is not None:
                await self._show(read)
        except (IndexUnavailable, StateUnavailable, EngineClosed) as error:
            logger.debug("the earlier collection cannot be queried for now: {}", error)
        finally:
            self._model_calls = None

    async def dry_run(self, settled: frozenset[str]) -> Tally:
        """What a run would do, in numbers. Changes nothing. Raises IndexUnavailable."""
        self._settled = settled
        read = await self._read_all(show=False)
        listed, _ = await self._call(self._planned, read, self._intake.recallable())

        def tally() -> Tally:
            planned = ((one.lacks, listed[one.record_id].planned) for one in read)
            return counted(
                [one.outcome(patched=lacks and one.fate != "broken") for lacks, one in planned]
            )

        return await self._call(tally)


def _wanted(read: Sequence[Read], only: frozenset[str]) -> tuple[frozenset[str], list[Read]]:
    """Returns the ids that are asked for, ``only`` those if there are any, and their records."""
    wanted = only or frozenset(one.record_id for one in read)
    return wanted, [one for one in read if one.record_id in wanted]


def lacks_scope(metadata: Mapping[str, object] | None) -> bool:
    """True if it states no scope, or a blank one. Anything else there is not ours to overwrite."""
    scope = None if metadata is None else metadata.get(SCOPE_FIELD)
    return scope is None or (isinstance(scope, str) and not scope.strip())


def _is_ours(metadata: Mapping[str, object] | None) -> bool:
    return metadata is not None and MARKER_FIELD in metadata


def as_json(metadata: Mapping[str, object] | None) -> str:
    """Returns a record's metadata as it is noted."""
    return json.dumps(metadata, ensure_ascii=False, sort_keys=True)


def mark(record: ForeignRecord) -> int:
    """Returns a number that changes with the record."""
    return hash((record.document, as_json(record.metadata)))


def _to_wait(scope: Scope, memory: Memory) -> StoredMemory:
    path = topic_path(topic_for(memory), memory.created_at)
    return StoredMemory(scope, path, memory)
