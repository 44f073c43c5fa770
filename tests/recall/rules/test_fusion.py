"""Two arms become one order; and how far an embedder is trusted in it."""

from __future__ import annotations

import random
from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from astrbot_plugin_scoped_memory.llm_memory.index.rules.common_part import apart_from, common_part
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.evidence import Scale
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.fusion import beside, fuse, min_max_scaled
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.trust import (
    PROBES,
    Cohort,
    Trust,
    deviation_of,
    weight_of,
)
from astrbot_plugin_scoped_memory.llm_memory.text.language import Language, language_of
from astrbot_plugin_scoped_memory.llm_memory.text.tokenizer import Tokenizer

pytestmark = pytest.mark.unit

scores = st.dictionaries(st.integers(0, 20), st.floats(0, 1), max_size=15)
TOKENIZER = Tokenizer()


@given(scores, scores)
def test_an_embedder_without_trust_changes_nothing(
    words: dict[int, float], near: dict[int, float]
) -> None:
    assert fuse(words, near, weight=0.0) == words


@given(scores, scores, st.floats(0.01, 1))
def test_everything_that_an_arm_found_is_a_candidate(
    words: dict[int, float], near: dict[int, float], weight: float
) -> None:
    fused = fuse(words, near, weight=weight)
    assert fused.keys() == words.keys() | near.keys()
    assert all(0 <= score <= 1 for score in fused.values())


def test_what_the_dense_arm_cannot_know_yet_loses_nothing() -> None:
    words, near = {"new": 1.0, "old": 0.9}, {"old": 1.0}
    fused = fuse(words, near, weight=0.4, behind=["new"])
    assert fused["new"] > fused["old"]
    assert fuse(words, near, weight=0.4)["new"] < fused["old"]


@given(scores)
def test_the_nearer_half_of_an_answer_keeps_its_order_and_the_other_counts_for_nothing(
    near: dict[int, float],
) -> None:
    made = min_max_scaled(near)
    assert made.keys() == near.keys()
    for one in near:
        for other in near:
            assert near[one] > near[other] or made[one] <= made[other]
    if len(set(near.values())) > 1:
        assert max(made.values()) == 1.0
        middle = median(near.values())
        nearest = max(near.values())
        assert all(value > middle or made[key] == (value == nearest) for key, value in near.items())
    assert all(0 <= value <= 1 for value in made.values())


def test_what_stands_out_beyond_chance_outweighs_the_words() -> None:
    near = {"answer": 0.9} | {f"other {n}": 0.1 + n / 1000 for n in range(20)}
    assert min_max_scaled(near, 0.2)["answer"] == min_max_scaled(near)["answer"] == 1.0
    sure = min_max_scaled(near, 0.02)
    assert sure["answer"] > 5
    assert (
        fuse({"other 1": 1.0}, sure, weight=1.0)["answer"]
        > fuse({"other 1": 1.0}, sure, weight=1.0)["other 1"]
    )


@given(st.lists(st.integers(0, 1000), min_size=1), st.sampled_from([0.001, 4.0]))
def test_it_does_not_matter_what_a_model_calls_near(found: list[int], width: float) -> None:
    near = {place: float(value) for place, value in enumerate(found)}
    moved = {place: 0.5 + width * value for place, value in near.items()}
    assert min_max_scaled(moved) == pytest.approx(min_max_scaled(near), abs=1e-6)


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


@pytest.mark.parametrize("language", list(Language))
def test_no_answer_of_the_examination_shares_a_word_with_its_question(language: Language) -> None:
    for question, answer in PROBES[language]:
        assert language_of(question) is language
        shared = set(TOKENIZER.query_tokens(question)) & set(TOKENIZER.tokens(answer))
        assert not shared, (question, answer, shared)


def test_who_finds_everything_gets_the_most_and_chance_nothing() -> None:
    count = len(PROBES[Language.CHINESE])
    perfect = [[float(row == column) for column in range(count)] for row in range(count)]
    assert weight_of(perfect) == 1.0
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


def test_what_is_near_by_chance_is_told_by_the_answers_of_other_questions() -> None:
    rows = [[1.0, 0.2, 0.4], [0.7, 0.9, 0.5], []]
    assert deviation_of(rows) == pytest.approx(0.1), "each question around its own mean"
    assert deviation_of([[], []]) == 0.0
    chinese, english = Cohort((0.6, 0.2), 0.02), Cohort((0.2, 0.6), 0.03)
    trust = Trust({}, {Language.CHINESE: chinese, Language.ENGLISH: english})
    question = [0.0, 1.0]
    assert trust.scale(Language.CHINESE, question) == Scale(0.2, 0.02)
    assert trust.scale(Language.ENGLISH, question) == Scale(0.6, 0.03)
    assert trust.scale(None, question) == Scale(0.6, 0.03), "the one that admits less"
    assert trust.scale(Language.CHINESE, [1.0]) == Scale(deviation=0.0), "of another embedder"
    assert Trust().scale(None, question) == Trust().scale(Language.CHINESE, question) == Scale()


def unit_rows(seed: int, count: int, dim: int = 8) -> NDArray[np.float32]:
    rows = np.random.default_rng(seed).normal(size=(count, dim)).astype(np.float32)
    unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


@given(st.integers(0, 10**6))
def test_a_text_that_is_near_to_every_question_gains_nothing_by_it(seed: int) -> None:
    """S-norm: the order is that of the similarities less half of each text's mean to a cohort of
    questions; the other half, of the question's mean to a cohort of texts, orders nothing."""
    questions, texts = unit_rows(seed, 20), unit_rows(seed + 1, 30)
    asked = unit_rows(seed + 2, 1)[0]
    normalised = texts @ asked - 0.5 * (texts @ questions.T).mean(axis=1)
    found = texts @ apart_from(asked, common_part(questions).tolist())
    length = float(np.linalg.norm(asked - common_part(questions)))
    assert np.allclose(found * length, normalised, atol=1e-5)


def test_what_is_left_is_a_unit_vector_and_a_question_of_another_embedder_stays_as_it_is() -> None:
    questions = unit_rows(1, 5)
    asked, common = questions[0], common_part(questions).tolist()
    assert np.linalg.norm(apart_from(asked, common)) == pytest.approx(1.0, abs=1e-5)
    assert apart_from(asked, ()) is asked
    assert apart_from(asked, (0.1, 0.2)) is asked
    assert apart_from(asked, asked.tolist()) is asked, "nothing would be left"


def test_what_questions_share_is_told_of_the_languages_that_were_examined() -> None:
    trust = Trust({}, {Language.CHINESE: Cohort((0.6, 0.2), 0.02, (0.3, 0.1))})
    assert trust.common(Language.CHINESE) == (0.3, 0.1)
    assert trust.common(Language.ENGLISH) == trust.common(None) == ()
