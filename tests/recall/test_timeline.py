"""Questions about days are answered by date: in the bot's zone, in scope, with nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    Arm,
    ContextLine,
    Memory,
    MemoryKind,
    Provenance,
    Recall,
    Source,
)
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.timeline import (
    MADE_OF_ENTRIES,
)
from astrbot_plugin_scoped_memory.llm_memory.models.turns import Voice
from astrbot_plugin_scoped_memory.llm_memory.text.hit_line import fence
from astrbot_plugin_scoped_memory.llm_memory.text.normalising import estimate_tokens
from astrbot_plugin_scoped_memory.llm_memory.transfer.rules.format import LineBroken, read_line
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.entry import render
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.fakes.words import NoWords
from astrbot_plugin_scoped_memory.tests.support.days import (
    FAMILY,
    NOON,
    SHANGHAI,
    Days,
    living_days,
)
from astrbot_plugin_scoped_memory.tests.support.engines import group, person
from astrbot_plugin_scoped_memory.tests.support.plugin import FakeEvent, holding, tool_context
from astrbot_plugin_scoped_memory.tests.support.reflecting import say
from astrbot_plugin_scoped_memory.tests.support.turn_plugin import TurnPlugin, recalled_for_turn
from astrbot_plugin_scoped_memory.tools.core_memory_recall import core_memory_recall

pytestmark = [pytest.mark.engine, pytest.mark.astrbot]

COMPANY, PUBLIC = group(888), group(999)
NEW_YORK = ZoneInfo("America/New_York")
LORD_HOWE = ZoneInfo("Australia/Lord_Howe")


@pytest.fixture
async def days(tmp_path: Path) -> AsyncIterator[Days]:
    """A bot at noon of a day, in Shanghai."""
    async with living_days(tmp_path) as opened:
        yield opened


def at_noon(*day: int, zone: ZoneInfo = SHANGHAI) -> datetime:
    return datetime(*day, 12, tzinfo=zone)  # type: ignore[arg-type,misc]


@pytest.mark.parametrize(
    ("zone", "day"),
    [
        (NEW_YORK, date(2026, 11, 1)),  # 25 hours
        (NEW_YORK, date(2026, 3, 8)),  # 23 hours
        (LORD_HOWE, date(2026, 4, 5)),  # 24 and a half
        (LORD_HOWE, date(2026, 10, 4)),  # 23 and a half
        (SHANGHAI, date(2026, 11, 1)),
    ],
)
async def test_a_day_on_which_the_clocks_change_is_that_day_and_no_hour_of_another(
    tmp_path: Path, zone: ZoneInfo, day: date
) -> None:
    midnight = datetime.combine(day, datetime.min.time(), zone)
    # The day's end by the wall clock: two moments of one zone are added up by it.
    after = midnight + timedelta(days=1)
    minute = timedelta(minutes=1)
    async with living_days(tmp_path, midnight, zone) as days:
        await days.happened(midnight - minute, "前一天的最后一分钟")
        await days.happened(midnight, "这一天的第一分钟")
        await days.happened(after - minute, "这一天的最后一分钟")
        await days.happened(after, "后一天的第一分钟")
        days.clock.now = after + timedelta(hours=12)
        answer = {"这一天的最后一分钟", "这一天的第一分钟"}
        assert set(await days.told("昨天聊了什么")) == answer
        assert await days.told("今天聊了什么") == ["后一天的第一分钟"]
        assert await days.told("前天聊了什么") == ["前一天的最后一分钟"]
        days.clock.now += timedelta(days=100)
        asked = f"{day.year}年{day.month}月{day.day}号那天我们做了什么"
        assert set(await days.told(asked)) == answer


async def test_a_journal_that_was_told_in_another_zone_is_read_by_the_bots_days(
    tmp_path: Path,
) -> None:
    async with living_days(tmp_path, zone=UTC) as days:
        await days.happened(datetime(2026, 11, 20, 15, 0, tzinfo=UTC), "晚上散了步")
        await days.happened(datetime(2026, 11, 20, 17, 0, tzinfo=UTC), "半夜下了雨")
    assert len(list((tmp_path / "memory/scopes/家人/journal").iterdir())) == 1
    now = datetime(2026, 11, 22, 4, 0, tzinfo=UTC)
    async with living_days(tmp_path, now) as days:
        assert await days.told("昨天聊了什么") == ["半夜下了雨"]
        assert await days.told("前天聊了什么") == ["晚上散了步"]
    async with living_days(tmp_path, now, NEW_YORK) as days:  # the 21st, 23 o'clock
        assert sorted(await days.told("昨天聊了什么")) == ["半夜下了雨", "晚上散了步"]


async def test_days_and_weeks_are_the_calendars_and_of_two_times_none_lies_between(
    days: Days,
) -> None:
    first = at_noon(2026, 11, 2)  # a Monday
    for number in range(21):
        await days.happened(first + timedelta(days=number), f"记下了{number}号气球")
    week = sorted(f"记下了{number}号气球" for number in range(7, 14))
    for weekday in range(7):
        days.clock.now = first + timedelta(days=14 + weekday)
        for question in ("上周我们做了什么", "what did we do last week"):
            assert sorted(await days.told(question)) == week, (weekday, question)
    days.clock.now = first + timedelta(days=9, hours=11)
    for question, numbers in (
        ("昨天聊了什么", [8]),
        ("11月3号那天", [1]),
        ("上周三发生了什么", [2]),
        ("昨天和11月3号我们聊了什么", [1, 8]),
        ("9999年聊了什么", []),
        ("0001-01-01聊了什么", []),
    ):
        assert sorted(await days.told(question)) == [f"记下了{n}号气球" for n in numbers], question
    assert len(await days.told("近一百年聊了什么")) == 10


@pytest.mark.parametrize("moment", ["0001-01-01T00:00+08:00", "9999-12-31T23:00-08:00"])
@pytest.mark.parametrize("zone", [SHANGHAI, NEW_YORK])
async def test_a_moment_that_no_zone_can_shift_is_not_taken_and_ends_no_recall(
    tmp_path: Path, moment: str, zone: ZoneInfo
) -> None:
    at = datetime.fromisoformat(moment)
    entry = Memory("m-aaaa1111", "奶奶的嫁妆在柜子里", at, extra=(f"日期：{at:%Y-%m-%d}",))
    path = tmp_path / "memory/scopes/家人/entities.md"
    path.parent.mkdir(parents=True)
    path.write_text(render(entry), encoding="utf-8")
    async with living_days(tmp_path, zone=zone) as days:
        assert days.only().memory.created_at.year > 2000
        days.engine.parts.catalogue.put(replace(days.only(), memory=entry))
        for query in ("昨天说的嫁妆", "昨天聊了什么", "9999年聊了什么", "明天有什么安排"):
            await days.recall(query, FAMILY)
        assert await days.told("嫁妆在哪里") == ["奶奶的嫁妆在柜子里"]
    with pytest.raises(LineBroken):
        read_line(json.dumps({"type": "memory", "judgment": "嫁妆", "created_at": moment}))


async def test_days_are_those_of_the_own_scope_and_are_no_answer_to_another_question(
    days: Days,
) -> None:
    there = {FAMILY: "家里搬了家", COMPANY: "公司换了门禁", PUBLIC: "广场上有集市"}
    for where, text in there.items():
        await days.happened(NOON, text, where)
    days.clock.now = NOON + timedelta(days=1)
    for where, text in there.items():
        told = await days.told("昨天聊了什么", where)
        assert told == [*dict.fromkeys((text, there[PUBLIC]))]
    for question in ("昨天的面馆在哪里", "where did we eat yesterday", "聊了什么"):
        recall = await days.recall(question, FAMILY, 5, in_talk=True)
        assert (recall.trace.arm is Arm.DATES, recall.hits) == (False, ()), question


def written(root: Path, day: date, text: str, *extra: str) -> None:
    """An entry in the file of a day, as a person or an earlier version wrote it."""
    at = datetime.combine(day, datetime.max.time(), SHANGHAI).replace(microsecond=0)
    origin = Provenance(source=Source.REFLECTION)
    memory = Memory(
        f"m-day{day:%m%d}", text, at, kind=MemoryKind.EVENT, provenance=origin, extra=extra
    )
    path = root / f"memory/scopes/家人/journal/{day.isoformat()}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(memory), "utf-8")


async def test_of_each_day_the_first_is_told_before_the_second_of_any(days: Days) -> None:
    monday = at_noon(2026, 11, 9)
    for number in range(4):
        for what in ("绿萝", "吊兰")[: 1 + number % 2]:
            at = monday + timedelta(days=number, minutes=len(what))
            await days.happened(at, f"第{number}天买了{what}")
    await days.happened(monday, "集市开了", PUBLIC)
    days.clock.now = monday + timedelta(days=7)
    week = await days.told("上周我们做了什么")
    assert [text[:3] for text in week] == [
        "第0天",
        "第1天",
        "第2天",
        "第3天",
        "第1天",
        "第3天",
        "集市开",
    ]
    # Where few may be told, those of the own scope, and of them the last days.
    assert [one[:3] for one in await days.told("上周我们做了什么", limit=2)] == ["第2天", "第3天"]


async def test_a_day_is_told_with_what_is_not_read_yet_and_without_what_is_forgotten(
    tmp_path: Path,
) -> None:
    async with living_days(tmp_path, chat=ScriptedChat()) as days:
        for where, known, words in (
            (COMPANY, "公司开了晨会", "公司门禁今天全部换了"),
            (FAMILY, "奶奶打了太极", "客厅装好了新的吊灯"),
        ):
            await days.happened(NOON, known, where)
            await say(days, words, where=where, who=person(1, "小明"))
            await days.engine.reflection.read_due()
        days.clock.now = NOON + timedelta(days=1)
        assert await days.told("昨天我们做了什么") == ["奶奶打了太极", "客厅装好了新的吊灯"]
        assert await days.told("昨天我们做了什么", PUBLIC) == []
        for hit in (await days.recall("昨天我们做了什么", FAMILY)).hits:
            await days.forget(hit.memory_id, FAMILY, person(9, "管理员", admin=True))
        assert await days.told("昨天我们做了什么") == []


async def test_what_stands_in_a_days_journal_keeps_its_day_wherever_the_bot_is_now(
    tmp_path: Path,
) -> None:
    written(tmp_path, date(2026, 11, 20), "那天大家聊了养花", MADE_OF_ENTRIES)
    for zone in (SHANGHAI, NEW_YORK, ZoneInfo("Pacific/Kiritimati")):
        async with living_days(tmp_path, at_noon(2026, 11, 21, zone=zone), zone) as days:
            if zone is SHANGHAI:
                path = tmp_path / "memory/scopes/家人/journal/2026-11-03.md"
                path.write_text("## 全家去了千岛湖\n", encoding="utf-8")
                await days.engine.reconcile()
            assert await days.told("昨天聊了什么") == ["那天大家聊了养花"]
            assert await days.told("今天聊了什么") == []
            assert await days.told("11月3号那天我们做了什么") == ["全家去了千岛湖"]


async def test_what_repeats_the_entries_of_a_day_answers_for_that_day_and_for_nothing_else(
    tmp_path: Path,
) -> None:
    written(tmp_path, date(2026, 11, 19), "阿强在杭州开了一家面馆，大家都去了")
    written(tmp_path, date(2026, 11, 20), "阿强在杭州开了面馆；奶奶打了太极", MADE_OF_ENTRIES)
    tomorrow = NOON + timedelta(days=1)
    async with living_days(tmp_path, tomorrow, follow=True) as days:
        await days.until_indexed()
        assert await days.told("昨天聊了什么") == ["阿强在杭州开了面馆；奶奶打了太极"]
        for question in ("阿强在杭州开了什么面馆", "昨天阿强的面馆怎么样"):
            assert await days.told(question) == ["阿强在杭州开了一家面馆，大家都去了"], question
    async with living_days(tmp_path, tomorrow, words=NoWords()) as days:
        scanned = await days.told("阿强在杭州开了什么面馆")
        assert "阿强在杭州开了面馆；奶奶打了太极" not in scanned


async def test_what_names_the_day_comes_behind_what_was_said_on_it_and_a_bare_day_has_nothing(
    tmp_path: Path,
) -> None:
    async with living_days(tmp_path, follow=True) as days:
        await days.happened(NOON, "后天要去医院体检")  # 2026-11-22
        await days.happened(NOON, "昨天的风很大，聊了聊做了什么")  # 2026-11-19
        await days.until_indexed()
        plan = "后天（2026-11-22）要去医院体检"
        days.clock.now = NOON + timedelta(days=1)
        assert await days.told("明天做什么") == [plan]
        days.clock.now = NOON - timedelta(days=3)
        for question in ("昨天聊了什么", "what did we do yesterday", "2025年聊了什么", "昨天"):
            assert await days.told(question) == [], question
        await days.happened(NOON + timedelta(days=2), "客厅装好了灯")
        await days.until_indexed()
        days.clock.now = NOON + timedelta(days=3)
        assert await days.told("昨天做了什么") == ["客厅装好了灯", plan]


async def test_of_a_week_a_turn_is_told_every_day_however_much_was_said(days: Days) -> None:
    monday = at_noon(2026, 11, 9)
    for number in range(7):
        words = f"第{number}天" + "大家聊了很多琐碎的事" * 24
        await days.happened(monday + timedelta(days=number), words)
    days.clock.now = NOON
    plugin = TurnPlugin(days)
    assert plugin.config.auto_inject_topk == 3
    for question in ("上周我们做了什么", "what did we do last week"):
        hits = (await recalled_for_turn(plugin, question, FAMILY)).hits
        assert [hit.preview[:3] for hit in hits] == [f"第{number}天" for number in range(7)]
        budget = plugin.config.inject_token_budget
        assert estimate_tokens(fence(hits, plugin.texts)) <= budget
    (friday,) = (await recalled_for_turn(plugin, "上周五聊了什么", FAMILY)).hits
    assert len(friday.preview) > 200  # one day may say more
    # The tool tells a week, too, unless the model wants fewer.
    for more, days_told in (({}, [True] * 7), ({"limit": 2}, [False] * 5 + [True] * 2)):
        answer = await called(plugin, query="上周我们做了什么", **more)
        assert [f"第{number}天" in answer for number in range(7)] == days_told


async def called(plugin: TurnPlugin, **given: Any) -> str:
    """What the tool answers the model."""
    tool = core_memory_recall(source=holding(plugin))
    return await tool.call(tool_context(FakeEvent.in_group(777)), **given)


async def test_of_a_year_the_last_days_are_told_and_of_one_day_the_strongest(days: Days) -> None:
    first = at_noon(2026, 10, 1)
    for number in range(12):
        await days.happened(first + timedelta(days=number), f"第{number}天浇了花")
        await days.happened(first + timedelta(days=number), f"集市{number}", PUBLIC)
    days.clock.now = first + timedelta(days=40)
    plugin = TurnPlugin(days)
    hits = (await recalled_for_turn(plugin, "2026年聊了什么", FAMILY)).hits
    assert [hit.preview for hit in hits] == [f"第{number}天浇了花" for number in range(2, 12)]
    for number in range(14):
        await days.happened(first + timedelta(days=30, minutes=number), f"买了{number}盆绿萝")
    days.clock.now = first + timedelta(days=31)
    assert len((await recalled_for_turn(plugin, "昨天聊了什么", FAMILY)).hits) == 10


PLANS = {
    "小明明天七点跑团": "明天有什么安排|我明天要干嘛|明天忙不忙|明天的日程|明天有空吗|小明明天去哪|"
    "明天跑什么|明天有什麼行程|Any plans for tomorrow?|am I free tomorrow|what's on tomorrow|"
    "what's up tomorrow?|am I here on November 21?|"
    "明天家里有局吗|明天干嘛来着|明天你们有安排没，我想来",
    "12月3号交房租": "12月3号有什么事|3号要交什么|十二月三號有沒有安排|what's on December 3?|"
    "anything due on the 3rd?",
    "妈妈每周三晚上上瑜伽课": "周三有什么活动|下周三忙不忙|any plans for Wednesday?|"
    "are there any meetings on Wednesday?|is there anything on Wednesday",
    "元旦回老家": "元旦有什么计划|1月1号有什么安排|元旦你们都怎么过",
}
QUIET = """
明天见|今天好累|明天再说吧|我明天没空|今天没什么事|今天就这样吧|后天有什么安排|今天几号|你今天好吗|
see you tomorrow|I'm busy tomorrow|how are you today|what's up today|any plans for Friday?|
Doing the costings, which rate do I type in for the farmer tomorrow?
"""


async def test_a_question_for_plans_is_told_first_what_lies_on_its_day(days: Days) -> None:
    await days.happened(NOON - timedelta(days=3), "周末（2026-11-21～2026-11-22）大扫除")
    days.clock.now = NOON
    for one in (*PLANS, "奶奶对花生过敏", "昨天的风很大"):
        await days.remember(one, FAMILY, person(2, "阿强"))
    for plan, questions in PLANS.items():
        for question in questions.split("|"):
            recall = await days.recall(question, FAMILY, 3, in_talk=True, days=7)
            assert told_by(recall)[:1] == [plan], question


def told_by(recall: Recall) -> list[str]:
    """Without dates."""
    return [re.sub("（[0-9～-]+）", "", hit.preview) for hit in recall.hits]


async def test_small_talk_is_told_nothing_and_days_given_to_the_tool_are_enough(days: Days) -> None:
    await days.happened(NOON, "明天小明七点跑团")
    await days.remember("客厅换了灯", FAMILY, person(2, "阿强"))
    for text in QUIET.replace("\n", "").split("|"):
        assert (await days.recall(text, FAMILY, 3, in_talk=True)).hits == (), text
    await days.remember("12月3号交房租", FAMILY, person(2, "阿强"))
    plugin = TurnPlugin(days)
    for query in ("安排", "有什么要注意的", "wedding", "跑团"):
        assert "跑团" in await called(plugin, query=query, days="明天"), query
    assert "交房租" in await called(plugin, query="安排", days="12月3号")
    assert "跑团" not in await called(plugin, query="跑团", days="12月3号")


_WEEK = {
    "周三下午交周报": 18,
    "周四上午交房租": 19,
    "周四下午看牙医": 19,
    "周五中午和同事吃饭": 20,
    "除了周五每天九点半站会": None,
    "Standup is at 9:30 every day except Friday": None,
    "The deadline is Friday December 11": None,
    "平安夜去看电影": None,
}
_OF_FRIDAY = "周五早上送小明上学|周五下午三点体检|周五要取快递|周五晚上看话剧|周五给奶奶打电话"
MONDAY = at_noon(2026, 11, 16)


async def _planned(days: Days, *texts: str, kind: MemoryKind = MemoryKind.EVENT) -> None:
    days.clock.now = MONDAY
    for text in texts:
        await days.remember(text, FAMILY, person(2, "阿强"), kind=kind)


async def test_of_a_week_to_come_no_day_is_left_out_and_of_a_full_day_all_that_fits_is_told(
    days: Days,
) -> None:
    of_days = sorted(text for text, day in _WEEK.items() if day)
    usual = (text for text, day in _WEEK.items() if not day)
    await _planned(days, *of_days)
    await _planned(days, *usual, kind=MemoryKind.KNOWLEDGE)
    plugin = TurnPlugin(days)
    for question in ("这周有什么安排", "what's on this week?"):
        recall = await recalled_for_turn(plugin, question, FAMILY)
        assert (sorted(told_by(recall)), recall.left_out) == (of_days, 0), question
        limited = (await days.recall(question, FAMILY, 3)).hits
        assert {hit.preview[3:13] for hit in limited} == {f"2026-11-{day}" for day in (18, 19, 20)}
    await _planned(days, *_OF_FRIDAY.split("|"))
    for question in ("周五有什么安排", "Any plans for Friday?"):
        told = told_by(await recalled_for_turn(plugin, question, FAMILY))
        assert (len(told), all("周五" in one for one in told)) == (6, True), question
    # How much more there is, is told as well.
    plugin = TurnPlugin(days, inject_token_budget=230)
    recall = await recalled_for_turn(plugin, "周五有什么安排", FAMILY)
    written = fence(recall.hits, plugin.texts, recall.left_out)
    assert 0 < len(recall.hits) < 6
    assert f"还有 {6 - len(recall.hits)} 条，用 core_memory_recall 查" in written
    assert estimate_tokens(written) <= 230


LUNCH, DENTIST, PARTY = "周五中午和小雯在鼎泰丰吃饭", "周四上午看牙医", "下周五公司聚餐"
FOLLOWED = [
    ("Any plans for Friday?", "Where?", LUNCH),
    ("Any plans for Friday?", "Who with?", LUNCH),
    ("周五有什么安排", "几点", LUNCH),
    ("周五有什么安排", "那周四呢", DENTIST),
    ("what's on Friday", "and Thursday?", DENTIST),
    ("what's on Friday", "And the week after?", PARTY),
    ("周四有什么安排", "第二天呢", LUNCH),
    ("香菜多少钱", "And the week after?", None),
]


async def test_what_is_asked_behind_plans_is_asked_of_them(days: Days) -> None:
    await _planned(days, LUNCH, DENTIST, PARTY)
    await _planned(days, "修篱笆", kind=MemoryKind.TASK)
    view = await days.engine.service.view(conversation_id=FAMILY)
    for before, query, found in FOLLOWED:
        talk = [ContextLine(Voice.ASKER, before, days.clock(), view)]
        recall = await days.recall(query, FAMILY, 3, in_talk=True, days=7, context=talk)
        assert told_by(recall) == ([found] if found else []), query
