"""The order that a reranker's scores make."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.data_models import (
    StoredMemory,
)
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.ranking import Candidate
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.reranking import (
    probabilities,
    question_text,
    reordered,
)
from astrbot_plugin_scoped_memory.tests.support.memories import stored

pytestmark = pytest.mark.unit


def candidate(number: int, *, text: str = "话", factor: float = 1.0) -> Candidate:
    """A candidate with the id ``m-000<number>``."""
    return Candidate(stored(text, number), 0.5, factor=factor)


def numbers(candidates: list[Candidate]) -> list[int]:
    return [
        int(c.passage.memory.memory_id[2:]) if isinstance(c.passage, StoredMemory) else -1
        for c in candidates
    ]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1))
def test_probabilities_lie_between_0_and_1_and_never_turn_the_order(scores: list[float]) -> None:
    shared = probabilities(scores)
    assert all(0 <= value <= 1 for value in shared)
    ranked = [value for _, value in sorted(zip(scores, shared, strict=True))]
    assert ranked == sorted(ranked)


def test_what_is_a_probability_already_stays_one() -> None:
    assert probabilities([0.0, 0.25, 1.0]) == [0.0, 0.25, 1.0]
    assert probabilities([0.0, 2.0]) == pytest.approx([0.5, 0.8807970779778823])


def test_the_better_comes_first_and_among_equals_the_order_stays() -> None:
    best = [candidate(n) for n in range(1, 5)]
    assert numbers(reordered(best, [0.2, 0.9, 0.2, 0.5])) == [2, 4, 1, 3]
    assert numbers(reordered(best, [0.5] * 4)) == [1, 2, 3, 4]
    assert numbers(reordered(best, [90.0, 91.0, 92.0, -5.0])) == [3, 2, 1, 4]


def test_time_and_asker_still_weigh() -> None:
    best = [candidate(1), candidate(2, factor=1.5)]
    assert numbers(reordered(best, [0.8, 0.6])) == [2, 1]
    assert numbers(reordered(best, [0.8, 0.5])) == [1, 2]


def test_those_without_a_score_follow_as_they_were() -> None:
    best = [candidate(n) for n in range(1, 6)]
    ordered = reordered(best, [0.1, 0.2])
    assert numbers(ordered) == [2, 1, 3, 4, 5]
    assert [c.reranked for c in ordered] == [0.2, 0.1, None, None, None]


def test_it_is_shown_who_said_it_and_no_more_than_a_preview() -> None:
    shown = question_text(candidate(1, text="很长的话" * 100), "问", 40)
    assert shown.startswith("小明：很长的话")
    assert len(shown) <= len("小明：") + 40
