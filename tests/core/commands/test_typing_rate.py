"""No member fills the disk by command, and none who types is ever told to wait."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.core.commands.typing_rate import TypingRate
from astrbot_plugin_scoped_memory.llm_memory.remember.rules.gate import MAX_JUDGMENT
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person
from astrbot_plugin_scoped_memory.tests.support.plugin import Desk

pytestmark = [pytest.mark.engine, pytest.mark.astrbot]

FASTEST_TYPIST = 10
"""Characters a second, held for hours: twice the record."""


class Hours:
    """A clock that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.unit
@given(st.lists(st.integers(1, MAX_JUDGMENT), max_size=60))
def test_who_types_is_never_told_to_wait(lengths: list[int]) -> None:
    clock = Hours()
    rate = TypingRate(clock)
    for length in lengths:
        clock.now += 3 + length / FASTEST_TYPIST  # the command itself, and the words
        assert rate.wait(group(777), person(1), "字" * length) == 0


@pytest.mark.unit
def test_a_flood_ends_soon_for_its_sender_alone_and_not_for_ever() -> None:
    clock = Hours()
    rate = TypingRate(clock)
    long = "字" * MAX_JUDGMENT
    waits = [rate.wait(group(777 + number), person(1), long) for number in range(60)]
    taken = waits.index(max(waits))
    assert 3 <= taken <= 10
    assert waits == [0] * taken + [waits[-1]] * (60 - taken)  # refused ones cost nothing more
    assert rate.wait(group(777), person(2), long) == 0
    assert rate.wait(group(777), person(1, admin=True), long) == 0
    clock.now += waits[-1] * 60
    assert rate.wait(group(777), person(1), long) == 0


@pytest.mark.unit
@given(st.text(max_size=30))
def test_of_a_flood_of_short_ones_few_are_taken(text: str) -> None:
    clock = Hours()
    rate = TypingRate(clock)
    taken = 0
    for _ in range(200):
        clock.now += 0.1
        taken += rate.wait(group(777), person(1), text) == 0
    assert 10 <= taken <= 30


@pytest.mark.engine
async def test_the_reply_says_that_nothing_was_stored_and_when_to_send_it_again(rig: Rig) -> None:
    desk, replies = Desk(rig, sender="10001", admin=False), []
    for number in range(12):
        words = f"第{number}号仓库的货架清单：" + "".join(f"{n}层放{n * 7}箱，" for n in range(170))
        replies.append(await desk(f"add {words}"))
    refused = {reply for reply in replies if "分钟" in reply}
    assert refused <= {desk.say("add.too_fast", minutes=n) for n in range(1, 9)}
    stored = await rig.engine.service.newest(conversation_id=group(777))
    assert 0 < len(stored) < 12
    assert len(stored) + sum(reply in refused for reply in replies) == 12
