"""From scored candidates to hits: floor, order, limit, budget."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.timeline import DIGEST_TAG
from astrbot_plugin_scoped_memory.llm_memory.models.recall import DropReason, Hit
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.ranking import (
    Candidate,
    Sifted,
    choose,
    journals_last,
    sift,
)
from astrbot_plugin_scoped_memory.tests.support.memories import NOW, stored

pytestmark = pytest.mark.unit


def candidate(number: int, relevance: float, *, days: int = 0, text: str = "话") -> Candidate:
    """A candidate with the id ``m-000<number>``."""
    at = NOW + timedelta(days=days)
    return Candidate(stored(text, number, at=at, scope=PUBLIC), relevance)


def chosen(*candidates: Candidate, limit: int = 10, budget: int = 10_000) -> list[str]:
    """The ids of the hits."""
    hits, _, _ = choose(sift(candidates), limit=limit, token_budget=budget, preview_chars=240)
    return [hit.memory_id for hit in hits]


def test_below_the_floor_nothing_is_a_hit() -> None:
    hits, dropped, _ = choose(
        sift([candidate(1, -0.01), candidate(2, float("nan"))]),
        limit=5,
        token_budget=1000,
        preview_chars=240,
    )
    assert hits == ()
    assert dropped == {DropReason.FLOOR: 2}


def test_what_was_asked_for_whole_then_the_better_then_the_newer_comes_first() -> None:
    assert chosen(
        candidate(1, 0.2, days=9),
        candidate(2, 0.9),
        candidate(3, 0.2, days=10),
        replace(candidate(4, 0.1), place=1),
        replace(candidate(5, 0.0), place=0),
    ) == ["m-0005", "m-0004", "m-0002", "m-0003", "m-0001"]


def test_one_memory_is_one_hit_with_its_best_relevance() -> None:
    hits, _, _ = choose(
        sift([candidate(1, 0.2), candidate(1, 0.7)]), limit=5, token_budget=1000, preview_chars=240
    )
    assert [hit.relevance for hit in hits] == [0.7]


def test_what_does_not_fit_the_budget_is_skipped_and_the_next_tried() -> None:
    long, short = candidate(1, 0.9, text="长" * 200), candidate(2, 0.5)
    hits, dropped, _ = choose(sift([long, short]), limit=5, token_budget=60, preview_chars=240)
    assert [hit.memory_id for hit in hits] == ["m-0002"]
    assert dropped == {DropReason.BUDGET: 1}


numbers = st.lists(
    st.tuples(st.integers(0, 9), st.floats(-1, 2), st.text(max_size=300)), max_size=20
)


@given(numbers, st.integers(-5, 8), st.integers(-10, 400), st.integers(1, 240))
def test_hits_keep_within_limit_budget_and_preview(
    drawn: list[tuple[int, float, str]], limit: int, budget: int, width: int
) -> None:
    candidates = [candidate(n, relevance, text=f"{n} {text}") for n, relevance, text in drawn]
    hits, dropped, _ = choose(
        sift(candidates), limit=limit, token_budget=budget, preview_chars=width
    )
    assert len(hits) <= max(limit, 0)
    assert sum(hit.tokens for hit in hits) <= max(budget, 0)
    assert all(len(hit.preview) <= width and 0 <= hit.relevance <= 1 for hit in hits)
    assert len({hit.memory_id for hit in hits}) == len(hits)
    assert all(count > 0 for count in dropped.values())
    assert [hit.relevance for hit in hits] == sorted((h.relevance for h in hits), reverse=True)


def test_a_hit_says_where_it_stands_and_who_said_it() -> None:
    hits, _, _ = choose(sift([candidate(1, 3.0)]), limit=1, token_budget=99, preview_chars=240)
    (hit,) = hits
    assert isinstance(hit, Hit)
    assert (hit.pointer, hit.who, hit.scope_name) == ("entities.md#m-0001", "小明", "public")
    assert hit.relevance == 1.0


def test_a_days_journal_stands_behind_what_was_said_or_is_not_shown() -> None:
    journal = Candidate(stored("大家去了公园", 9, tags=(DIGEST_TAG,)), 0.9)
    fact, weak = candidate(1, 0.5), candidate(2, -0.5)
    found = Sifted([journal, fact], [weak])
    assert journals_last(found, shown=True) == Sifted([fact, journal], [weak])
    assert journals_last(found, shown=False) == Sifted([fact], [journal, weak])
