"""What exists is changed only by what was really said, and by whom."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.data_models import (
    Memory,
    MemoryKind,
    Provenance,
    Source,
    StoredMemory,
)
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC
from astrbot_plugin_scoped_memory.llm_memory.models.turns import QueuedTurn
from astrbot_plugin_scoped_memory.llm_memory.policies.reflection_guards import (
    may_merge,
    may_replace,
    said_by,
)
from astrbot_plugin_scoped_memory.llm_memory.policies.speakers import speakers

NOW = datetime(2026, 11, 21, 18, 0, tzinfo=UTC)
MING = Provenance("小明", "q:1", "q:GroupMessage:7", Source.REFLECTION)


def memory(text: str, **changes: object) -> Memory:
    """Something that 小明 said."""
    made = Memory("m-0000", text, NOW, provenance=MING, active=False)
    return replace(made, **changes)  # type: ignore[arg-type]


def turn(text: str, person: str = "q:1", who: str = "小明") -> QueuedTurn:
    """A turn of his, or of somebody else."""
    return QueuedTurn("t-1", "家人", "q:GroupMessage:7", "", NOW, person, who, text, "好的")


@pytest.mark.parametrize(
    ("said", "new", "may"),
    [
        ("我上个月搬到上海了", "小明住在上海", True),
        ("我现在不喝咖啡了，改喝茶", "小明不再喝咖啡，改喝茶", True),
        ("I moved to Berlin", "小明 lives in Berlin", True),
        ("今天天气不错", "小明住在上海", False),
        ("今天天气不错", "小明不住在北京了", False),
        ("北京的烤鸭好吃", "小明不住在北京了", False),
        ("我不在北京住了", "小明不住在北京了", True),
        ("", "小明住在上海", False),
    ],
)
def test_old_words_give_way_to_what_their_speaker_has_said(said: str, new: str, may: bool) -> None:
    old = StoredMemory(PUBLIC, "entities.md", memory("小明住在北京"))
    assert may_replace(old, new, turn(said)) is may


def test_what_was_said_before_takes_nothing_back() -> None:
    old = StoredMemory(PUBLIC, "entities.md", memory("小明住在北京"))
    said = turn("我搬到上海了")
    assert may_replace(old, "小明住在上海", said)
    assert not may_replace(
        old, "小明住在上海", replace(said, observed_at=NOW - timedelta(minutes=1))
    )


def test_what_a_person_wrote_and_standing_instructions_stay() -> None:
    by_hand = memory("小明住在北京", provenance=replace(MING, source=Source.PERSON))
    moved = turn("我搬到上海了")
    assert not may_replace(StoredMemory(PUBLIC, "entities.md", by_hand), "小明住在上海", moved)
    rule = StoredMemory(PUBLIC, "instructions.md", memory("小明住在北京"))
    assert not may_replace(rule, "小明住在上海", moved)
    assert may_replace(replace(rule, path="entities-2.md"), "小明住在上海", moved)


@pytest.mark.parametrize(
    ("texts", "merged"),
    [
        (("小明喜欢茶", "小明喜欢咖啡"), "小明喜欢茶和咖啡"),
        (("小明喜欢茶", "小明喜欢咖啡"), "小明喜欢茶，也喜欢咖啡"),
        (("小明喜欢茶", "小明很喜欢茶"), "小明喜欢茶"),
        (("小明喜欢茶", "小明不喜欢咖啡"), "小明喜欢茶，不喜欢咖啡"),
        (("301住着小红", "302住着小刚"), "301住着小红，302住着小刚"),
        (("Alice likes tea", "Alice likes coffee"), "Alice likes tea and coffee"),
    ],
)
def test_a_merged_text_says_all_that_each_one_says(texts: tuple[str, str], merged: str) -> None:
    assert may_merge([memory(text) for text in texts], merged)


@pytest.mark.parametrize(
    ("texts", "merged"),
    [
        (("小明喜欢茶", "小明喜欢咖啡"), "小明喜欢茶"),
        (("小明喜欢茶", "小明喜欢咖啡"), "小明喜欢茶和咖啡和可乐"),
        (("小明喜欢茶", "小明喜欢咖啡"), "小明喜欢茶，不喜欢咖啡"),
        (("小明不喜欢茶", "小明不喜欢咖啡"), "小明不喜欢茶，喜欢咖啡"),
        (("小明喜欢茶", "小明不喜欢咖啡"), "小明不喜欢茶，喜欢咖啡"),
        (("301住着小红", "302住着小刚"), "301住着小刚，302住着小红"),
        (("小明3岁", "小明喜欢茶"), "小明5岁，喜欢茶"),
        (("小明喜欢茶", "小红喜欢咖啡"), "小明和小红喜欢茶和咖啡"),
        (("小明喜欢茶", "小明喜欢咖啡"), ""),
        (("小明喜欢茶",), "小明喜欢茶"),
    ],
)
def test_nothing_is_lost_in_a_merge_and_nothing_new(texts: tuple[str, ...], merged: str) -> None:
    assert not may_merge([memory(text) for text in texts], merged)


@pytest.mark.parametrize(
    "other",
    [
        {"provenance": replace(MING, person="q:2")},
        {"provenance": replace(MING, trusted=True)},
        {"provenance": replace(MING, source=Source.PERSON)},
        {"kind": MemoryKind.TASK},
        {"quoted": True},
        {"role": "海盗"},
    ],
)
def test_only_what_is_vouched_for_alike_is_merged(other: dict[str, object]) -> None:
    one = memory("小明喜欢茶")
    assert may_merge([one, memory("小明喜欢咖啡")], "小明喜欢茶和咖啡")
    assert not may_merge([one, memory("小明喜欢咖啡", **other)], "小明喜欢茶和咖啡")


def test_whoever_shares_no_word_with_a_text_has_not_said_it() -> None:
    turns = [turn("我最近在学钢琴"), turn("小明欠我一千块", "q:2", "小刚")]
    ming, gang = speakers(turns)
    assert said_by("小明在学钢琴", ming, turns)
    assert not said_by("小明欠小刚一千块", ming, turns)
    assert said_by("小明欠小刚一千块", gang, turns)
