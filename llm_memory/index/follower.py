"""Keeps an index in memory equal to what lives, behind the bot, whatever becomes of it.

What is new or changed ``waits``, and what is gone ``leaves``, until a batch of it was derived (cut
into words, embedded) and put into the index, or taken out. An index that was opened is compared
with all that lives; from then on it is told.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from itertools import chain, islice
from typing import Any, ClassVar, Final

from ..catalogue.catalogue import key_of
from ..errors import EmbeddingFailed, IndexUnavailable
from ..models.passages import Key, Passage
from ..models.settings import Pace
from ..models.status import IndexState, Notice
from ..runtime.cooperative import cooperative, unhurried
from ..runtime.lifecycle import long_lived, set_apart
from ..runtime.notice_board import NoticeBoard
from .calls import SLOW, Calls, within
from .passages import Passages
from .ports import IndexRecord
from .records import WordRecord

CALL_SECONDS: Final = 60.0
"""Of one call to a disk, a server or a program: then the owner is told that it hangs."""
_CLOSING_SECONDS: Final = 10.0
_SEARCHES: Final = 3
_OFTEN: Final = 3
"""The owner is told of so many faults with nothing that went well between them, and of a call that
hangs."""
_LEAVING: Final = 1000
_APART: Final = 2000
"""Records that are taken in before they are set apart."""
FOLLOWING, ASKING, EMBEDDING = "following", "asking", "embedding"
type Fault = IndexUnavailable | EmbeddingFailed


class Follower[D: tuple[IndexRecord | WordRecord, object]](ABC):
    """``follow`` is the one task of an index; it ends by cancellation. ``D`` is what a passage
    becomes there. Touched from the event loop only, but for what says that it blocks."""

    codes: ClassVar[Mapping[str, str]]
    """Of the notice for a fault, by the fault's own; ``""`` for all others. They go when nothing
    fails any more."""
    anew: ClassVar[frozenset[str]] = frozenset()
    """Faults after which it is opened again."""
    may_wait: ClassVar = 0.5
    """The share of what lives that it may lack to be ready."""

    def __init__(
        self,
        passages: Passages,
        notices: NoticeBoard,
        pace: Pace,
        *,
        batch: int,
        close: Callable[[], None],
    ) -> None:
        """``close`` gives back the disk; it blocks."""
        self._passages = passages
        self._notices = notices
        self._pace = pace
        self._batch = batch
        self._close = close
        self._waiting: dict[Key, Passage] = {}
        self._leaving: dict[Key, Sequence[Passage]] = {}
        """As they were, as often as they left: each time another list."""
        self._parked: dict[Key, Passage] = {}
        self._held: dict[Key, str] = {}
        """What the index holds, by ``_hash``."""
        self._living = self._taken_in = 0
        self._faults: Counter[tuple[str, str]] = Counter()
        self._fault: Fault | None = None
        self._doubt: object | None = None
        self._unwritten = False
        """What is in memory is being written anew to the disk, or that failed in the midst."""
        self._changed = asyncio.Event()
        self._writing = asyncio.Lock()
        self._calls = Calls()
        self._asks = ThreadPoolExecutor(_SEARCHES, "scoped-memory-ask")
        self.state: IndexState = "waiting"
        self.label = ""
        """What the owner calls it."""
        for source in passages.sources:
            source.follow_with(self)

    @abstractmethod
    async def _open(self, fault: Fault | None) -> None:
        """Make ready, with what was kept, after a fault that only this mends. Raises
        IndexUnavailable, EmbeddingFailed."""

    @abstractmethod
    def _hash(self, passage: Passage) -> str:
        """Changes with whatever the index holds of a passage."""

    @abstractmethod
    async def _derive(self, passages: Sequence[Passage]) -> Mapping[Key, D | None]:
        """None for what can never be in the index as it is. Raises IndexUnavailable,
        EmbeddingFailed."""

    @abstractmethod
    async def _put(self, rows: Sequence[D]) -> None:
        """Add or replace. Raises IndexUnavailable: it is tried again."""

    @abstractmethod
    async def _drop(self, keys: Sequence[Key]) -> None:
        """Take out. Raises IndexUnavailable: it is tried again."""

    async def _erase(self, passages: Sequence[Passage]) -> None:  # noqa: B027
        """Keep nothing of what was dropped; nobody waits. Raises IndexUnavailable as above."""

    @property
    def is_open(self) -> bool:
        """Whether it can be asked, as far as it has come."""
        return self.state in ("building", "ready")

    @property
    def backlog(self) -> int:
        """How many are acknowledged, but not in the index yet."""
        return len(self._waiting) + len(self._parked)

    @property
    def leaving(self) -> int:
        """How many are gone, but may still be in the index."""
        return len(self._leaving)

    @property
    def in_step(self) -> bool:
        """Whether it holds just what lives, but for what cannot be derived: ``backlog``."""
        behind = self._waiting or self._leaving or self._doubt or self._unwritten
        return self.state == "ready" and not behind

    def lacks(self, key: Key) -> bool:
        """Whether it is acknowledged, but not in the index yet."""
        return key in self._waiting or key in self._parked

    def newest(self, count: int) -> list[Passage]:
        """What it lacks, the newest first."""
        return list(islice(chain(reversed(self._waiting.values()), self._parked.values()), count))

    def enqueue(self, passage: Passage) -> None:
        """It is new or was changed."""
        self._take_off(key_of(passage))
        self._waiting[key_of(passage)] = passage

    def enqueue_removal(self, passage: Passage) -> None:
        """It is gone, or about to be another one."""
        self._take_off(key_of(passage))
        self._leaving[key_of(passage)] = [*self._leaving.get(key_of(passage), ()), passage]

    def _take_off(self, key: Key) -> None:
        self._parked.pop(key, None)
        self._waiting.pop(key, None)
        self._changed.set()

    def recheck(self) -> None:
        """Compare with what lives soon: much of it was read only now."""
        self._doubt = object()
        self._changed.set()

    async def follow(self) -> None:
        """Open, compare, then take in and out, until cancelled. Faults are retried."""
        self.state = "waiting"
        failures = 0
        while True:
            self._changed.clear()
            forgets = bool(self._leaving)
            try:
                await self._step()
                if not (forgets and self._waiting):  # which says nothing of what takes in
                    failures = 0
                    self._went_well(FOLLOWING)
                await asyncio.sleep(self._pace.pause_seconds if self._waiting else 0)
            except (IndexUnavailable, EmbeddingFailed) as error:
                if not self.is_open or error.code in self.anew:
                    self.state = "waiting" if isinstance(error, EmbeddingFailed) else "off"
                self._went_wrong(FOLLOWING, error)
                await asyncio.sleep(self._pace.retry(failures))
                failures += 1

    async def _step(self) -> None:
        if self._fault is not None or not self.is_open:
            fault, self._fault = self._fault, None
            self.state = "waiting"
            await self._open(fault)
            await self._compare()
            self.state = "building"
        elif self._doubt:
            await self._compare()
        if len(self._waiting) <= self._living * self.may_wait:
            self.state = "ready"
        if self._leaving:
            await self._take_out(dict(islice(self._leaving.items(), _LEAVING)))
        elif self._waiting:
            await self._take_in(dict(islice(self._waiting.items(), self._batch)))
        else:
            await self._rest()

    async def _rest(self) -> None:
        """It holds all that lives."""
        await self._changed.wait()

    async def _compare(self) -> None:
        """Put on the list whatever differs between what lives and the index."""
        doubt = self._doubt
        self._parked.clear()
        held = self._held.copy()
        living = list(self._passages.all())  # a copy: others write while we pause
        self._living = len(living)
        stale, new = await self._do(self._differences, living, held)
        with long_lived():
            async for key in unhurried(chain(stale, held)):
                if key in stale or self._passages.is_gone(key):
                    self._leaving.setdefault(key, [])
            async for passage in unhurried(new):
                if self._passages.is_followed(passage):
                    self._waiting.setdefault(key_of(passage), passage)
        self._doubt = None if self._doubt is doubt else self._doubt

    def _differences(
        self, living: Sequence[Passage], held: dict[Key, str]
    ) -> tuple[set[Key], list[Passage]]:
        """What is held in another state than it lives in, and what is not held as it lives. Leaves
        in ``held`` what does not live. Blocks."""
        stale, new = set[Key](), list[Passage]()
        for passage in cooperative(living):
            known = held.pop(key_of(passage), None)
            if known is None or known != self._hash(passage):
                new.append(passage)
                stale |= {key_of(passage)} if known else set()
        return stale, new

    async def _take_out(self, leaving: Mapping[Key, Sequence[Passage]]) -> None:
        async with self._writing:
            # What lives and does not wait is in the index as it is now.
            gone = [key for key in leaving if self.lacks(key) or self._passages.get(key) is None]
            await self._drop(gone)
            for key in gone:
                self._held.pop(key, None)
        await self._erase([*chain.from_iterable(leaving.values())])
        for key, former in leaving.items():
            if self._leaving[key] is former:
                del self._leaving[key]

    async def _take_in(self, entries: Mapping[Key, Passage]) -> None:
        derived = await self._derive([*entries.values()])
        async with self._writing:
            current = {k: row for k, row in derived.items() if self._waiting.get(k) is entries[k]}
            if rows := [row for row in current.values() if row is not None]:
                await self._put(rows)
            for key, row in current.items():
                self._written(key, entries[key], row)
        self._taken_in += len(current)
        if self._taken_in >= _APART:
            self._taken_in = 0
            set_apart()

    def _written(self, key: Key, passage: Passage, row: D | None) -> None:
        """Off the list, unless it changed again meanwhile. What has no row stays out of the index
        until it changes, or all is compared again."""
        if row is not None:
            self._held[key] = row[0].content_hash
        if self._waiting.get(key) is passage:
            del self._waiting[key]
            if row is None:
                self._parked[key] = passage

    async def _do[**P, T](self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """One call of the owner's, in a thread. Raises IndexUnavailable, also where it hangs."""
        return await self._calls.run(CALL_SECONDS, call, *args, **kwargs)

    @asynccontextmanager
    async def _asking(self) -> AsyncIterator[None]:
        """An answer in its time. Raises IndexUnavailable."""
        try:
            async with within(self._pace.query_seconds):
                yield
        except IndexUnavailable as error:
            self._went_wrong(ASKING, error)
            raise
        self._went_well(ASKING)

    def _ask[T](self, call: Callable[[], T]) -> asyncio.Future[T]:
        answer = asyncio.get_running_loop().run_in_executor(self._asks, call)
        answer.add_done_callback(self._hear)
        return asyncio.shield(answer)

    def _hear(self, answer: asyncio.Future[Any]) -> None:
        """What only the task can mend is heard though nobody waits for it any more."""
        error = None if answer.cancelled() else answer.exception()
        if isinstance(error, IndexUnavailable):
            self._open_again_after(error)

    def _open_again_after(self, error: Fault) -> None:
        if error.code in self.anew:
            self._fault = error
            self._changed.set()

    def _went_wrong(self, doing: str, error: Fault) -> None:
        if doing == EMBEDDING:
            self._open_again_after(error)
        kind = "embedder" if isinstance(error, EmbeddingFailed) else error.code
        code = self.codes.get(kind, self.codes[""])
        hangs = doing == FOLLOWING and error.code == SLOW
        self._faults[doing, code] += _OFTEN if hangs else 1
        if self._faults[doing, code] >= _OFTEN:
            params = {"cause": error.code, "detail": str(error), "embedder": self.label}
            self._notices.post(Notice(code, params=params))

    def _went_well(self, doing: str) -> None:
        for code in self.codes.values():
            del self._faults[doing, code]
            if not any(code == other for _, other in self._faults):
                self._notices.clear(code)

    async def close(self) -> None:
        """Give back what it holds, in time; what hangs is left to itself. ``follow`` has ended."""
        self.state = "off"
        self._asks.shutdown(wait=False)
        with suppress(IndexUnavailable):
            await Calls().run(_CLOSING_SECONDS, self._close)
