"""Who is read first of a day's tokens; and for any turns in any order: no flood of strangers keeps
others from being read, and the tokens of a day are never exceeded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.loop import UNMAPPED, WaitingLine
from astrbot_plugin_scoped_memory.llm_memory.reflection.rules.fair_shares import (
    LEAST_CALL,
    Allowance,
)

pytestmark = [pytest.mark.unit, pytest.mark.property]

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
DAILY = 50_000
Call = tuple[str, int]


def line(scope: str) -> WaitingLine:
    return WaitingLine(scope, f"chat of {scope}", "", 9, NOON, NOON)


def allowance(used: Mapping[str, int], *, night: int = 0) -> Allowance:
    return Allowance(DAILY, sum(used.values()) + night, used)


def test_the_group_that_used_the_fewest_tokens_comes_first_and_ties_as_they_came() -> None:
    names = ["公司", "dm-1-x", "家人", "新的", "public"]
    used = {"公司": 9_000, UNMAPPED: 900, "家人": 900}
    order = allowance(used).in_order(list(map(line, names)))
    assert [one.scope for one in order] == ["新的", "dm-1-x", "家人", "public", "公司"]


@pytest.mark.parametrize(
    ("used", "night", "group", "left"),
    [
        ({"家人": 30_000}, 0, "家人", 20_000),
        ({"家人": 30_000}, 0, "公司", 20_000),
        ({"家人": 60_000}, 0, "公司", 0),
        ({UNMAPPED: 24_000}, 0, UNMAPPED, 1_000),
        ({UNMAPPED: 24_000}, 0, "家人", 26_000),
        ({UNMAPPED: 26_000}, 0, UNMAPPED, 0),
        ({}, 40_000, UNMAPPED, 10_000),
    ],
)
def test_strangers_may_use_half_of_a_day_and_others_all_of_it(
    used: Mapping[str, int], night: int, group: str, left: int
) -> None:
    assert allowance(used, night=night).left_for(group) == left


def test_the_night_has_a_fifth_and_what_is_overheard_half() -> None:
    assert allowance({"家人": 10_000}, night=4_000).left_for_night == 6_000
    assert allowance({"家人": 45_000}).left_for_night == 5_000
    assert allowance({"家人": 24_999}).overhears
    assert not allowance({"家人": 20_000}, night=5_000).overhears


@given(
    st.lists(
        st.tuples(st.sampled_from(["家人", "公司", "public"]), st.integers(LEAST_CALL, 12_000)),
        max_size=40,
    )
)
def test_of_all_that_wait_the_one_that_used_least_is_read_and_nothing_is_exceeded(
    waiting: list[Call],
) -> None:
    used = Counter[str]()
    while True:
        now = allowance(dict(used))
        groups = now.in_order([line(scope) for scope in dict.fromkeys(one for one, _ in waiting)])
        fitting = (
            call
            for one in groups
            for call in waiting
            if call[0] == one.scope and call[1] <= now.left_for(one.group)
        )
        if (call := next(fitting, None)) is None:
            break
        waiting.remove(call)
        group = line(call[0]).group
        for other, price in waiting:
            less = used[line(other).group] < used[group]
            assert not less or price > now.left_for(line(other).group)
        used[group] += call[1]
    assert used.total() <= DAILY
    assert used[UNMAPPED] <= DAILY // 2
    assert all(cost > allowance(dict(used)).left_for(line(one).group) for one, cost in waiting)
