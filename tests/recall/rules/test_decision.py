"""The fitted order and the decision to speak, with the weights that are shipped and fixed ones."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.recall.rules.decision import BEYOND_CHANCE, decide
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.features import (
    LONG,
    Features,
    Message,
    recency,
    stated,
)
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.weights import (
    Linear,
    order_terms,
)
from astrbot_plugin_scoped_memory.llm_memory.recall.weights_file import shipped

pytestmark = pytest.mark.unit

SHARE = st.floats(0, 1)
FEATURES = st.builds(
    Features,
    near=st.floats(0, 8),
    covered=SHARE,
    words=SHARE,
    time=st.sampled_from([0.0, 0.26, 0.69, 1.39]),
    speaker=st.sampled_from([0.0, 1.0]),
    recent=SHARE,
    salient=st.floats(-1, 1),
    stated=SHARE,
)
MESSAGE = Message(tokens=8, asks=1.0)


@given(FEATURES, st.sampled_from(list(asdict(Features()))), SHARE, st.floats(0, 2))
def test_more_of_what_speaks_for_an_answer_never_lowers_it(
    row: Features, name: str, trust: float, more: float
) -> None:
    model = shipped().order.at(trust)
    better = replace(row, **{name: getattr(row, name) + more})
    assert sum(order_terms(model, better).values()) >= sum(order_terms(model, row).values())


@given(st.lists(FEATURES, min_size=1, max_size=8), SHARE, SHARE, st.booleans())
def test_what_is_shown_unasked_is_found_by_a_search(
    rows: list[Features], trust: float, floor: float, asks: bool
) -> None:
    message = replace(MESSAGE, asks=float(asks))
    decision = decide(shipped(), trust, message, rows)
    for place, row in enumerate(rows):
        unasked = decision.relevance(place, in_talk=True, floor=floor)
        searched = decision.relevance(place, in_talk=False, floor=floor)
        assert unasked <= 1
        assert searched <= 1
        assert (unasked >= 0) is not decision.is_weak(place, floor=floor)
        related = row.covered > 0 or row.near >= BEYOND_CHANCE
        assert (searched >= 0) is (related or floor <= 0)


@given(st.lists(FEATURES, min_size=1, max_size=8))
def test_the_higher_the_floor_the_less_is_said_and_nothing_with_the_highest(
    rows: list[Features],
) -> None:
    decision = decide(shipped(), 1.0, MESSAGE, rows)
    shown = [
        sum(decision.relevance(place, in_talk=True, floor=floor) >= 0 for place in range(len(rows)))
        for floor in (0.0, 0.3, 0.5, 0.9, 1.01)
    ]
    assert shown == sorted(shown, reverse=True)
    assert shown[0] > 0
    assert shown[-1] == 0


@pytest.mark.parametrize(
    ("covered", "behind", "places", "shown"),
    [(0.6, 3.5, 3, True), (0.6, 3.5, 1, False), (0.6, 5.0, 3, False), (0.1, 3.5, 3, False)],
)
def test_while_places_are_free_an_answer_may_lie_a_little_further_behind(
    covered: float, behind: float, places: int, *, shown: bool
) -> None:
    model = Linear({"covered": 1.0, "words": behind - 0.8 + covered})
    weights = replace(shipped(), order=replace(shipped().order, words=model), within=3.3)
    rows = [Features(covered=0.8, words=1.0), Features(covered=covered)]
    decision = decide(weights, 0.0, MESSAGE, rows, places)
    assert decision.is_weak(1, floor=0.001) is not shown


def test_nothing_found_is_nothing_said() -> None:
    assert decide(shipped(), 1.0, MESSAGE, []).chance == 0.0


@given(SHARE)
def test_between_two_models_a_score_lies_between_theirs(share: float) -> None:
    words, both = Linear({"a": 1.0, "b": 2.0}, 0.5), Linear({"a": 3.0}, -0.5)
    values = {"a": 2.0, "b": 1.0}
    low, high = sorted((words.score(values), both.score(values)))
    assert low - 1e-9 <= words.towards(both, share).score(values) <= high + 1e-9


@pytest.mark.parametrize(
    ("short", "longer"),
    [("好的", "好的，周六上午十点在北门集合"), ("Wow!", "Wow, we met at the north gate at ten")],
)
def test_a_text_that_states_more_counts_more_up_to_a_bound(short: str, longer: str) -> None:
    assert 0 < stated(short) < stated(longer) <= 1
    assert stated("长" * LONG) == stated("长" * 10_000) == 1
    assert stated("") == 0


@pytest.mark.parametrize("asked", ["周六去哪里？", "Where to? ", "What? When?"])
def test_what_a_text_asks_is_not_stated(asked: str) -> None:
    assert stated(asked.strip()) == 0
    assert stated(f"去南门。{asked}".strip()) == stated("去南门。")


def test_what_is_newer_is_more_recent_and_what_was_said_tomorrow_is_said_now() -> None:
    ages = [recency(age) for age in (-1.0, 0.0, 1.0, 30.0, 4000.0)]
    assert ages[0] == ages[1] == 1.0
    assert ages[1:] == sorted(ages[1:], reverse=True)
    assert ages[-1] > 0
