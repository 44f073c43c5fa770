"""Which questions ask for all that is known of a person."""

from __future__ import annotations

import pytest

from astrbot_plugin_scoped_memory.llm_memory.recall.rules.questions.person import person_asked

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("你知道我什么", "me"),
        ("你都知道我些什么呀？", "me"),
        ("你对我了解多少", "me"),
        ("介绍一下我", "me"),
        ("我是谁", "me"),
        ("你还记得我的哪些事", "me"),
        ("你认识我吗", "me"),
        ("介绍一下大伟", "大伟"),
        ("请给我介绍一下大伟吧", "大伟"),
        ("大伟是谁", "大伟"),
        ("大伟是个什么样的人啊", "大伟"),
        ("谁是大伟？", "大伟"),
        ("你知道大伟的哪些事", "大伟"),
        ("你对大伟了解多少", "大伟"),
        ("早上好！你还记得小雯吗", "小雯"),
        ("说说老周这个人", "老周"),
        ("What do you know about me?", "me"),
        ("tell me about Ann Lee", "ann lee"),
        ("Who is Ann?", "ann"),
        ("who am I", "me"),
        ("do you remember Ann", "ann"),
    ],
)
def test_who_is_asked_about(text: str, name: str) -> None:
    assert person_asked(text) == name


@pytest.mark.parametrize(
    "text",
    [
        "",
        "你是谁",
        "这是谁",
        "他是谁",
        "那是什么人",
        "奶奶能吃花生吗",
        "大伟在哪里上班",
        "我喜欢吃什么",
        "介绍一下这个项目",
        "谁是最后一个离开的，记得关灯",
        "我不知道该说什么",
        "what time is it",
        "tell me",
        "早",
    ],
)
def test_what_asks_for_something_else(text: str) -> None:
    assert person_asked(text) is None
