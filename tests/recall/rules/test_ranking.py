"""From scored candidates to hits: floor, order, limit and budget, and one line for one fact."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.closing import closed
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.timeline import DIGEST_TAG
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import MemoryKind, StoredMemory
from astrbot_plugin_scoped_memory.llm_memory.models.recall import DropReason, Hit
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC
from astrbot_plugin_scoped_memory.llm_memory.recall.reranking import reordered
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.choosing import (
    Candidate,
    Choice,
    choose,
)
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.tell_once import (
    journals_last,
    merge_same_facts,
    once,
)
from astrbot_plugin_scoped_memory.llm_memory.text.hit_line import hit_line
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.tests.support.memories import NOW, stored

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]


def candidate(
    number: int, score: float = 0.5, *, text: str = "话", factor: float = 1.0
) -> Candidate:
    """A candidate with the id ``m-000<number>``."""
    return Candidate(stored(text, number, at=NOW, scope=PUBLIC), score, score, factor=factor)


def choice(*best: Candidate, limit: int = 10, budget: int = 10_000, width: int = 240) -> Choice:
    return choose(best, limit=limit, token_budget=budget, preview_chars=width)


def test_what_does_not_fit_the_budget_is_skipped_and_the_next_tried() -> None:
    hits, dropped, _ = choice(candidate(1, 0.9, text="长" * 200), candidate(2), budget=60, limit=5)
    assert [hit.memory_id for hit in hits] == ["m-0002"]
    assert dropped == {DropReason.BUDGET: 1}


numbers = st.lists(st.tuples(st.floats(-1, 2), st.text(max_size=300)), max_size=20)


@given(numbers, st.integers(-5, 8), st.integers(-10, 400), st.integers(1, 240))
def test_hits_keep_within_limit_budget_and_preview(
    drawn: list[tuple[float, str]], limit: int, budget: int, width: int
) -> None:
    best = [candidate(n, score, text=f"{n} {text}") for n, (score, text) in enumerate(drawn)]
    hits, dropped, _ = choice(*best, limit=limit, budget=budget, width=width)
    assert len(hits) <= max(limit, 0)
    assert sum(hit.tokens for hit in hits) <= max(budget, 0)
    assert all(len(hit.preview) <= width and 0 <= hit.relevance <= 1 for hit in hits)
    assert len(hits) + sum(dropped.values()) == len(drawn)


def test_a_hit_says_where_it_stands_and_who_said_it() -> None:
    (hit,) = choice(candidate(1, 3.0)).hits
    assert isinstance(hit, Hit)
    assert (hit.pointer, hit.who, hit.scope_name) == ("entities.md#m-0001", "小明", "public")
    assert hit.relevance == 1.0


def test_a_days_journal_stands_behind_what_was_said_or_is_not_shown() -> None:
    journal = Candidate(stored("大家去了公园", 9, tags=(DIGEST_TAG,)), 0.9)
    fact = candidate(1)
    assert journals_last([journal, fact], shown=True) == [fact, journal]
    assert journals_last([journal, fact], shown=False) == [fact]


def numbers_of(candidates: list[Candidate]) -> list[int]:
    return [
        int(c.passage.memory.memory_id[2:]) if isinstance(c.passage, StoredMemory) else -1
        for c in candidates
    ]


def test_the_better_comes_first_and_among_equals_the_order_stays() -> None:
    best = [candidate(n) for n in range(1, 5)]
    assert numbers_of(reordered(best, [0.2, 0.9, 0.2, 0.5])) == [2, 4, 1, 3]
    assert numbers_of(reordered(best, [0.5] * 4)) == [1, 2, 3, 4]
    assert numbers_of(reordered(best, [90.0, 91.0, 92.0, -5.0])) == [3, 2, 1, 4]
    assert numbers_of(reordered(best, [1e6, -1e6, 0.5, 3.0])) == [1, 4, 3, 2]


def test_time_and_asker_still_weigh() -> None:
    best = [candidate(1), candidate(2, factor=1.5)]
    assert numbers_of(reordered(best, [0.8, 0.6])) == [2, 1]
    assert numbers_of(reordered(best, [0.8, 0.5])) == [1, 2]


def test_those_without_a_score_follow_as_they_were() -> None:
    best = [candidate(n) for n in range(1, 6)]
    ordered = reordered(best, [0.1, 0.2])
    assert numbers_of(ordered) == [2, 1, 3, 4, 5]
    assert [c.reranked for c in ordered] == [0.2, 0.1, None, None, None]


FACT = "供应商的联系人换成了林小姐"
TEXTS = Texts("zh-CN")


def told(who: str, text: str = FACT, **more: Any) -> StoredMemory:
    """Somebody's words."""
    return stored(text, abs(hash((who, text))) % 10**8, who=who, **more)


