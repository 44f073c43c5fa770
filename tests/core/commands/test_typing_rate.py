"""No member fills the disk by command, and none who types is ever told to wait."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.core.commands.typing_rate import TypingRate
from astrbot_plugin_scoped_memory.llm_memory.remember.rules.gate import MAX_JUDGMENT
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person
from astrbot_plugin_scoped_memory.tests.support.plugin import Desk

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

FASTEST_TYPIST = 10
"""Characters a second, held for hours: twice the record."""
LONG = "字" * MAX_JUDGMENT


@given(st.lists(st.integers(1, MAX_JUDGMENT), max_size=60))
def test_who_types_is_never_told_to_wait(lengths: list[int]) -> None:
    now = [0.0]
    rate = TypingRate(lambda: now[0])
    for length in lengths:
        now[0] += 3 + length / FASTEST_TYPIST  # the command itself, and the words
        assert rate.wait(group(777), person(1), "字" * length) == 0


@pytest.mark.parametrize(("text", "least", "most"), [(LONG, 3, 10), ("好", 10, 30), ("", 10, 30)])
def test_a_flood_ends_soon_for_its_sender_alone_and_not_for_ever(
    text: str, least: int, most: int
) -> None:
    now = [0.0]
    rate = TypingRate(lambda: now[0])
    waits = [rate.wait(group(777 + number), person(1), text) for number in range(60)]
    taken = waits.index(max(waits))
    assert least <= taken <= most
    assert waits == [0] * taken + [waits[-1]] * (60 - taken)  # refused ones cost nothing more
    assert rate.wait(group(777), person(2), text) == 0
    assert rate.wait(group(777), person(1, admin=True), text) == 0
    now[0] += waits[-1] * 60
    assert rate.wait(group(777), person(1), text) == 0


async def test_the_reply_says_that_nothing_was_stored(rig: Rig) -> None:
    desk = Desk(rig, sender="10001", admin=False)
    said = [await desk(f"add 第{number}号仓库的货架，{LONG[:1800]}") for number in range(12)]
    refused = [one for one in said if "分钟" in one]
    stored = await rig.engine.service.newest(conversation_id=group(777))
    assert 0 < len(stored) == 12 - len(refused) < 12
