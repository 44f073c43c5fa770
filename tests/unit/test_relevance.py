"""How much of a question a memory must speak of before it is injected."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory, StoredMemory
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC
from astrbot_plugin_scoped_memory.llm_memory.policies.language import Language
from astrbot_plugin_scoped_memory.llm_memory.policies.preference import without_times
from astrbot_plugin_scoped_memory.llm_memory.policies.ranking import Candidate
from astrbot_plugin_scoped_memory.llm_memory.policies.relevance import (
    LEXICAL_FLOORS,
    MANY,
    Judge,
    dense_floor,
    is_about_time_alone,
    lexical_floor,
)
from astrbot_plugin_scoped_memory.llm_memory.policies.time_expressions import find_times

NOW = datetime(2026, 11, 21, 18, 0, tzinfo=UTC)
SHARE = st.floats(0, 1)


def judged(
    query: str,
    coverage: float | None = None,
    similarity: float | None = None,
    *,
    days_ago: int = 0,
    uses: int = 0,
) -> Candidate:
    """One memory, said so long ago, as the judge of a question sees it."""
    memory = Memory("m-aaaaaaaaaa", "阳台上晒着被子", NOW - timedelta(days=days_ago))
    passage = StoredMemory(PUBLIC, "entities.md", memory)
    times = find_times(query, NOW)
    judge = Judge.of(
        query,
        [passage],
        subject=without_times(query, times),
        times=times,
        asker=(),
        now=NOW,
        language=Language.CHINESE,
        word_floor=None,
        dense_floor=0.3,
    )
    match = None if coverage is None else (1.0, coverage)
    return judge.candidate(passage, score=1.0, match=match, similarity=similarity, uses=uses)


@given(SHARE, SHARE)
def test_who_covers_more_of_a_question_is_at_least_as_relevant(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert judged("晒被子", low).relevance <= judged("晒被子", high).relevance


def test_at_the_floor_it_is_just_relevant_and_the_surer_arm_decides() -> None:
    floor = LEXICAL_FLOORS[Language.CHINESE]
    assert judged("晒被子", floor).relevance == pytest.approx(0.0)
    assert judged("晒被子", floor - 0.1).relevance < 0
    assert judged("晒被子", floor - 0.1, 0.5).relevance == judged("晒被子", None, 0.5).relevance > 0
    assert judged("晒被子", 0.9, 0.0).relevance == judged("晒被子", 0.9).relevance


@given(st.floats(0.2, 0.95))
def test_of_another_time_than_the_one_named_more_is_asked_and_of_that_time_less(
    share: float,
) -> None:
    then, ever, now = (
        judged("昨天晒被子了吗", share, days_ago=90),
        judged("晒被子了吗", share, days_ago=90),
        judged("昨天晒被子了吗", share, days_ago=1),
    )
    assert then.relevance < ever.relevance < now.relevance


@given(st.floats(0.2, 0.95))
def test_a_time_that_is_named_vaguely_shuts_nobody_out(share: float) -> None:
    vague, ever = (
        judged("几天前晒被子了吗", share, days_ago=90),
        judged("晒被子了吗", share, days_ago=90),
    )
    assert find_times("几天前晒被子了吗", NOW)[0].vague
    assert vague.relevance == ever.relevance


@given(st.integers(0, 1000), st.floats(0, 1))
def test_how_often_it_was_useful_changes_its_place_and_not_whether_it_is_relevant(
    uses: int, share: float
) -> None:
    never, often = judged("晒被子", share), judged("晒被子", share, uses=uses)
    assert never.relevance == often.relevance
    assert never.order <= often.order <= never.order * 1.15 / 0.85


@pytest.mark.parametrize("language", [*Language, None])
def test_among_more_memories_more_of_a_question_is_asked_for(language: Language | None) -> None:
    floors = [lexical_floor(language, among) for among in (0, 1, 10, 11, 50, MANY, 10 * MANY)]
    assert floors == sorted(floors)
    assert floors[0] == floors[2] == pytest.approx(0.8 * lexical_floor(language))
    assert floors[2] < floors[3] < floors[4] < floors[5]
    assert floors[5] == floors[6] == lexical_floor(language)


def test_among_hundreds_the_floors_are_as_measured() -> None:
    assert {language: lexical_floor(language) for language in Language} == LEXICAL_FLOORS


@pytest.mark.parametrize(
    ("subject", "alone"),
    [
        ("聊了什么", True),
        ("what did we talk about", True),
        ("聊了花生吗", False),
        ("", True),
        ("那天大家在群里聊了啥", True),
        ("的日记里写了什么", True),
        ("can you remind me what we were doing", True),
        ("天气怎么样", False),
        ("写代码", False),
        ("what did the doctor say", False),
    ],
)
def test_a_question_may_be_about_a_time_and_nothing_else(subject: str, alone: bool) -> None:
    assert is_about_time_alone(subject) is alone


@given(st.floats(0, 0.99), st.floats(0, 0.99))
def test_an_embedder_needs_a_little_more_where_words_are_asked_too(one: float, two: float) -> None:
    low, high = sorted((one, two))
    assert dense_floor(low, beside_words=False) == low
    assert low < dense_floor(low, beside_words=True) < 1.0
    assert dense_floor(low, beside_words=True) <= dense_floor(high, beside_words=True)
