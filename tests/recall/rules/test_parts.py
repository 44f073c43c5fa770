"""What one message asks for, part by part."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.recall.rules.parts import MOST, only_asks, parts_of

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("message", "parts"),
    [
        ("妈妈的生日是哪天，爸爸的鞋码是多少？", 2),
        ("妈妈的生日是哪天？我忘了。还有爸爸的鞋码是多少", 2),
        ("When is mom's birthday and what size are dad's shoes?", 2),
        ("When is mom's birthday? What size are dad's shoes?", 2),
        ("今天好累啊，明天几点开会？", 1),
        ("小明和小红的生日是哪天", 1),
        ("你知道吗？奶奶对花生过敏", 1),
        ("Does grandma like tea and coffee?", 1),
        ("When I was in the library, I read a novel. What was its name?", 1),
        ("The fourth is not my birthday, right?", 1),
        ("When I was ill, who helped me and what did they cook?", 2),
    ],
)
def test_things_that_are_asked_for(message: str, parts: int) -> None:
    assert len(parts_of(message)) == parts


@given(st.text(alphabet="妈生日哪天？，。 and what is?", max_size=60))
def test_parts_hold_the_whole_message_in_order(message: str) -> None:
    parts = parts_of(message)
    assert 1 <= len(parts) <= MOST
    assert "".join("".join(parts).split()) == "".join(message.split())


@pytest.mark.parametrize(
    ("text", "is_question"),
    [
        ("奶奶能吃花生吗（急）", True),
        ("奶奶能吃花生吗？谁知道她能吃什么？", True),
        ("May grandma eat walnuts in her salad", True),
        ("我下周二去体检。你能提醒我吗？", False),
        ("奶奶对花生过敏", False),
        ("Grandma is allergic to walnuts", False),
    ],
)
def test_a_question_tells_nothing(text: str, is_question: bool) -> None:
    assert only_asks(text) is is_question
