"""What of a talk pays for a call of its reader, and when."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.loop import WaitingLine
from astrbot_plugin_scoped_memory.llm_memory.reflection.rules.due import (
    ENDED,
    LONGEST_WAIT,
    MIN_TURNS,
    MIN_WORTH,
    is_due,
    worth_of,
)
from astrbot_plugin_scoped_memory.tests.support.memories import turn

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)
IDLE, HOURS = timedelta(minutes=10), timedelta(hours=5)
LINE = WaitingLine("家人", "a:GroupMessage:1", "", MIN_TURNS, NOW - HOURS, NOW)


@pytest.mark.parametrize(
    ("changes", "worth", "after", "is_read"),
    [
        ({}, MIN_WORTH, timedelta(), False),
        ({}, MIN_WORTH, IDLE, True),
        ({}, MIN_WORTH - 1, IDLE, False),
        ({"count": MIN_TURNS - 1}, MIN_WORTH, IDLE, False),
        ({"count": 1}, 0.2, ENDED, True),
        ({"count": 1, "oldest": NOW - LONGEST_WAIT}, 0.2, IDLE, True),
        ({"count": 10}, 0.0, timedelta(), True),
        # A clock that went back makes no turn younger.
        ({}, MIN_WORTH, -IDLE, True),
    ],
)
def test_what_pays_is_read_when_the_talk_rests_and_much_of_it_at_once(
    changes: Any, worth: float, after: timedelta, is_read: bool
) -> None:
    line = replace(LINE, **changes)
    assert is_due(line, lambda _: worth, NOW + after, after_turns=10, idle=IDLE) is is_read


STATING = [
    "我对猫毛过敏", "展览定在4月18号，地点图书馆一层", "我买了新的床帘，好看吗？", "I am vegan",
    "Kofi paid me back the 45, we are even", "My number changed. Can you save it?",
]  # fmt: skip
OTHERS = [
    "早", "哈哈哈哈", "好的收到", "", "🎉🎉", "明天几点开会？", "讲个笑话呗", "帮我查一下天气",
    "lol", "thanks a lot", "where is the key", "please translate this sentence",
]  # fmt: skip


@pytest.mark.parametrize("text", [*STATING, *OTHERS])
def test_a_statement_counts_in_full_and_greetings_questions_and_requests_little(text: str) -> None:
    worth = worth_of(turn(text))
    assert worth == 1.0 if text in STATING else 0 < worth < 0.5
    assert worth_of(turn(f"{text}\n小明下周三搬到城西去住")) == 1.0
