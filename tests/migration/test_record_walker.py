"""One way to walk over many records behind the bot: in batches, with pauses, to the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import IndexUnavailable, VaultWriteFailed
from astrbot_plugin_scoped_memory.llm_memory.migration import record_walker
from astrbot_plugin_scoped_memory.llm_memory.migration.migration_store import SqliteMigrationStore
from astrbot_plugin_scoped_memory.llm_memory.migration.record_walker import RecordWalker
from astrbot_plugin_scoped_memory.llm_memory.models.migration import (
    DeadLetter,
    Fate,
    Outcome,
    Tally,
    WalkBatch,
)
from astrbot_plugin_scoped_memory.llm_memory.models.settings import WalkPace

pytestmark = pytest.mark.unit

QUICK = WalkPace(batch=3, least_pause=0.0, most_pause=0.0, retry_seconds=(0.0,))


class Counting:
    """A walk that notes what it was given."""

    name = "counting"

    def __init__(
        self, ids: Sequence[str], before: Callable[[Sequence[str]], None] | None = None
    ) -> None:
        self.ids = list(ids)
        self.steps: list[tuple[str, ...]] = []
        self.lists = 0
        self._before = before

    async def list(self) -> Sequence[str]:
        self.lists += 1
        return self.ids

    async def step(self, ids: Sequence[str]) -> WalkBatch:
        if self._before is not None:
            self._before(ids)
        self.steps.append(tuple(ids))
        return WalkBatch(tuple(Outcome(one, Fate.ADOPTED, patched=True) for one in ids))


@pytest.fixture
def store(tmp_path: Path) -> SqliteMigrationStore:
    made = SqliteMigrationStore(tmp_path / "migration.sqlite")
    made.open()
    return made


async def test_each_record_comes_once_in_batches_of_the_size_asked_for(
    store: SqliteMigrationStore,
) -> None:
    walk = Counting("abcdefga")
    walker = RecordWalker(store, QUICK)
    assert await walker.run(walk) == Tally(scanned=7, patched=7, adopted=7)
    assert walk.steps == [("a", "b", "c"), ("d", "e", "f"), ("g",)]
    walk.ids.append("h")
    assert (await walker.run(walk)).scanned == 8
    assert walk.steps[-1] == ("h",)  # what has an outcome is left alone


async def test_no_batch_is_larger_than_two_hundred_and_no_rest_is_shorter_or_longer_than_it_says(
    store: SqliteMigrationStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    rests: list[float] = []
    real = asyncio.sleep

    async def sleep(seconds: float) -> None:
        rests.append(seconds)
        await real(0)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    walk = Counting([str(number) for number in range(450)])
    await RecordWalker(store, WalkPace(batch=1000)).run(walk)
    assert [len(ids) for ids in walk.steps] == [200, 200, 50]
    assert len(rests) == 2
    assert all(0.05 <= rest <= 0.2 for rest in rests)
    pace = WalkPace()
    assert (pace.pause(0.001), pace.pause(0.1), pace.pause(9.0)) == (0.05, 0.1, 0.2)


async def test_a_record_that_fails_is_a_dead_letter_named_in_the_log_and_the_others_go_on(
    store: SqliteMigrationStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[object] = []
    monkeypatch.setattr(
        record_walker.logger, "warning", lambda code, **said: told.append((code, said))
    )

    def fail(ids: Sequence[str]) -> None:
        if "e" in ids:
            raise KeyError("e")

    walk = Counting("abcdefgh", fail)
    tally = await RecordWalker(store, QUICK).run(walk)
    assert (tally.scanned, tally.adopted, tally.broken) == (8, 7, 1)
    assert store.dead_letters("counting", 5) == (DeadLetter("counting", "e", "KeyError", ""),)
    said = {"walk": "counting", "count": 1, "records": ("e (KeyError)",)}
    assert told == [("records_broken", said)]


async def test_a_source_that_does_not_answer_is_asked_again_with_a_fresh_list(
    store: SqliteMigrationStore,
) -> None:
    faults = [IndexUnavailable("x", code="server_slow"), VaultWriteFailed("full"), None, None]
    seen: list[str] = []

    def fail(_: Sequence[str]) -> None:
        seen.extend(walker.waits())
        fault = faults.pop(0)
        if fault is not None:
            raise fault

    walk = Counting("abcdef", fail)
    walker = RecordWalker(store, QUICK)
    assert (await walker.run(walk)).scanned == 6
    assert walk.lists == 3
    assert walker.waits() == ()
    assert walk.steps == [("a", "b", "c"), ("d", "e", "f")]


async def test_cancelled_in_a_batch_it_ends_that_batch_and_notes_it(
    store: SqliteMigrationStore,
) -> None:
    inside, go_on = asyncio.Event(), asyncio.Event()

    class Slow(Counting):
        async def step(self, ids: Sequence[str]) -> WalkBatch:
            inside.set()
            await go_on.wait()
            return await super().step(ids)

    walk = Slow("abcdef")
    task = asyncio.create_task(RecordWalker(store, QUICK).run(walk))
    await inside.wait()
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert store.ids_with_outcome("counting") == {"a", "b", "c"}


async def test_paused_it_lists_and_waits_but_not_where_a_person_asked(
    store: SqliteMigrationStore,
) -> None:
    walk = Counting("abcdef")
    walker = RecordWalker(store, QUICK)
    walker.paused = True
    task = asyncio.create_task(walker.run(walk))
    while walker.progress("counting") is None:  # noqa: ASYNC110  (nobody tells)
        await asyncio.sleep(0)
    progress = walker.progress("counting")
    assert progress is not None
    assert (progress.remaining, walk.steps) == (6, [])
    walker.paused = False
    assert (await task).scanned == 6
    walker.paused = True
    walk.ids.append("g")
    assert (await walker.run(walk, though_paused=True)).scanned == 7


async def test_where_one_record_after_the_other_fails_none_of_them_is_to_blame(
    store: SqliteMigrationStore,
) -> None:
    def fail(ids: Sequence[str]) -> None:
        if int(ids[-1]) >= 10:
            raise KeyError("all")

    walk = Counting([str(number) for number in range(100)], fail)
    with pytest.raises(KeyError):
        await RecordWalker(store, QUICK).run(walk)
    assert store.tally("counting").broken == 0
    assert len(store.ids_with_outcome("counting")) == 10
