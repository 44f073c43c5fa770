"""What of a talk pays for a call of its reader, and when."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.loop import WaitingLine
from astrbot_plugin_scoped_memory.llm_memory.reflection.rules.due import (
    ENDED,
    LONGEST_WAIT,
    MIN_TURNS,
    MIN_WORTH,
    MOST_CHARS,
    is_due,
    seconds_until_due,
)
from astrbot_plugin_scoped_memory.llm_memory.reflection.rules.worth_reading import (
    says_something,
    worth_of,
)
from astrbot_plugin_scoped_memory.tests.support.memories import turn

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)
IDLE = timedelta(minutes=10)
LINE = WaitingLine("家人", "a:GroupMessage:1", "", MIN_TURNS, NOW - timedelta(hours=5), NOW)


def due(line: WaitingLine, worth: float, *, after: timedelta = timedelta()) -> bool:
    return is_due(line, worth, NOW + after, after_turns=10, idle=IDLE)


def test_what_pays_is_read_when_the_talk_rests_and_much_of_it_at_once() -> None:
    assert not due(LINE, MIN_WORTH)
    assert due(LINE, MIN_WORTH, after=IDLE)
    assert not due(LINE, MIN_WORTH - 1, after=IDLE)
    assert not due(replace(LINE, count=MIN_TURNS - 1), MIN_WORTH, after=IDLE)
    assert due(replace(LINE, count=1), 0.2, after=ENDED)
    assert due(replace(LINE, count=10), 0.0)
    assert due(replace(LINE, chars=MOST_CHARS), 0.0)


def test_a_clock_that_went_back_makes_no_turn_younger() -> None:
    assert due(LINE, MIN_WORTH, after=-IDLE)
    assert due(LINE, 0.2, after=-LONGEST_WAIT - timedelta(hours=5))


@given(
    count=st.integers(1, 9),
    worth=st.floats(0.2, 9),
    age=st.timedeltas(timedelta(), timedelta(days=30)),
    quiet=st.timedeltas(timedelta(), timedelta(days=30)),
)
def test_nothing_waits_longer_than_it_says(
    count: int, worth: float, age: timedelta, quiet: timedelta
) -> None:
    line = replace(LINE, count=count, oldest=NOW - max(age, quiet), newest=NOW - quiet)
    seconds = seconds_until_due(line, worth, NOW, after_turns=10, idle=IDLE)
    assert seconds <= (LONGEST_WAIT + IDLE).total_seconds()
    assert due(line, worth, after=timedelta(seconds=seconds + 1))


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