def lines(*stored: StoredMemory, limit: int = 5) -> list[str]:
    candidates = [Candidate(one, 0.9 - n / 100) for n, one in enumerate(stored)]
    hits = choice(*merge_same_facts(candidates), limit=limit).hits
    return [hit_line(hit, TEXTS).partition("] ")[0] for hit in hits]


def test_one_fact_of_two_speakers_is_one_line_with_both_names() -> None:
    (line,) = lines(told("小雯"), told("阿杰", FACT + "。"))
    assert "小雯、阿杰 · 未核实" in line
    pair = once([told("小雯"), told("阿杰"), told("老何", "老何管仓库")])
    assert [[one.memory.who for one in group] for group in pair] == [["小雯", "阿杰"], ["老何"]]


def test_who_can_be_vouched_for_leads_and_then_it_is_not_doubtful() -> None:
    (line,) = lines(told("小雯"), told("阿杰", trusted=True))
    assert "阿杰、小雯" in line
    assert "未核实" not in line


def test_no_name_reads_like_the_names_of_two() -> None:
    (line,) = lines(told("小雯、阿杰"))
    assert "小雯 阿杰 · 未核实" in line


def test_it_leaves_room_for_another_and_the_trace_tells_why() -> None:
    assert len(lines(told("小雯"), told("阿杰"), told("老何", "老何管仓库"), limit=2)) == 2
    both = merge_same_facts([Candidate(told("小雯"), 0.9), Candidate(told("阿杰"), 0.8)])
    assert [one.dropped for one in choice(*both).considered] == [None, DropReason.SAID]


@pytest.mark.parametrize(
    "other",
    [
        told("阿杰", "供应商的联系人换成了王小姐"),
        told("阿杰", "供应商的联系人没换成林小姐"),
        told("阿杰", "林小姐换成了供应商的联系人"),
        told("阿杰", FACT, quoted=True),
        told("阿杰", FACT, kind=MemoryKind.TASK),
        replace(told("阿杰"), memory=closed(told("阿杰").memory, "m-00000001")),
        told("小雯", FACT + "。"),
    ],
)
def test_whatever_differs_stays_a_line_of_its_own(other: StoredMemory) -> None:
    assert len(lines(told("小雯"), other)) == 2


@pytest.mark.parametrize(
    "text",
    [
        "用户喜欢喝普洱茶",
        "本人的生日是五月三日",
        "女儿今年三岁了",
        "家里的猫叫团团",
        "wife is ill today",
    ],
)
def test_what_is_told_of_the_speaker_without_a_name_is_nobody_elses_line(text: str) -> None:
    assert len(lines(told("小雯", text), told("阿杰", text))) == 2
    assert len(lines(told("小雯", "奶奶对花生过敏"), told("阿杰", "奶奶对花生过敏"))) == 1


def test_who_speaks_of_himself_says_something_else_than_another() -> None:
    assert len(lines(told("小雯", "我对花生过敏"), told("阿杰", "我对花生过敏"))) == 2
    tomorrow = told("阿杰", "明天盘点", at=NOW + timedelta(days=1))
    assert len(lines(told("小雯", "明天盘点"), tomorrow)) == 2
