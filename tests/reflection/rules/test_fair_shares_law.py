"""For any turns in any order: no flood keeps another group from being read, the day's tokens are
never exceeded, and a full queue drops nothing of one who holds less than others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.loop import UNMAPPED, Party, WaitingLine
from astrbot_plugin_scoped_memory.llm_memory.reflection.rules.fair_shares import (
    LEAST_CALL,
    Allowance,
    choose_evicted,
)

pytestmark = [pytest.mark.unit, pytest.mark.property]

DAILY = 50_000
MORNING = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
GROUPS = ["家人", "公司", "public", UNMAPPED]
SPEAKERS = [("家人", 1), ("家人", 2), ("公司", 3), ("public", 9), ("public", 66), ("dm-5-x", 5)]
PARTIES = [Party(scope, f"qq:{number}", number < 10) for scope, number in SPEAKERS]
parties = st.sampled_from(PARTIES)
groups = st.sampled_from(GROUPS)
Call = tuple[str, int]
calls = st.lists(st.tuples(groups, st.integers(LEAST_CALL, 12_000)), max_size=40)


def read(waiting: Sequence[Call], used: Counter[str], lately: Collection[str] = ()) -> list[Call]:
    """What is read of calls that wait at once, in order: one at a time, leaving out what does not
    fit. ``used`` is added to."""
    left, order = list(waiting), list[Call]()
    while True:
        now = Allowance(DAILY, used.total(), {**dict.fromkeys(lately, 0), **used})
        lines = [
            WaitingLine(group, group, "", 1, MORNING, MORNING, "", (group,))
            for group in dict.fromkeys(group for group, _ in left)
        ]
        fitting = (
            call
            for line in now.in_order(lines)
            for call in left
            if call[0] == line.scope and call[1] <= now.left_for(call[0])
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


@given(st.lists(parties, max_size=200), st.integers(1, 20))
def test_a_full_queue_drops_nothing_of_one_who_holds_less(
    arrived: list[Party], places: int
) -> None:
    held: Counter[Party] = Counter()
    for newcomer in arrived:
        if held.total() < places:
            held[newcomer] += 1
            continue
        of_group: Counter[str] = Counter()
        for party, count in held.items():
            of_group[party.group] += count
        leaves = choose_evicted(dict(held), newcomer)
        if leaves is None:  # nobody holds more: neither another group, nor another in its own
            assert of_group[newcomer.group] == max(of_group.values())
            own = [count for party, count in held.items() if party.group == newcomer.group]
            assert held[newcomer] == max(own)
            continue
        if leaves.group == newcomer.group:
            assert held[leaves] > held[newcomer]
        else:
            assert of_group[leaves.group] > of_group[newcomer.group]
        held[leaves] -= 1
        held[newcomer] += 1
        held = +held
        assert held.total() == places
