"""From scored candidates to hits: floor, order, limit and budget, and one line for one fact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.closing import closed
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.timeline import DIGEST_TAG
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import MemoryKind, StoredMemory
from astrbot_plugin_scoped_memory.llm_memory.models.recall import Hit
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.choosing import Candidate, choose
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.tell_once import (
    journals_last,
    merge_same_facts,
    once,
)
from astrbot_plugin_scoped_memory.llm_memory.text.hit_line import hit_line
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.tests.support.memories import NOW, stored

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]


def candidate(number: int, score: float = 0.5, *, text: str = "话") -> Candidate:
    """A candidate with the id ``m-000<number>``."""
    return Candidate(stored(text, number, at=NOW, scope=PUBLIC), score, score)


def chosen(
    best: Sequence[Candidate], limit: int = 10, budget: int = 999, width: int = 240
) -> list[Hit]:
    """What is told of them costs its length."""
    return choose(
        best,
        limit=limit,
        token_budget=budget,
        preview_chars=width,
        cost=lambda hit: len(hit.preview),
    )


numbers = st.lists(st.tuples(st.floats(-1, 2), st.text(max_size=300)), max_size=20)


@given(numbers, st.integers(-5, 8), st.integers(-10, 400), st.integers(1, 240))
def test_hits_keep_within_limit_budget_and_preview(
    drawn: list[tuple[float, str]], limit: int, budget: int, width: int
) -> None:
    best = [candidate(n, score, text=f"{n} {text}") for n, (score, text) in enumerate(drawn)]
    hits = chosen(best, limit, budget, width)
    assert len(hits) <= max(limit, 0)
    assert sum(len(hit.preview) for hit in hits) <= max(budget, 0)
    assert all(len(hit.preview) <= width and 0 <= hit.relevance <= 1 for hit in hits)
    assert len(hits) == sum(one.dropped is None for one in best)


def test_a_days_journal_stands_behind_what_was_said_or_is_not_shown() -> None:
    journal = Candidate(stored("大家去了公园", 9, tags=(DIGEST_TAG,)), 0.9)
    fact = candidate(1)
    assert journals_last([journal, fact], shown=True) == [fact, journal]
    assert journals_last([journal, fact], shown=False) == [fact]


FACT = "供应商的联系人换成了林小姐"
TEXTS = Texts("zh-CN")


def told(who: str, text: str = FACT, **more: Any) -> StoredMemory:
    """Somebody's words."""
    return stored(text, abs(hash((who, text))) % 10**8, who=who, **more)


def lines(*stored: StoredMemory, limit: int = 5) -> list[str]:
    candidates = [Candidate(one, 0.9 - n / 100) for n, one in enumerate(stored)]
    hits = chosen(merge_same_facts(candidates), limit)
    return [hit_line(hit, TEXTS).partition("] ")[0] for hit in hits]


@pytest.mark.parametrize(
    ("others", "names"),
    [
        ([told("阿杰", FACT + "。")], "小雯、阿杰 · 未核实"),
        # Who can be vouched for leads, and then it is not doubtful.
        ([told("阿杰", trusted=True)], "阿杰、小雯 · "),
        # It leaves room for another.
        ([told("阿杰"), told("老何", "老何管仓库")], "小雯、阿杰 · 未核实"),
    ],
)
def test_one_fact_of_two_speakers_is_one_line_with_both_names(
    others: list[StoredMemory], names: str
) -> None:
    line, *rest = lines(told("小雯"), *others, limit=2)
    assert names in line
    assert ("未核实" in line) is ("未核实" in names)
    assert len(rest) == len(others) - 1


def test_the_same_is_listed_once() -> None:
    pair = once([told("小雯"), told("阿杰"), told("老何", "老何管仓库")])
    assert [[one.memory.who for one in group] for group in pair] == [["小雯", "阿杰"], ["老何"]]
    assert "小雯 阿杰 · 未核实" in lines(told("小雯、阿杰"))[0]  # no name reads like two


OF_ONESELF = "我对花生过敏|用户喜欢喝普洱茶|本人的生日是五月三日|女儿今年三岁了|wife is ill today"


@pytest.mark.parametrize(
    ("text", "other"),
    [
        (FACT, told("阿杰", "供应商的联系人换成了王小姐")),
        (FACT, told("阿杰", "供应商的联系人没换成林小姐")),
        (FACT, told("阿杰", "林小姐换成了供应商的联系人")),
        (FACT, told("阿杰", quoted=True)),
        (FACT, told("阿杰", kind=MemoryKind.TASK)),
        (FACT, replace(told("阿杰"), memory=closed(told("阿杰").memory, "m-00000001"))),
        (FACT, told("小雯", FACT + "。")),
        ("明天盘点", told("阿杰", "明天盘点", at=NOW + timedelta(days=1))),
        *((text, told("阿杰", text)) for text in OF_ONESELF.split("|")),
    ],
)
def test_whatever_differs_stays_a_line_of_its_own(text: str, other: StoredMemory) -> None:
    assert len(lines(told("小雯", text), other)) == 2
