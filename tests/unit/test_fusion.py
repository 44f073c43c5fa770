"""Two arms become one order; and how far an embedder is trusted in it."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.components.tokenizer import Tokenizer
from astrbot_plugin_scoped_memory.llm_memory.policies.fusion import (
    LEAST_FOUND,
    beside,
    fuse,
    outstanding,
    spread,
    sureness,
    surer,
)
from astrbot_plugin_scoped_memory.llm_memory.policies.language import Language, language_of
from astrbot_plugin_scoped_memory.llm_memory.policies.trust import MOST, PROBES, Trust, weight_of

scores = st.dictionaries(st.integers(0, 20), st.floats(0, 1), max_size=15)
TOKENIZER = Tokenizer()


@given(scores, scores)
def test_an_embedder_without_trust_changes_nothing(
    words: dict[int, float], near: dict[int, float]
) -> None:
    assert fuse(words, near, dense_weight=0.0) == words


@given(scores, scores, st.floats(0.01, 1))
def test_everything_that_an_arm_found_is_a_candidate(
    words: dict[int, float], near: dict[int, float], weight: float
) -> None:
    fused = fuse(words, near, dense_weight=weight)
    assert fused.keys() == words.keys() | near.keys()
    assert all(0 <= score <= 1 for score in fused.values())


def test_what_the_dense_arm_cannot_know_yet_loses_nothing() -> None:
    words, near = {"new": 1.0, "old": 0.9}, {"old": 1.0}
    fused = fuse(words, near, dense_weight=0.4, behind=["new"])
    assert fused["new"] > fused["old"]
    assert fuse(words, near, dense_weight=0.4)["new"] < fused["old"]


@given(scores)
def test_spread_keeps_the_order_and_leaves_0_to_what_was_not_found(near: dict[int, float]) -> None:
    made = spread(near)
    assert made.keys() == near.keys()
    for one in near:
        for other in near:
            assert near[one] > near[other] or made[one] <= made[other]
    if len(set(near.values())) > 1:
        assert max(made.values()) == 1.0
        assert min(made.values()) == pytest.approx(LEAST_FOUND)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=12), st.floats(0, 1))
def test_of_two_neighbours_the_better_one_stays_the_better_one(
    row: list[float], follows: float
) -> None:
    before = {place: (place - 1, follows) for place in range(1, len(row))}
    smoothed = beside(dict(enumerate(row)), before)
    for place in range(1, len(row)):
        if row[place] > row[place - 1] + 1e-9:
            better = all(
                row[other] <= row[place]
                for other in (place - 2, place + 1)
                if 0 <= other < len(row)
            )
            assert not better or smoothed[place] > smoothed[place - 1]


def test_words_that_cover_little_of_a_question_count_little() -> None:
    assert sureness([0.5, 0.9], 0.4) == 1.0
    assert sureness([0.2], 0.4) == pytest.approx(0.5)
    assert sureness([], 0.4) == sureness([0.0], 0.4) == pytest.approx(0.3)
    assert sureness([0.0] * 5 + [0.9], 0.4) == pytest.approx(0.3), "only the first five count"


def by_chance(count: int, seed: int) -> list[float]:
    """The hundred nearest of so many that have nothing to do with the question."""
    chance = random.Random(seed)
    return sorted((chance.gauss(0.2, 0.05) for _ in range(count)), reverse=True)[:100]


@pytest.mark.parametrize("count", [50, 100, 1000, 10_000])
def test_what_is_nearest_by_chance_stands_out_of_no_crowd(count: int) -> None:
    found = [outstanding(by_chance(count, seed)) for seed in range(100)]
    assert sum(one > 1 for one in found) <= 15
    assert max(found) < 4
    assert all(surer(0.2, by_chance(count, seed)) < 0.35 for seed in range(100))


@pytest.mark.parametrize("count", [100, 1000, 10_000])
def test_what_answers_stands_out_of_every_crowd_and_makes_an_embedder_count_more(
    count: int,
) -> None:
    for seed in range(100):
        crowd = by_chance(count, seed)
        for answers in (1, 3):  # several may
            assert outstanding([0.7] * answers + crowd) > 4
            assert surer(MOST, [0.7] * answers + crowd) == pytest.approx(0.805)
            assert surer(0.0, [0.7] * answers + crowd) == 0.0, "no trust stays none"


near = st.lists(st.integers(0, 1000), min_size=20, max_size=100)


@given(near, st.sampled_from([0.001, 0.25, 4.0]), st.sampled_from([-2.0, 0.0, 0.5]))
def test_it_does_not_matter_what_a_model_calls_near(
    found: list[int], width: float, start: float
) -> None:
    moved = [start + width * one for one in found]
    assert outstanding(moved) == pytest.approx(outstanding(found), abs=1e-6)


@given(st.lists(st.floats(-1, 1), max_size=60), st.floats(0, 1))
def test_sure_of_itself_an_embedder_counts_no_less_and_never_more_than_all(
    found: list[float], weight: float
) -> None:
    assert weight <= surer(weight, found) <= 1
    assert surer(weight, [0.5] * len(found)) == weight
    if len(found) < 20:
        assert surer(weight, found) == weight, "too few to tell"


@pytest.mark.parametrize("language", list(Language))
def test_no_answer_of_the_examination_shares_a_word_with_its_question(language: Language) -> None:
    for question, answer in PROBES[language]:
        assert language_of(question) is language
        shared = set(TOKENIZER.query_tokens(question)) & set(TOKENIZER.tokens(answer))
        assert not shared, (question, answer, shared)


def test_who_finds_everything_gets_the_most_and_chance_nothing() -> None:
    count = len(PROBES[Language.CHINESE])
    perfect = [[float(row == column) for column in range(count)] for row in range(count)]
    assert weight_of(perfect) == MOST
    assert weight_of([[0.0] * count] * count) == 0.0
    assert weight_of([[]] * count) == 0.0
    chance = random.Random(7)
    for _ in range(200):
        assert weight_of([[chance.random() for _ in range(count)] for _ in range(count)]) == 0.0


def test_a_language_that_was_not_examined_gets_the_least_weight() -> None:
    trust = Trust({Language.CHINESE: 0.1, Language.ENGLISH: 0.3})
    assert trust.weight(Language.ENGLISH) == 0.3
    assert trust.weight(language_of("これは何ですか")) == 0.1
    assert trust.weight(language_of("??")) == 0.1
    assert Trust().weight(None) == 0.0
