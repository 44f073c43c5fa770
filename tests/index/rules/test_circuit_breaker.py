"""When a failing index is tried again, and when it is begun anew."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.index.rules.circuit_breaker import (
    BETWEEN_REBUILDS,
    FAULTS,
    UNEXPLAINED,
    WINDOW,
    CircuitBreaker,
    Decision,
)

pytestmark = pytest.mark.unit

WAITS = (2.0, 5.0, 15.0, 60.0)


def after(*faults: tuple[float, str]) -> list[Decision]:
    """What is decided at each fault."""
    breaker = CircuitBreaker()
    decisions = []
    for now, code in faults:
        breaker, decision = breaker.failed(now, code, WAITS)
        decisions.append(decision)
    return decisions


def test_the_waits_grow_and_the_last_one_stays() -> None:
    waits = [decision.wait for decision in after(*[(float(n), "server_down") for n in range(6)])]
    assert waits == [2.0, 5.0, 15.0, 60.0, 60.0, 60.0]


def test_an_index_that_served_for_long_is_tried_again_soon() -> None:
    first, second = after((0.0, UNEXPLAINED), (WINDOW + 1, UNEXPLAINED))
    assert first.wait == second.wait == 2.0


@pytest.mark.parametrize(
    ("apart", "code", "begun_anew"),
    [
        (1.0, UNEXPLAINED, True),
        (1.0, "server_down", False),  # a cause outside of the index
        (WINDOW / 2 + 1, UNEXPLAINED, False),
    ],
)
def test_the_third_unexplained_fault_in_a_while_begins_it_anew(
    apart: float, code: str, begun_anew: bool
) -> None:
    decisions = after(*[(n * apart, code) for n in range(FAULTS)])
    assert [decision.rebuild for decision in decisions] == [False, False, begun_anew]


@given(st.lists(st.floats(0.1, 900.0), max_size=200))
def test_a_rebuild_that_does_not_help_is_not_repeated_soon(gaps: list[float]) -> None:
    now, times = 0.0, []
    for gap in gaps:
        now += gap
        times.append((now, UNEXPLAINED))
    moments = [
        time for (time, _), decision in zip(times, after(*times), strict=True) if decision.rebuild
    ]
    assert all(b - a > BETWEEN_REBUILDS for a, b in pairwise(moments))
