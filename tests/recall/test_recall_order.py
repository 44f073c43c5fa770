"""What comes first, seen from outside: each part of the order decides at least once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory import Actor, Recall
from astrbot_plugin_scoped_memory.llm_memory.models.recall import Arm
from astrbot_plugin_scoped_memory.tests.fakes.lexical_index import NoWords
from astrbot_plugin_scoped_memory.tests.fakes.trust import FixedTrust
from astrbot_plugin_scoped_memory.tests.support.days import FAMILY, Days
from astrbot_plugin_scoped_memory.tests.support.engines import (
    QUICK,
    Rig,
    Ticker,
    group,
    person,
    running,
)

pytestmark = pytest.mark.engine

HERE = group(777)
XIAOMING, XIAOHONG = person(1, "小明"), person(2, "小红")
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@contextlib.asynccontextmanager
async def reading(root: Path, **options: Any) -> AsyncIterator[Rig]:
    """An engine that finds by words alone."""
    async with running(root, trust=FixedTrust(0.0), **options) as rig:
        await rig.until_words()
        yield rig


async def asked(rig: Rig, query: str, who: Actor | None = None) -> Recall:
    return await rig.recall(query, HERE, actor=who)


def said(recall: Recall) -> list[str]:
    return [hit.preview for hit in recall.hits]


OF_MUM = {  # and what she said herself
    "妈妈": ["妈妈周三去打太极", "奶奶周三打太极"],
    "Mum": ["Mum swims on Wednesday", "Nan swims Wednesday"],
}


async def test_what_tells_of_a_person_comes_before_what_that_person_only_said(
    tmp_path: Path,
) -> None:
    people = {name: person(number, name) for number, name in enumerate(("小明", *OF_MUM))}
    async with reading(tmp_path) as rig:
        for mum, (of_mum, by_mum) in OF_MUM.items():
            await rig.remember(of_mum, HERE, people["小明"])
            await rig.remember(by_mum, HERE, people[mum])
        for query, asks, mum in (
            ("妈妈周三打什么", "小明", "妈妈"),
            ("我周三打什么", "妈妈", "妈妈"),
            ("When does Mum swim?", "小明", "Mum"),
        ):
            found = said(await asked(rig, query, people[asks]))
            assert [text for text in found if text in OF_MUM[mum]] == OF_MUM[mum], query


COOKS = {
    "做饭必须少放盐": "晚饭怎么做|晚饭该如何做呢？",
    "Use little salt when cooking": "How should I cook dinner?",
    "": "晚饭做好了|晚饭怎么又这么咸|作业怎么做|How was dinner?",
}


async def test_who_asks_how_is_told_what_bears_on_it(tmp_path: Path) -> None:
    async with reading(tmp_path) as rig:
        for rule in (*filter(None, COOKS), "洗衣服深浅要分开"):
            await rig.remember(rule, HERE, XIAOHONG)
        for told, queries in COOKS.items():
            for query in queries.split("|"):
                recall = await rig.recall(query, HERE, 3, actor=XIAOMING, in_talk=True)
                assert said(recall) == ([told] if told else []), query


LIKINGS = "爬山|看电影|喝茶|吃火锅|养花|弹吉他|跑步|画画|看书|游泳|骑车|唱歌|下围棋|钓鱼|露营"
SPORTS = "hiking|tennis|chess|sailing|rowing|cycling|fencing|golf|judo|rugby|surfing|yoga"
ABOUT = {
    "小芳": [
        *(f"小芳喜欢{one}" for one in LIKINGS.split("|")),
        *("小芳在家睡懒觉", "小芳养了猫", "小芳对虾过敏"),
    ],
    "Mary": [
        *(f"Mary likes {one}" for one in SPORTS.split("|")),
        *("Mary has a cat", "Mary is allergic to nuts"),
    ],
}
WHETHER_THERE = {
    "小芳": "@小芳 在吗|小芳在吗|小芳来了没|小芳在不在|小芳到了吗？|小芳是不是来了|is 小芳 here?",
    "Mary": "Is Mary here?|is Mary there|Mary, are you there?|@Mary",
}
ASKED = {
    "小芳": {
        "小芳喜欢吃火锅吗": "小芳喜欢吃火锅",
        "小芳有猫吗": "小芳养了猫",
        "小芳有没有过敏": "小芳对虾过敏",
        "小芳在哪": "小芳喜欢爬山",
        "小芳是谁": "小芳养了猫",
        "钥匙在吗": "备用钥匙在鞋柜第二层",
        "奶奶过敏吗": "奶奶对花生过敏",
    },
    "Mary": {"Does Mary like chess?": "Mary likes chess", "Has Mary got a cat?": "Mary has a cat"},
}


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("name", ABOUT)
async def test_who_asks_whether_somebody_is_there_is_told_nothing_of_the_person(
    tmp_path: Path, name: str, *, own: bool
) -> None:
    async with reading(tmp_path) as rig:
        for text in (*ABOUT[name], "备用钥匙在鞋柜第二层", "奶奶对花生过敏"):
            await rig.remember(text, HERE, person(5, name) if own else XIAOMING)
        for query in WHETHER_THERE[name].split("|"):
            assert said(await rig.unasked(query, HERE)) == [], query
        for query, answer in ASKED[name].items():
            assert answer in said(await rig.unasked(query, HERE, 20)), query


@pytest.mark.parametrize("words", [None, NoWords()])
async def test_what_was_said_on_the_day_or_in_the_month_named_comes_first(
    tmp_path: Path, words: NoWords | None
) -> None:
    clock = Ticker(NOON)
    async with running(
        tmp_path, clock=clock, words=words, trust=FixedTrust(0.0), follow=words is None
    ) as rig:
        for days_ago, fish in ((80, "带鱼"), (40, "鲫鱼"), (1, "鲈鱼"), (0, "草鱼")):
            clock.now = NOON - timedelta(days=days_ago)
            await rig.remember(f"奶奶在菜市场买了{fish}回来做饭", HERE, XIAOMING)
        if words is None:
            await rig.until_words()
        clock.now = NOON + timedelta(hours=1)
        for question, fish in (
            ("奶奶在菜市场买了什么", "草鱼"),  # without a time: the newest
            ("昨天奶奶在菜市场买了什么", "鲈鱼"),
            ("10月12号奶奶在菜市场买了什么", "鲫鱼"),
            ("9月份奶奶在菜市场买了什么", "带鱼"),
            ("what did 奶奶在菜市场 buy on September 2nd", "带鱼"),
        ):
            recall = await asked(rig, question)
            assert recall.trace.arm is (Arm.LEXICAL if words is None else Arm.SCAN)
            assert fish in said(recall)[0], question


async def test_of_what_says_as_much_the_words_of_who_is_named_or_asks_come_first(
    tmp_path: Path,
) -> None:
    links = {"aiocqhttp:1": "小明", "telegram:5": "小明"}
    async with reading(tmp_path, settings=replace(QUICK, identity_links=links)) as rig:
        for who, inn, coffee in (
            (XIAOMING, "推窗就是洱海", "冰美式"),
            (XIAOHONG, "晚上有点吵闹", "热拿铁"),
        ):
            await rig.remember(f"大理的客栈{inn}", HERE, who)
            await rig.remember(f"我最喜欢喝{coffee}咖啡", HERE, who)
        for query, asker, first in (
            ("小明爱大理的客栈吗", None, "小明"),
            ("小红爱大理的客栈吗", None, "小红"),
            ("我喜欢喝什么咖啡", Actor("telegram:5", "Ming"), "小明"),
            ("我喜欢喝什么咖啡", Actor("telegram:6", "Hong"), "小红"),  # of nobody: the newest
        ):
            recall = await asked(rig, query, asker)
            assert next(hit.who for hit in recall.hits) == first, query


OLD, NEW = "姑妈家养着一盆兰花", "舅舅家养着一盆菊花"
QUERY = "谁家养着一盆花"


async def test_what_a_recall_shows_counts_as_used_and_comes_first_and_after_a_restart(
    tmp_path: Path,
) -> None:
    async with reading(tmp_path) as rig:
        service, uses = rig.engine.service, rig.engine.parts.uses
        old = await rig.remember(OLD, HERE)
        await rig.remember(NEW, HERE)
        await rig.until_words()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):  # the deadline gave up
                await rig.recall("兰花", HERE, 1)
        await service.explain(conversation_id=HERE)
        await service.newest(conversation_id=HERE, limit=5)
        await service.expand(old.memory.pointer, conversation_id=HERE)
        assert await rig.texts(QUERY, HERE) == [NEW, OLD]
        assert uses.of(old.memory) == 1
        for _ in range(6):
            assert await rig.texts("兰花", HERE, 1) == [OLD]
        assert await rig.texts(QUERY, HERE) == [OLD, NEW]
    async with reading(tmp_path) as rig:
        assert await rig.texts(QUERY, HERE) == [OLD, NEW]


FRIDAY = datetime(2026, 10, 16, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("right", "other", "query"),
    [
        ("小雯预约了牙科", "第{}位预约了牙科", "上个月谁预约了牙科"),
        ("Wen saw the dentist", "No {} saw the dentist", "who saw the dentist last month"),
    ],
)
async def test_of_a_day_and_a_thing_the_day_chooses_among_ever_so_many(
    days: Days, right: str, other: str, query: str
) -> None:
    await days.happened(FRIDAY, right)
    for number in range(230):
        at = FRIDAY + timedelta(days=20, minutes=number)
        await days.happened(at, other.format(number))
    days.clock.now = FRIDAY + timedelta(days=25)
    for in_talk in {False, right.startswith("小")}:
        assert said(await days.recall(query, FAMILY, 5, in_talk=in_talk))[:1] == [right]


LETTERS = {
    "明天会下雪吗": "天天是大伟家的狗",
    "will it snow on Sunday?": "Sunday is the name of Wen's dog",
}


async def test_a_day_is_no_person_and_the_letters_of_a_time_are_no_content(days: Days) -> None:
    for memory in ("爬了香山", *LETTERS.values()):
        await days.happened(FRIDAY, memory)
    await days.happened(FRIDAY + timedelta(days=1), "上周五 last Friday 不是名字")
    days.clock.now = FRIDAY + timedelta(days=4)
    for query in ("你还记得上周五吗", "do you remember last Friday?"):
        recall = await days.unasked(query, FAMILY)
        assert (recall.trace.arm, "爬了香山" in said(recall)[:3]) == (Arm.DATES, True)
    days.clock.now = FRIDAY + timedelta(days=30)
    for query in LETTERS:
        for in_talk in (False, True):
            assert said(await days.recall(query, FAMILY, 5, in_talk=in_talk)) == [], query
