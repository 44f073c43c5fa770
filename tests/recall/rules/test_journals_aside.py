"""The journal of a day answers what is asked about days, and no small talk."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.timeline import DIGEST_TAG
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory, StoredMemory
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.journals_aside import journals_aside
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.ranking import Candidate, Sifted

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 21, 18, 0, tzinfo=UTC)


def candidate(memory_id: str, *tags: str) -> Candidate:
    memory = Memory(memory_id, "大家去了公园", NOW, tags=tags)
    return Candidate(StoredMemory(Scope.parse("家人"), "journal/2026-11-21.md", memory), 0.5)


DIARY, FACT = candidate("m-diary001", DIGEST_TAG), candidate("m-fact0001")


def order(message: str, *, names_days: bool = False) -> list[str]:
    sifted = journals_aside(Sifted([DIARY, FACT], []), message, names_days=names_days)
    assert len(sifted.best) + len(sifted.below) == 2
    return [one.passage.memory.memory_id[2:-3] for one in sifted.best]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "message", ["晚安啦", "今天好累啊", "哈哈哈哈", "good night all", "so tired"]
)
def test_small_talk_gets_no_journal(message: str) -> None:
    assert order(message) == ["fact0"]
    assert order(message, names_days=True) == ["fact0"]


@pytest.mark.parametrize("message", ["公园门票多少钱", "公园几点关门？", "Where is the park?"])
def test_for_a_question_the_journal_stands_behind_what_was_said(message: str) -> None:
    assert order(message) == ["fact0", "diary"]


@pytest.mark.parametrize(
    "message",
    ["公园那天发生了什么", "我们去公园做了什么", "What happened in the park?", "recap please"],
)
def test_what_happened_is_told_by_the_journal(message: str) -> None:
    assert order(message) == ["diary", "fact0"]


def test_a_question_that_names_days_is_answered_by_their_journals() -> None:
    assert order("昨天去公园的有谁", names_days=True) == ["diary", "fact0"]
