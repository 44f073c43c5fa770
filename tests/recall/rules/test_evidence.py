"""How likely a candidate is to answer, from what both arms found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.recall.rules.evidence import (
    BOTH,
    VECTORS_ALONE,
    WORDS_ALONE,
    Asked,
    Scale,
    evidence,
    probability,
)
from astrbot_plugin_scoped_memory.llm_memory.text.language import Language

pytestmark = pytest.mark.unit

KEYS = st.integers(0, 60)
COVERAGES = st.dictionaries(KEYS, st.floats(0, 1), max_size=60)
SIMILARITIES = st.dictionaries(KEYS, st.floats(-1, 1), max_size=60)
SCALE = Scale(0.8, 0.02)
ASKED = Asked(Language.CHINESE, 15)


@given(COVERAGES, SIMILARITIES)
def test_an_embedder_without_trust_tells_nothing(
    coverages: dict[int, float], similarities: dict[int, float]
) -> None:
    both = evidence(ASKED, coverages, similarities, scale=SCALE, weight=0.0)
    alone = evidence(ASKED, coverages, {}, scale=SCALE, weight=0.0)
    assert both | alone == pytest.approx(both)


@given(COVERAGES, SIMILARITIES, st.floats(0, 1))
def test_everything_found_is_weighed_and_more_of_either_is_never_less(
    coverages: dict[int, float], similarities: dict[int, float], weight: float
) -> None:
    found = evidence(ASKED, coverages, similarities, scale=SCALE, weight=weight)
    assert found.keys() == coverages.keys() | similarities.keys()
    for one in found:
        for other in found:
            if coverages.get(one, 0.0) >= coverages.get(other, 0.0) and similarities.get(
                one, -1.0
            ) >= similarities.get(other, -1.0):
                assert found[one] >= found[other] - 1e-9


@given(COVERAGES, SIMILARITIES, st.sampled_from([0.25, 4.0]), st.sampled_from([-0.5, 0.25]))
def test_it_does_not_matter_what_a_model_calls_near(
    coverages: dict[int, float], similarities: dict[int, float], width: float, start: float
) -> None:
    moved = {key: start + width * value for key, value in similarities.items()}
    scale = Scale(start + width * SCALE.mean, width * SCALE.deviation)
    assert evidence(ASKED, coverages, moved, scale=scale, weight=1.0) == pytest.approx(
        evidence(ASKED, coverages, similarities, scale=SCALE, weight=1.0), abs=1e-6
    )


def test_an_embedder_that_sees_no_difference_tells_nothing() -> None:
    scale = Scale(1.0, 0.0)
    found = evidence(ASKED, {1: 0.5}, {1: 1.0, 2: 1.0}, scale=scale, weight=1.0)
    assert found[1] > found[2] == pytest.approx(-BOTH.enough)
    alone = evidence(ASKED, None, {1: 1.0}, scale=scale, weight=0.0)
    assert alone[1] == pytest.approx(-VECTORS_ALONE.enough)


def test_the_very_words_are_found_among_hundreds_alike() -> None:
    alike = dict.fromkeys(range(200), 0.8)
    for weight in (0.0, 1.0):
        found = evidence(ASKED, alike | {7: 1.0}, {}, scale=Scale(0.5, 0.02), weight=weight)
        assert max(found, key=lambda key: found[key]) == 7
    near = evidence(Asked(Language.CHINESE, 5), None, alike | {7: 1.0}, scale=SCALE, weight=0.0)
    assert probability(near[7]) > 0.5 > probability(near[8])


def test_what_each_kind_of_evidence_counts() -> None:
    words = WORDS_ALONE[Language.CHINESE]
    alone = evidence(ASKED, {1: 0.5}, {}, scale=SCALE, weight=0.0)[1]
    assert alone == pytest.approx(words.words * 0.5 - words.enough)
    near = evidence(ASKED, {1: 0.5}, {1: 0.84}, scale=SCALE, weight=1.0)[1]
    assert near == pytest.approx(BOTH.words * 0.5 + BOTH.near * 2 - BOTH.enough)
    half = evidence(ASKED, {1: 0.5}, {1: 0.84}, scale=SCALE, weight=0.5)[1]
    assert half == pytest.approx((alone + near) / 2, abs=0.5)


def test_what_is_not_in_the_index_yet_is_told_by_its_words_alone() -> None:
    similarities = dict.fromkeys(range(50), 0.9)
    coverages = {99: 0.6} | dict.fromkeys(range(50), 0.1)
    fresh = evidence(ASKED, coverages, similarities, scale=SCALE, weight=1.0, behind=[99])
    alone = evidence(ASKED, coverages, {}, scale=SCALE, weight=0.0)
    known = evidence(ASKED, coverages, similarities, scale=SCALE, weight=1.0)
    assert fresh[99] == alone[99]
    assert {key: fresh[key] for key in similarities} == {key: known[key] for key in similarities}


def test_a_question_in_neither_language_is_asked_for_the_most() -> None:
    found = [
        evidence(Asked(language, 15), {1: 0.5}, {}, scale=SCALE, weight=0.0)[1]
        for language in (None, *Language)
    ]
    assert found[0] == min(found)


@given(st.floats(-100, 100), st.floats(-100, 100))
def test_a_probability_grows_with_the_evidence(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert 0 <= probability(low) <= probability(high) <= 1
    assert probability(0.0) == 0.5


def odds(tokens: int = 15, among: int = 100) -> float:
    """Of a memory that covers half of a question."""
    asked = Asked(Language.CHINESE, tokens, among)
    return evidence(asked, {1: 0.5}, {1: 0.84}, scale=SCALE, weight=1.0)[1]


def test_among_fewer_memories_less_is_enough() -> None:
    found = [odds(among=among) for among in (0, 10, 11, 50, 100, 1000)]
    assert found == sorted(found, reverse=True)
    assert found[0] == found[1] > found[2] > found[3] > found[4] == found[5]


def test_of_a_longer_question_a_smaller_share_is_enough_up_to_what_was_measured() -> None:
    found = [odds(tokens) for tokens in (0, 3, 15, 30, 100, 800)]
    assert found == sorted(found)
    assert found[0] == found[1] == found[2] < found[3] < found[4] == found[5]


def test_a_long_remark_among_few_memories_is_not_answered_by_each() -> None:
    asked = Asked(Language.CHINESE, 100, 3)
    for weight in (0.0, 1.0):
        found = evidence(asked, {1: 0.05}, {1: 0.81}, scale=SCALE, weight=weight)
        assert probability(found[1]) < 0.5


@pytest.mark.parametrize("language", [Language.CHINESE, Language.ENGLISH, None])
def test_a_remark_asks_for_more_than_a_question_and_a_long_one_does_not(
    language: Language | None,
) -> None:
    def told(tokens: int, *, remark: bool) -> float:
        asked = Asked(language, tokens, remark=remark)
        return evidence(asked, {1: 0.5}, {1: 0.85}, scale=SCALE, weight=1.0)[1]

    assert told(5, remark=True) < told(5, remark=False)
    assert told(40, remark=True) == told(40, remark=False)


def test_a_remark_after_what_the_embedder_does_not_know_yet_asks_for_as_much_more() -> None:
    def asked_for_more(behind: list[int]) -> float:
        told, question = (
            evidence(asked, {1: 0.5}, {2: 0.85}, scale=SCALE, weight=1.0, behind=behind)[1]
            for asked in (Asked(Language.CHINESE, 5, remark=remark) for remark in (True, False))
        )
        return question - told

    assert asked_for_more([1]) == pytest.approx(asked_for_more([]))
