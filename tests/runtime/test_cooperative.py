"""Long work in a thread lets others have the interpreter."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from astrbot_plugin_scoped_memory.llm_memory.runtime import cooperative as courtesy
from astrbot_plugin_scoped_memory.llm_memory.runtime.cooperative import cooperative

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
