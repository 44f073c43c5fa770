"""Whether a memory is relevant at all."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory, StoredMemory
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.evidence import probability
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.ranking import Candidate
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.relevance import (
    Judge,
    is_about_time_alone,
)
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.salience import without_times
from astrbot_plugin_scoped_memory.llm_memory.text.dates.expressions import find_times

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 21, 18, 0, tzinfo=UTC)
EVIDENCE = st.floats(-10, 10)


def judged(
    query: str,
    evidence: float,
    *,
    days_ago: int = 0,
    uses: int = 0,
    floor: float | None = None,
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
        floor=floor,
    )
    return judge.candidate(
        passage, score=1.0, log_odds=evidence, match=None, similarity=None, uses=uses
    )


@given(EVIDENCE, EVIDENCE)
def test_what_stands_out_more_is_at_least_as_relevant(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert judged("晒被子", low).relevance <= judged("晒被子", high).relevance


@pytest.mark.parametrize("floor", [None, 0.2, 0.9])
def test_what_is_likelier_than_the_floor_is_relevant(floor: float | None) -> None:
    least = 0.5 if floor is None else floor
    for evidence in (-3.0, 0.0, 1.5, 2.0, 2.5, 3.0, 6.0):
        likely = probability(evidence)
        found = judged("晒被子", evidence, floor=floor).relevance
        assert (found >= 0) is (likely >= least)
        assert found <= 1


def test_a_floor_of_nothing_lets_everything_in() -> None:
    assert judged("晒被子", -1e9, floor=0.0).relevance >= 0


@given(st.integers(0, 1000), EVIDENCE)
def test_how_often_it_was_useful_changes_its_place_and_not_whether_it_is_relevant(
    uses: int, evidence: float
) -> None:
    never, often = judged("晒被子", evidence), judged("晒被子", evidence, uses=uses)
    assert never.relevance == often.relevance
    assert never.order <= often.order <= never.order * 1.15 / 0.85


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
