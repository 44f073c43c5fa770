"""Long work lets others have the interpreter, or the event loop, and so does the collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from astrbot_plugin_scoped_memory.llm_memory.runtime import cooperative as courtesy
from astrbot_plugin_scoped_memory.llm_memory.runtime.cooperative import cooperative, unhurried
from astrbot_plugin_scoped_memory.llm_memory.runtime.lifecycle import long_lived

pytestmark = pytest.mark.unit


class Day:
    """Time goes by only as it is told."""

    now = 0.0
    given = 0

    def perf_counter(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.given += 1
        self.now += seconds


class Loop:
    """Counts the moments that the event loop is given."""

    given = 0

    async def sleep(self, _: float) -> None:
        self.given += 1


@pytest.mark.parametrize(("count", "given"), [(3, 0), (100, 25)])
def test_long_work_gives_others_a_moment_after_each_millisecond(
    monkeypatch: pytest.MonkeyPatch, count: int, given: int
) -> None:
    day, taken, came = Day(), list[int](), list[int]()
    monkeypatch.setattr(courtesy, "time", day)

    def source() -> Iterator[int]:
        for number in range(count):
            taken.append(number)
            yield number

    for number in cooperative(source()):
        came.append(number)
        assert taken == came, "none before it is asked for"
        day.now += 0.000_3
    assert came == list(range(count))
    assert day.given == given


@pytest.mark.parametrize(("seconds", "given"), [(0.000_001, 0), (0.000_3, 25), (0.01, 100)])
async def test_long_work_on_the_loop_holds_it_no_longer_than_a_millisecond_or_one_item(
    monkeypatch: pytest.MonkeyPatch, seconds: float, given: int
) -> None:
    day, loop = Day(), Loop()
    monkeypatch.setattr(courtesy, "time", day)
    monkeypatch.setattr(courtesy, "asyncio", loop)
    came = list[int]()
    async for number in unhurried(range(100)):
        came.append(number)
        day.now += seconds
    assert came == list(range(100))
    assert loop.given == given


def test_what_is_made_to_stay_is_set_apart_before_the_collector_looks_at_it() -> None:
    try:
        with pytest.raises(LookupError), long_lived():
            assert not gc.isenabled()
            made = [[number] for number in range(1000)]
            raise LookupError
        assert gc.isenabled()
        assert gc.get_freeze_count() >= len(made)
    finally:
        gc.unfreeze()
