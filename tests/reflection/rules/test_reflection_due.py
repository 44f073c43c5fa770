"""When a call of the reader pays."""

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
