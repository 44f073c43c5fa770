"""What of a talk pays for a call of its reader."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.reflection.rules.worth_reading import (
    says_something,
    worth_of,
)
from astrbot_plugin_scoped_memory.tests.support.memories import turn

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    "text",
    [
        "我对猫毛过敏",
        "台灯还给小鹿了",
        "展览定在4月18号，地点图书馆一层",
        "热水卡放在门后的鞋盒里，谁用完放回去",
        "我买了新的床帘，好看吗？",
        "记住我住302室",
        "I am vegan",
        "Kofi paid me back the 45, we are even",
        "Rehearsal moves to Wednesday, ok?",
        "My number changed. Can you save it?",
    ],
)
def test_a_statement_counts_as_a_turn_in_both_languages(text: str) -> None:
    assert worth_of(turn(text)) == 1.0


@pytest.mark.parametrize(
    "text",
    [
        *("早", "在吗", "哈哈哈哈", "好的收到", "谢谢啦", "晚安", "困死了", "?", "", "🎉🎉"),
        *("展览在哪天", "明天几点开会？", "讲个笑话呗", "帮我查一下天气", "你会不会下棋"),
        *("hello", "cool", "lol", "thanks a lot", "where is the key", "Can you tell me a joke?"),
        *("What time is it?", "please translate this sentence"),
    ],
)
def test_greetings_questions_and_requests_weigh_little(text: str) -> None:
    assert 0 < worth_of(turn(text)) < 0.5


@given(st.text(max_size=300))
def test_every_text_counts_for_something(text: str) -> None:
    assert 0 < worth_of(turn(text)) <= 1
    assert says_something(f"{text}\n小明下周三搬到城西去住") is True
