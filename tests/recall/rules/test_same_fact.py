"""What several people have told just so is one line; whatever differs stays its own."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.core.services.injection_service import hit_line
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.closing import closed
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import (
    MemoryKind,
    StoredMemory,
)
from astrbot_plugin_scoped_memory.llm_memory.models.recall import DropReason
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.ranking import Candidate, Sifted, choose
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.same_fact import merge_same_facts, once
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.tests.support.memories import NOW, stored

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

FACT = "供应商的联系人换成了林小姐"
TEXTS = Texts("zh-CN")


def told(who: str, text: str = FACT, **more: Any) -> StoredMemory:
    """Somebody's words."""
    return stored(text, abs(hash((who, text))) % 10**8, who=who, **more)


def lines(*stored: StoredMemory, limit: int = 5) -> list[str]:
    candidates = [Candidate(one, 0.9 - n / 100) for n, one in enumerate(stored)]
    choice = choose(
        merge_same_facts(Sifted(candidates, [])),
        limit=limit,
        token_budget=10_000,
        preview_chars=200,
    )
    return [hit_line(hit, TEXTS).partition("] ")[0] for hit in choice.hits]


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
    assert "小雯/阿杰 · 未核实" in line


def test_it_leaves_room_for_another_and_the_trace_tells_why() -> None:
    assert len(lines(told("小雯"), told("阿杰"), told("老何", "老何管仓库"), limit=2)) == 2
    both = merge_same_facts(
        Sifted([Candidate(told("小雯"), 0.9), Candidate(told("阿杰"), 0.8)], [])
    )
    choice = choose(both, limit=5, token_budget=10_000, preview_chars=200)
    assert [one.dropped for one in choice.considered] == [None, DropReason.SAID]


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
