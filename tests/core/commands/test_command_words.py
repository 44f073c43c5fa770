"""What people write for a command of ours."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.core.commands.command_words import (
    CommandWords,
    nearest,
    respelled,
)
from astrbot_plugin_scoped_memory.core.commands.commands import unknown_text
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.main import ScopedMemoryPlugin

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

GROUPS = ["memory", "记忆"]
CommandWords.use(ScopedMemoryPlugin.memory.parent_group)  # as AstrBot knows them
NAMES = CommandWords.names()
TRADITIONAL = {
    "暫停": "暂停", "繼續": "继续", "記住": "记住", "撤銷": "撤销", "搜尋": "搜寻",
    "還原": "还原", "遷移": "迁移", "拒絕": "拒绝",
}  # fmt: skip
MEANT = {
    "memory": "memory help",
    "MEMORY": "memory help",
    "Memory LIST 2": "memory list 2",
    "记忆状态": "memory 状态",
    "记忆 忘记芒果": "memory 忘记 芒果",
    "记忆忘记芒果 彻底": "memory 忘记 芒果 彻底",
    "memorylist": "memory list",
    "memory list2": "memory list 2",
    "记忆列表2": "memory 列表 2",
    "记忆 查看": "memory help 查看",
    "记忆查看": "memory help 查看",
    "memory foo bar": "memory help foo bar",
    "記憶 列表 小雯": "memory 列表 小雯",
    "记忆 忘記芒果": "memory 忘记 芒果",
    "記憶狀態": "memory 状态",
    **{f"記憶 {word}": f"memory {meant}" for word, meant in TRADITIONAL.items()},
}
UNDERSTOOD = ("memory list", "memory  list 2", "记忆 列表 小雯", "memorylane", "memories", "天气")
MEANT_IN_TALK = {
    "记忆": "memory help", "memory STATUS": "memory status", "記憶 列表": "memory 列表",
}  # fmt: skip
TALK = (
    "记忆状态", "记忆 里最早的事是什么", "记忆力不好怎么办", "Memory list", "Memory", "记忆 状态",
    "memory foam is nice", "Memory status of the phone",
)  # fmt: skip


def test_a_command_is_respelled_as_it_was_meant_and_talk_stays_talk() -> None:
    for commanded, meant, stay in (
        (True, MEANT, (*UNDERSTOOD, "我的记忆 列表")),
        (False, MEANT_IN_TALK, TALK),
    ):
        expected = meant | dict.fromkeys(stay)
        assert {
            written: respelled(written, GROUPS, NAMES, commanded=commanded) for written in expected
        } == expected


@given(
    st.sampled_from(["memory", "记忆", "Memory", "天气", ""]),
    st.sampled_from(["", " ", "\n", "\u3000"]),
    st.one_of(st.text(max_size=8), st.sampled_from(["列表", "LIST", "忘记芒果"])),
    st.booleans(),
)
def test_what_was_respelled_is_understood_as_it_stands(
    group: str, gap: str, rest: str, commanded: bool
) -> None:
    spelled = respelled(f"{group}{gap}{rest}".strip(), GROUPS, NAMES, commanded=commanded)
    if spelled is not None:
        assert respelled(spelled, GROUPS, NAMES, commanded=commanded) is None


@pytest.mark.parametrize(
    ("written", "addressed", "then"),
    [
        ("/memory", True, "memory help"),
        ("/记忆查看 一下", True, "memory help 查看 一下"),
        ("记忆力不好怎么办", True, "记忆力不好怎么办"),
        ("/天气", True, "天气"),
        ("/memory", False, "memory"),
        ("／记忆 列表", False, "记忆 列表"),
        ("／记忆列表 2", False, "memory 列表 2"),
        ("／天气", False, "／天气"),
        ("/memory", None, "memory"),  # an event that is not as it should be
    ],
)
def test_the_filter_changes_the_event_and_lets_none_through(
    written: str, addressed: bool | None, then: str
) -> None:
    event: Any = SimpleNamespace(
        message_str=written.removeprefix("/").strip(),
        is_at_or_wake_command=addressed is not False,
        message_obj=SimpleNamespace(message_str=written),
    )
    if addressed is None:
        del event.message_obj
    assert CommandWords(False).filter(event, {"wake_prefix": ["/"]}) is False  # type: ignore[arg-type]
    assert event.message_str == then
    assert event.is_at_or_wake_command is (addressed is not False or "列表" in then)


def test_an_unknown_word_is_answered_with_the_nearest_command_that_is_for_who_asks() -> None:
    texts = Texts("zh-CN")
    meant = {"查看": "list", "statu": "status", "Serach": "search", "清空": "forget", "lst": "list"}
    assert {word: nearest(word, NAMES)[0] for word in meant} == meant
    assert nearest("xyzzy", NAMES) == []
    assert "列表、搜索" in unknown_text(texts, "查看 一下", admin=False)
    assert unknown_text(texts, "列表", admin=False) == ""
    assert "<" not in unknown_text(texts, "<scoped_memory>", admin=False)
    for word in ("更正", "編輯", "importt", "清理", "决定定"):
        said = re.split("[：、。]", unknown_text(texts, word, admin=False))
        assert {"改写", "导入", "整理", "决定"}.isdisjoint(said)
    assert "改写" in unknown_text(texts, "更正", admin=True)
