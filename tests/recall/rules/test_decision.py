"""The fitted order and the decision to speak, with the weights that are shipped and fixed ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.recall.rules.choosing import Candidate
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.order import (
    BEYOND_CHANCE,
    FEATURES,
    LONG,
    Message,
    decide,
    of_answer,
    recency,
    stated,
    terms,
)
from astrbot_plugin_scoped_memory.llm_memory.recall.weights import Linear, RecallWeights, shipped
from astrbot_plugin_scoped_memory.tests.support.memories import stored

pytestmark = pytest.mark.unit

SHARE = st.floats(0, 1)
NOTHING = dict.fromkeys(FEATURES, 0.0)
DRAWN = st.fixed_dictionaries(
    NOTHING
    | dict.fromkeys(("covered", "words", "recent", "stated"), SHARE)
    | {
        "near": st.floats(0, 8),
        "time": st.sampled_from([0.0, 0.26, 0.69, 1.39]),
        "speaker": st.sampled_from([0.0, 1.0]),
        "salient": st.floats(-1, 1),
        "verbatim": st.just(0.0),
    }
)
MESSAGE = Message(tokens=8, asks=1.0)


def decided(
    *rows: Mapping[str, float],
    weights: RecallWeights | None = None,
    trust: float = 0.0,
    floor: float = 0.5,
    places: int = 0,
    in_talk: bool = True,
    message: Message = MESSAGE,
) -> list[Candidate]:
    """The candidates of such features."""
    found = [Candidate(stored("话", n), features=NOTHING | row) for n, row in enumerate(rows)]
    decide(
        weights or shipped(),
        trust,
        message,
        found,
        places=places,
        in_talk=in_talk,
        floor_of=lambda _: floor,
    )
    return found


@given(DRAWN, st.sampled_from(FEATURES), SHARE, st.floats(0, 2))
def test_more_of_what_speaks_for_an_answer_never_lowers_it(
    row: dict[str, float], name: str, trust: float, more: float
) -> None:
    weights = shipped().order.at(trust).weights
    better = row | {name: row[name] + more}
    assert sum(terms(weights, better).values()) >= sum(terms(weights, row).values())


@given(st.lists(DRAWN, min_size=1, max_size=8), SHARE, SHARE, st.booleans())
def test_what_is_shown_unasked_is_found_by_a_search(
    rows: list[dict[str, float]], trust: float, floor: float, asks: bool
) -> None:
    message = replace(MESSAGE, asks=float(asks))
    unasked, searched = (
        decided(*rows, trust=trust, floor=floor, in_talk=in_talk, message=message)
        for in_talk in (True, False)
    )
    for row, told, found in zip(rows, unasked, searched, strict=True):
        assert max(told.relevance, found.relevance) <= 1
        assert (told.relevance >= 0) is not told.weak
        related = row["covered"] > 0 or row["near"] >= BEYOND_CHANCE
        assert (found.relevance >= 0) is (related or floor <= 0)


@given(st.lists(DRAWN, min_size=1, max_size=8))
def test_the_higher_the_floor_the_less_is_said_and_nothing_with_the_highest(
    rows: list[dict[str, float]],
) -> None:
    shown = [
        sum(one.relevance >= 0 for one in decided(*rows, trust=1.0, floor=floor))
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
    rows = ({"covered": 0.8, "words": 1.0}, {"covered": covered})
    assert decided(*rows, weights=weights, places=places, floor=0.001)[1].weak is not shown


def test_every_weight_is_of_something_that_is_known() -> None:
    assert decide(shipped(), 1.0, MESSAGE, [], floor_of=lambda _: 0.5)[0] == 0.0
    told = of_answer(MESSAGE, [])
    for pair, known in ((shipped().order, FEATURES), (shipped().speak, told)):
        assert pair.words.weights.keys() | pair.both.weights.keys() <= set(known)


@given(SHARE)
def test_between_two_models_a_score_lies_between_theirs(share: float) -> None:
    pair = replace(
        shipped().order, words=Linear({"a": 1.0, "b": 2.0}, 0.5), both=Linear({"a": 3.0}, -0.5)
    )
    values = {"a": 2.0, "b": 1.0}
    low, high = sorted((pair.words.score(values), pair.both.score(values)))
    assert low - 1e-9 <= pair.at(share).score(values) <= high + 1e-9


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
