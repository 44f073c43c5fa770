"""A day and a thing together, a day that looks like a name, a day whose letters say nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.recall import Arm
from astrbot_plugin_scoped_memory.tests.support.days import FAMILY, Days

pytestmark = pytest.mark.engine

FRIDAY = datetime(2026, 10, 16, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("right", "other", "query", "in_talk"),
    [
        ("小雯预约了牙科", "第{}位预约了牙科", "上个月谁预约了牙科", False),
        ("小雯预约了牙科", "第{}位预约了牙科", "上个月谁预约了牙科", True),
        ("Wen saw the dentist", "No {} saw the dentist", "who saw the dentist last month", False),
    ],
)
async def test_of_a_day_and_a_thing_the_day_chooses_among_ever_so_many(
    days: Days, right: str, other: str, query: str, in_talk: bool
) -> None:
    await days.happened(FRIDAY, right)
    for number in range(230):
        at = FRIDAY + timedelta(days=20, minutes=number)
        await days.happened(at, other.format(number))
    days.clock.now = FRIDAY + timedelta(days=25)
    recall = await days.recall(query, FAMILY, 5, in_talk=in_talk)
    assert [hit.preview for hit in recall.hits][:1] == [right]


@pytest.mark.parametrize("query", ["你还记得上周五吗", "do you remember last Friday?"])
async def test_a_day_is_no_person(days: Days, query: str) -> None:
    await days.happened(FRIDAY, "爬了香山")
    await days.happened(FRIDAY + timedelta(days=1), "上周五 last Friday 不是名字")
    days.clock.now = FRIDAY + timedelta(days=4)
    recall = await days.recall(query, FAMILY, 5, in_talk=True)
    assert recall.trace.arm is Arm.DATES
    assert recall.hits[0].preview == "爬了香山"


@pytest.mark.parametrize(
    ("memory", "query"),
    [
        ("天天是大伟家的狗", "明天会下雪吗"),
        ("Sunday is the name of Wen's dog", "will it snow on Sunday?"),
    ],
)
async def test_the_letters_of_a_time_are_no_content(days: Days, memory: str, query: str) -> None:
    await days.happened(FRIDAY, memory)
    days.clock.now = FRIDAY + timedelta(days=30)
    for in_talk in (False, True):
        recall = await days.recall(query, FAMILY, 5, in_talk=in_talk)
        assert recall.hits == ()
