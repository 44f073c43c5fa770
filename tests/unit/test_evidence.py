"""How likely a candidate is to answer, from what both arms found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.policies.evidence import (
    Scale,
    probability,
    standing_out,
)
from astrbot_plugin_scoped_memory.llm_memory.policies.language import Language

KEYS = st.integers(0, 60)
COVERAGES = st.dictionaries(KEYS, st.floats(0, 1), max_size=60)
SIMILARITIES = st.dictionaries(KEYS, st.floats(-1, 1), max_size=60)
SCALE = Scale(0.8, 0.02)


@given(COVERAGES, SIMILARITIES)
def test_an_embedder_without_trust_tells_nothing(
    coverages: dict[int, float], similarities: dict[int, float]
) -> None:
    both = standing_out(coverages, similarities, scale=SCALE, weight=0.0)
    alone = standing_out(coverages, {}, scale=SCALE, weight=0.0)
    if similarities.keys() <= coverages.keys():
        assert both == pytest.approx(alone)


@given(COVERAGES, SIMILARITIES, st.floats(0, 1))
def test_everything_found_is_weighed_and_more_of_either_is_never_less(
    coverages: dict[int, float], similarities: dict[int, float], weight: float
) -> None:
    found = standing_out(coverages, similarities, scale=SCALE, weight=weight)
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
    assert standing_out(coverages, moved, scale=scale, weight=1.0) == pytest.approx(
        standing_out(coverages, similarities, scale=SCALE, weight=1.0), abs=1e-6
    )


def test_an_embedder_to_which_all_is_the_same_tells_nothing() -> None:
    found = standing_out({1: 0.5}, {1: 1.0, 2: 1.0}, scale=Scale(1.0, 0.0), weight=1.0)
    assert found[1] > found[2] == 0.0


def test_what_everybody_says_is_no_evidence() -> None:
    rare = standing_out({0: 0.5} | dict.fromkeys(range(1, 90), 0.1), {}, scale=SCALE, weight=0.0)
    common = standing_out({0: 0.5} | dict.fromkeys(range(1, 90), 0.4), {}, scale=SCALE, weight=0.0)
    assert rare[0] > common[0]


def test_who_says_what_all_say_in_other_numbers_is_found_nevertheless() -> None:
    alike = dict.fromkeys(range(200), 0.8)
    for weight in (0.0, 1.0):
        found = standing_out(alike | {7: 1.0}, {}, scale=SCALE, weight=weight)
        assert probability(found[7], Language.CHINESE, 15) > 0.5


def test_the_very_words_are_found_among_hundreds_alike_by_vectors_alone() -> None:
    alike = dict.fromkeys(range(100), 0.95)
    found = standing_out(None, alike | {7: 1.0}, scale=SCALE, weight=0.0)
    assert probability(found[7], Language.CHINESE, 5) > 0.5


def test_the_only_memory_stands_out_of_what_is_not_there() -> None:
    assert standing_out({1: 0.5}, {}, scale=SCALE, weight=0.0)[1] == pytest.approx(3.5)
    near = standing_out({1: 0.5}, {1: 0.84}, scale=SCALE, weight=1.0)[1]
    assert near == pytest.approx(2.0 + 1.0)


def test_what_is_not_in_the_index_yet_is_told_by_its_words_alone() -> None:
    similarities = dict.fromkeys(range(50), 0.9)
    coverages = {99: 0.6} | dict.fromkeys(range(50), 0.1)
    known = standing_out(coverages, similarities, scale=SCALE, weight=1.0)
    fresh = standing_out(coverages, similarities, scale=SCALE, weight=1.0, behind=[99])
    assert fresh[99] > known[99]
    assert {key: fresh[key] for key in similarities} == {key: known[key] for key in similarities}


@given(st.floats(-100, 100), st.floats(-100, 100), st.integers(0, 2000))
def test_a_probability_grows_with_the_evidence(one: float, other: float, tokens: int) -> None:
    low, high = sorted((one, other))
    for language in (*Language, None):
        assert 0 <= probability(low, language, tokens) <= probability(high, language, tokens) <= 1


def test_among_fewer_memories_less_is_enough() -> None:
    found = [probability(2.0, Language.CHINESE, 15, among) for among in (0, 10, 11, 50, 100, 1000)]
    assert found == sorted(found, reverse=True)
    assert found[0] == found[1] > found[2] > found[3] > found[4] == found[5]


def test_of_a_longer_question_a_smaller_share_is_enough() -> None:
    found = [probability(2.0, Language.CHINESE, tokens) for tokens in (0, 3, 15, 100, 800)]
    assert found == sorted(found)
    assert found[0] == found[1] < found[2] < found[3]
