"""Who is read first; and for any turns in any order: no flood keeps another group from being read,
and the tokens of a day are never exceeded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
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


def line(group: str) -> WaitingLine:
    return WaitingLine(group or "public", f"chat of {group}", "", 9, NOON, NOON)


def allowance(used: Mapping[str, int], *, night: int = 0) -> Allowance:
    return Allowance(50_000, sum(used.values()) + night, used)


def test_the_group_that_used_the_fewest_tokens_comes_first_and_ties_as_they_came() -> None:
    lines = [line("公司"), line(UNMAPPED), line("家人"), line("新的")]
    used = {"公司": 9_000, UNMAPPED: 900, "家人": 900}
    assert allowance(used).in_order(lines) == [lines[3], lines[1], lines[2], lines[0]]


def test_unmapped_conversations_may_use_half_of_the_day_and_mapped_ones_the_rest() -> None:
    at_its_end = allowance({UNMAPPED: 25_001 - LEAST_CALL})
    assert at_its_end.left_for(UNMAPPED) == LEAST_CALL - 1
    assert allowance({UNMAPPED: 25_000 - LEAST_CALL}).left_for(UNMAPPED) == LEAST_CALL
    assert allowance({}, night=40_000).left_for(UNMAPPED) == 10_000
    assert at_its_end.left_for("家人") == 50_000 - at_its_end.spent
    assert at_its_end.in_order([line(UNMAPPED), line("家人")]) == [line("家人")]


def test_a_part_is_kept_for_each_group_that_was_not_read_today() -> None:
    assert allowance({"家人": 30_000}).left_for("家人") == 20_000  # nobody else to keep it for
    now = allowance({"家人": 30_000, "公司": 0})
    assert (now.left_for("家人"), now.left_for("公司")) == (10_000, 20_000)
    assert allowance({"家人": 30_000, "公司": 100}).left_for("家人") == 19_900
    many = {"家人": 25_000, **{f"域{number}": 0 for number in range(9)}}
    assert allowance(many).left_for("家人") == 2_500  # half of the day is kept at most
    assert allowance(many).left_for("域1") == 5_000


def test_overheard_turns_are_read_until_half_of_the_day_is_spent() -> None:
    assert allowance({"家人": 24_999}).overhears
    assert not allowance({"家人": 20_000}, night=5_000).overhears


DAILY = 50_000
MORNING = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
GROUPS = ["家人", "公司", "学校", UNMAPPED]
groups = st.sampled_from(GROUPS)
Call = tuple[str, int]
calls = st.lists(st.tuples(groups, st.integers(LEAST_CALL, 12_000)), max_size=40)


def read(waiting: Sequence[Call], used: Counter[str], lately: Collection[str] = ()) -> list[Call]:
    """What is read of calls that wait at once, in order: one at a time, leaving out what does not
    fit. ``used`` is added to."""
    left, order = list(waiting), list[Call]()
    while True:
        now = Allowance(DAILY, used.total(), {**dict.fromkeys(lately, 0), **used})
        lines = [line(group) for group in dict.fromkeys(group for group, _ in left)]
        fitting = (
            call
            for one in now.in_order(lines)
            for call in left
            if call[0] == one.group and call[1] <= now.left_for(call[0])
        )
        if (call := next(fitting, None)) is None:
            return order
        left.remove(call)
        used[call[0]] += call[1]
        order.append(call)


@given(calls)
def test_of_two_that_wait_the_one_that_used_less_is_read_and_nothing_is_exceeded(
    arrived: list[Call],
) -> None:
    used = Counter[str]()
    order = read(arrived, used)
    assert used.total() <= DAILY
    assert used[UNMAPPED] <= DAILY // 2
    so_far = Counter[str]()
    waiting = Counter(arrived)
    for group, cost in order:
        now = Allowance(DAILY, so_far.total(), dict(so_far))
        for other, price in waiting:
            if so_far[other] < so_far[group]:
                assert price > now.left_for(other), (group, other, so_far)
        so_far[group] += cost
        waiting = waiting - Counter([(group, cost)])
    left = DAILY - used.total()
    assert all(cost > left or group == UNMAPPED for group, cost in waiting)


@given(st.lists(st.integers(LEAST_CALL, 12_000), min_size=5, max_size=40), groups, st.data())
def test_a_flood_of_any_group_leaves_the_others_their_reading_of_the_day(
    costs: list[int], flooder: str, data: st.DataObject
) -> None:
    used = Counter[str]()
    read([(flooder, cost) for cost in costs], used, lately=GROUPS)
    for group in data.draw(st.permutations([one for one in GROUPS if one != flooder])):
        assert read([(group, LEAST_CALL)], used, lately=GROUPS) == [(group, LEAST_CALL)]
    assert used.total() <= DAILY
