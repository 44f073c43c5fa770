"""What comes first, seen from outside: each part of the order decides at least once. A reranker
orders what is relevant and visible; whatever it does, there is an answer in time; and one that has
failed is left alone for a while."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory import Actor, Recall
from astrbot_plugin_scoped_memory.llm_memory.errors import RerankFailed
from astrbot_plugin_scoped_memory.llm_memory.models.recall import Arm
from astrbot_plugin_scoped_memory.llm_memory.recall.memory_manager import (
    REST,
    TOP,
    Reranking,
    reordered,
)
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.order import Candidate
from astrbot_plugin_scoped_memory.llm_memory.sharing.calls import AGENT
from astrbot_plugin_scoped_memory.tests.fakes.reranker import FakeReranker
from astrbot_plugin_scoped_memory.tests.fakes.trust import FixedTrust
from astrbot_plugin_scoped_memory.tests.fakes.words import NoWords
from astrbot_plugin_scoped_memory.tests.support.days import FAMILY, living_days
from astrbot_plugin_scoped_memory.tests.support.engines import (
    QUICK,
    Rig,
    Ticker,
    group,
    person,
    running,
)
from astrbot_plugin_scoped_memory.tests.support.memories import stored

pytestmark = pytest.mark.engine

HERE = group(777)
XIAOMING, XIAOHONG = person(1, "小明"), person(2, "小红")
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@contextlib.asynccontextmanager
async def reading(root: Path, *texts: str, **options: Any) -> AsyncIterator[Rig]:
    """An engine that finds by words alone, and knows the texts."""
    async with running(root, trust=FixedTrust(0.0), **options) as rig:
        await rig.until_words()
        for text in texts:
            await rig.remember(text, HERE)
        yield rig


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
            found = said(await rig.recall(query, HERE, actor=people[asks]))
            assert [text for text in found if text in OF_MUM[mum]] == OF_MUM[mum], query


COOKS = {
    "做饭必须少放盐": "晚饭怎么做|晚饭该如何做呢？",
    "Use little salt when cooking": "How should I cook dinner?",
    "": "晚饭做好了|晚饭怎么又这么咸|作业怎么做|How was dinner?",
}


async def test_who_asks_how_is_told_what_bears_on_it(tmp_path: Path) -> None:
    async with reading(tmp_path, *filter(None, COOKS), "洗衣服深浅要分开") as rig:
        for told, queries in COOKS.items():
            for query in queries.split("|"):
                recall = await rig.recall(query, HERE, 3, actor=XIAOMING, in_talk=True)
                assert said(recall) == ([told] if told else []), query


PROMPTS = {
    "The exporter retries three times": "Make the exporter send a mail when an upload times out",
    "Invoices are rendered to PDF with WeasyPrint": "Show a discount on the PDF of the invoice",
    "导出失败重试三次，之后移到 failed/": "把导出改成异步的，失败了也要重试",
    "数据库迁移用 Alembic，合并过的迁移不改": "给用户表加一个手机号字段，写好迁移脚本",
}


async def test_what_a_coding_agent_is_told_to_do_is_a_question_whatever_its_form(
    tmp_path: Path,
) -> None:
    agent = Actor(AGENT, "")
    async with reading(tmp_path, *PROMPTS) as rig:
        for known, prompt in PROMPTS.items():
            recall = await rig.recall(prompt, HERE, 3, actor=agent, in_talk=True)
            assert said(recall)[:1] == [known], prompt
        for prompt in ("Bump the version to 2.3.1", "把许可证的年份改成今年"):
            assert not said(await rig.recall(prompt, HERE, 3, actor=agent, in_talk=True)), prompt


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
            recall = await rig.recall(question, HERE)
            assert recall.trace.arm is (Arm.LEXICAL if words is None else Arm.SCAN)
            assert fish in said(recall)[0], question


async def test_of_what_says_as_much_the_words_of_who_is_named_or_asks_come_first(
    tmp_path: Path,
) -> None:
    linked = replace(QUICK, identity_links={"telegram:5": "aiocqhttp:1"})
    async with reading(tmp_path, settings=linked) as rig:
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
            recall = await rig.recall(query, HERE, actor=asker)
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
    tmp_path: Path, right: str, other: str, query: str
) -> None:
    async with living_days(tmp_path) as days:
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


async def test_a_day_is_no_person_and_the_letters_of_a_time_are_no_content(tmp_path: Path) -> None:
    async with living_days(tmp_path) as days:
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


ALLERGIC = "小明对什么过敏"
PATIENT = replace(QUICK, rerank_seconds=60.0, rerank_within_seconds=60.0)
ALLERGIES = ["小明对猫毛过敏", "小明对花粉也过敏，春天少出门", "小明的弟弟对海鲜过敏"]
BEST = [Candidate(stored(f"第{n}件事", n), 1.0) for n in range(4)]


async def test_what_is_below_the_floor_is_neither_shown_to_it_nor_let_in(tmp_path: Path) -> None:
    reranker = FakeReranker(lambda text: 1.0 if "红烧" in text else 0.1)
    async with reading(tmp_path, *ALLERGIES, settings=PATIENT, reranker=reranker) as rig:
        await rig.remember("红烧带鱼过敏的人也能吃", HERE, person(2, "阿红"))
        for query, shown in ((ALLERGIC, True), ("过敏了", False)):
            reranker.calls.clear()
            recall = await rig.recall(query, HERE, 5, in_talk=True, token_budget=999)
            assert bool(recall.hits) is shown
            assert shown or any(one.dropped for one in recall.trace.considered)
            told = {text.partition("：")[2] for text in reranker.shown}
            assert told == {hit.preview for hit in recall.hits}


async def test_it_is_shown_the_first_few_and_the_others_follow_behind_them(tmp_path: Path) -> None:
    texts = [f"小明对{n}号植物过敏" for n in range(TOP + 5)]
    settings = replace(PATIENT, relevance_floor=0.0)
    reranker = FakeReranker(lambda text: int(text.partition("对")[2].partition("号")[0]) / 100)
    async with reading(tmp_path, *texts, settings=settings, reranker=reranker) as rig:
        found = await rig.texts(ALLERGIC, HERE, limit=TOP + 5)
    assert sorted(found) == sorted(texts)
    assert [query for query, _ in reranker.calls] == [ALLERGIC]
    assert len(reranker.shown) == TOP
    first = [text.partition("：")[2] for text in reranker.shown]
    assert found[:TOP] == sorted(first, key=texts.index, reverse=True)


async def test_what_is_forgotten_while_it_thinks_is_not_shown(tmp_path: Path) -> None:
    reranker = FakeReranker(lambda text: len(text) / 100)
    reranker.release.clear()
    asked = {"settings": PATIENT, "reranker": reranker}
    async with reading(tmp_path, *ALLERGIES[1:], **asked) as rig, asyncio.timeout(30):
        gone = await rig.stored_id(ALLERGIES[0], HERE)
        task = asyncio.create_task(rig.recall(ALLERGIC, HERE))
        await reranker.asked.wait()
        await rig.forget(gone, HERE, person(1, admin=True))
        reranker.release.set()
        recall = await task
    assert {hit.preview for hit in recall.hits} == {*ALLERGIES[1:]}


def test_the_better_comes_first_and_among_equals_the_order_stays() -> None:
    for scores, order in (
        ([0.2, 0.9, 0.2, 0.5], [1, 3, 0, 2]),
        ([0.5] * 4, [0, 1, 2, 3]),
        ([1e6, -1e6, 0.5, 3.0], [0, 3, 2, 1]),  # logits
        ([0.1, 0.2], [1, 0, 2, 3]),  # those without a score follow as they were
    ):
        assert reordered(BEST, scores) == [BEST[n] for n in order]
    # Time and asker still weigh.
    best = [BEST[0], replace(BEST[1], terms={"time": 0.4, "covered": 9.0})]
    for scores, first in (([0.8, 0.6], best[1]), ([0.8, 0.5], best[0])):
        assert reordered(best, scores)[0] is first


def raising(error: Exception) -> Callable[[Sequence[str]], Any]:
    def answer(_: Sequence[str]) -> Any:
        raise error

    return answer


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (lambda texts: [0.5] * (len(texts) + 1), "bad_scores"),
        (lambda texts: [math.inf, *range(1, len(texts))], "bad_scores"),
        (lambda texts: [10**400] * len(texts), "error: OverflowError"),
        (lambda texts: None, "error: TypeError"),
        (raising(ConnectionError("the key sk-1 is wrong")), "error: ConnectionError"),
        (raising(RerankFailed("gone")), "gone"),
    ],
)
async def test_after_a_bad_answer_the_order_stays_and_it_is_left_alone_for_a_while(
    answer: Callable[[Sequence[str]], Any], code: str
) -> None:
    clock = [1000.0]
    fake = FakeReranker(answer=answer)
    reranking = Reranking(fake, PATIENT, lambda: clock[0])

    async def asked(spent: float = 0.0) -> tuple[str, int]:
        """What the trace notes, and how often it was asked so far."""
        notes: list[str] = []
        assert await reranking.order(ALLERGIC, BEST, spent, notes) == BEST
        return "".join(notes), len(fake.calls)

    assert await asked(spent=60.0) == ("rerank fake: not_asked", 0)  # no time is left
    note, calls = await asked()
    assert note.startswith(f"rerank fake: {code}")
    assert ("sk-1" in note, calls) == (False, 1)
    assert await asked() == ("rerank fake: not_asked", 1)
    clock[0] += REST
    fake.answer = lambda texts: [0.5] * len(texts)
    assert [await asked() for _ in range(2)] == [("", 2), ("", 3)]
