"""How much goes into one write call."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.index.vector.write_pace import (
    LEAST_REST,
    LONG,
    WritePace,
)

pytestmark = pytest.mark.unit


class Machine:
    """A clock that only moves while something is written or slept."""

    def __init__(self, seconds_a_record: float) -> None:
        self.now = 0.0
        self.seconds_a_record = seconds_a_record
        self.calls: list[tuple[int, float]] = []
        self.rests: list[float] = []
        self.pace = WritePace(clock=lambda: self.now, sleep=self.rests.append)

    def write(self, records: int) -> list[int]:
        """Write so many records; what was written, in order."""
        written = []
        for portion in self.pace.portions(range(records)):
            took = len(portion) * self.seconds_a_record
            self.now += took
            self.calls.append((len(portion), took))
            written += portion
        return written


@given(st.integers(0, 400), st.floats(0.0, 0.2))
def test_all_is_written_once_and_in_order(records: int, seconds_a_record: float) -> None:
    assert Machine(seconds_a_record).write(records) == list(range(records))


@given(st.floats(0.0001, LONG / 2))
def test_after_a_few_calls_none_is_much_too_long(seconds_a_record: float) -> None:
    machine = Machine(seconds_a_record)
    machine.write(600)
    assert all(took <= 2 * LONG for _, took in machine.calls[3:])


def test_the_others_get_half_of_the_time_and_the_last_call_needs_no_rest() -> None:
    machine = Machine(0.02)
    machine.write(10)
    assert len(machine.rests) == len(machine.calls) - 1
    for (_, took), rest in zip(machine.calls, machine.rests, strict=False):
        assert rest == max(took, LEAST_REST)
