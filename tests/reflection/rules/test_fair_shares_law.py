"""For any turns in any order: no party within its share waits for one beyond its own, tokens
without other demand are used, and a full queue evicts no turn of a party within its share."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.loop import Party, WaitingLine
from astrbot_plugin_scoped_memory.llm_memory.reflection.rules.fair_shares import (
    LEAST_CALL,
    Allowance,
    Shares,
    choose_evicted,
    in_order,
)

pytestmark = [pytest.mark.unit, pytest.mark.property]

DAILY = 50_000
MORNING = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
LAST_SECOND = datetime(2026, 11, 21, 23, 59, 59, tzinfo=UTC)
PARTIES = [
    Party(scope, f"qq:{number}", known)
    for scope, number, known in [
        ("家人", 1, True),
        ("家人", 2, True),
        ("公司", 3, True),
        ("public", 9, True),
        ("public", 66, False),
        ("public", 67, False),
        ("dm-5-x", 5, False),
    ]
]
parties = st.sampled_from(PARTIES)
calls = st.lists(st.tuples(parties, st.integers(LEAST_CALL, 12_000)), max_size=40)


def line_of(party: Party) -> WaitingLine:
    return WaitingLine(party.scope, party.speaker, "", 1, MORNING, MORNING, "", (party,))


def read_day(arrived: list[tuple[Party, int]], now: datetime) -> list[tuple[Party, int]]:
    """What is read of calls that all wait at once, in order: as the reader does it, one at a time,
    leaving out what does not fit."""
    waiting, used, order = list(arrived), Counter[Party](), list[tuple[Party, int]]()
    while True:
        allowance = Allowance.at(now, DAILY, used.total(), dict(used))
        lines = [line_of(party) for party in dict.fromkeys(party for party, _ in waiting)]
        shares = allowance.shares([party for one in lines for party in one.parties])
        for line in in_order(lines, shares):
            party = line.parties[0]
            left = DAILY - used.total() if party.known else allowance.left_for_strangers
            call = next((call for call in waiting if call[0] == party and call[1] <= left), None)
            if call is not None and allowance.served(line, shares):
                break
        else:
            return order
        for other in shares.within:
            afford = DAILY - used.total() if other.known else allowance.left_for_strangers
            fits = any(one == other and cost <= afford for one, cost in waiting)
            assert not (fits and shares.is_beyond(party)), (party, other, used)
        waiting.remove(call)
        used[party] += call[1]
        order.append(call)


@given(calls)
def test_no_party_within_its_share_waits_for_one_beyond_its_own(
    arrived: list[tuple[Party, int]],
) -> None:
    read = read_day(arrived, MORNING)
    assert sum(cost for _, cost in read) <= DAILY
    assert sum(cost for party, cost in read if not party.known) <= DAILY // 2
    assert read == read_day(arrived, MORNING)


@given(calls)
def test_by_the_end_of_the_day_all_is_read_that_fits(arrived: list[tuple[Party, int]]) -> None:
    read = read_day(arrived, LAST_SECOND)
    left = DAILY - sum(cost for _, cost in read)
    unread = Counter(arrived) - Counter(read)
    # The last second is not the end: strangers and those beyond their share lack that of a call.
    assert all(cost > left - 1 or left < LEAST_CALL for _, cost in unread)


@given(st.lists(st.integers(LEAST_CALL, 12_000), max_size=20), parties)
def test_a_party_alone_may_use_the_rest(costs: list[int], party: Party) -> None:
    read = read_day([(party, cost) for cost in costs], LAST_SECOND)
    left = DAILY - sum(cost for _, cost in read)
    unread = Counter(costs) - Counter(cost for _, cost in read)
    assert all(cost > left - 1 for cost in unread)


@given(
    st.lists(parties, max_size=200),
    st.integers(1, 20),
)
def test_a_full_queue_takes_from_those_beyond_their_share_alone(
    arrived: list[Party], places: int
) -> None:
    held: Counter[Party] = Counter()
    for newcomer in arrived:
        if held.total() < places:
            held[newcomer] += 1
            continue
        before = dict(held)
        shares = Shares(places, before, {*before, newcomer})
        leaves = choose_evicted(places, before, newcomer)
        if leaves is None:
            alone = all(not party.known for party in before) or newcomer.known
            within_group = shares.group_used(newcomer) < shares.group_share(newcomer)
            assert not (alone and newcomer.known and within_group), (before, newcomer)
            continue
        assert before[leaves] > shares.own_share(leaves)
        assert before.get(newcomer, 0) <= shares.own_share(newcomer) or newcomer.known
        assert newcomer.known or not leaves.known
        assert leaves != newcomer
        held[leaves] -= 1
        held[newcomer] += 1
        held = +held
