"""Whether a question asks for days alone."""

from __future__ import annotations

import pytest

from astrbot_plugin_scoped_memory.llm_memory.recall.rules.talk import is_about_time_alone

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("subject", "alone"),
    [
        ("聊了什么", True),
        ("what did we talk about", True),
        ("聊了花生吗", False),
        ("", True),
        ("那天大家在群里聊了啥", True),
        ("的日记里写了什么", True),
        ("can you remind me what we were doing", True),
        ("天气怎么样", False),
        ("写代码", False),
        ("what did the doctor say", False),
    ],
)
def test_a_question_may_be_about_a_time_and_nothing_else(subject: str, alone: bool) -> None:
    assert is_about_time_alone(subject) is alone
