"""Long work in a thread lets others have the interpreter."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from astrbot_plugin_scoped_memory.llm_memory.runtime import cooperative as courtesy
from astrbot_plugin_scoped_memory.llm_memory.runtime.cooperative import cooperative

pytestmark = pytest.mark.unit


class Day:
    """Time goes by only as it is told."""

    def __init__(self) -> None:
        self.now = 0.0
        self.given = 0

    def perf_counter(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.given += 1
        self.now += seconds

    def work(self, milliseconds: float) -> None:
        """On the item that is at hand."""
        self.now += milliseconds / 1000


@pytest.fixture
def day(monkeypatch: pytest.MonkeyPatch) -> Day:
    made = Day()
    monkeypatch.setattr(courtesy, "time", made)
    return made


def test_each_item_comes_once_and_in_its_order_and_none_before_it_is_asked_for(day: Day) -> None:
    taken = []

    def source() -> Iterator[int]:
        for number in range(5):
            taken.append(number)
            yield number

    came = cooperative(source())
    assert (next(came), taken) == (0, [0])
    assert list(came) == [1, 2, 3, 4]
    assert day.given == 0


def test_long_work_gives_others_a_moment_after_each_millisecond(day: Day) -> None:
    for count, given in ((3, 0), (100, 25)):
        for _ in cooperative(range(count)):
            day.work(0.3)
        assert day.given == given
