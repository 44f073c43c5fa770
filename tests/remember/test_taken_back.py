"""What its speaker says again or takes back: the neighbour proposes, guards decide, and only inside
the scope that is written. An event of another day is no correction of the first."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.core.replies.outcome_text import remembered_text
from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    ConversationId,
    DeedKind,
    MemoryKind,
    RememberOutcome,
    Stored,
    is_changed,
    is_stored,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Vector
from astrbot_plugin_scoped_memory.llm_memory.index.ports import Neighbours
from astrbot_plugin_scoped_memory.llm_memory.models.scope import ScopeFilter
from astrbot_plugin_scoped_memory.llm_memory.models.turns import Turn
from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES, Texts
from astrbot_plugin_scoped_memory.tests.fakes.memory_store import MemoryStore
from astrbot_plugin_scoped_memory.tests.support.engines import (
    QUICK,
    Rig,
    group,
    person,
    running,
    with_pace,
)
from astrbot_plugin_scoped_memory.tests.support.nights import OneDirection
from astrbot_plugin_scoped_memory.tests.support.reflecting import (
    Bot,
    StandingClock,
    answer,
    learned,
    reflect,
    texts_of,
)

pytestmark = [pytest.mark.engine, pytest.mark.astrbot]

HOME = group(777)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("小李抽烟", "小李不抽烟了"),
        ("Tom smokes", "Tom does not smoke any more"),
        ("Tom smokes", "Tom no longer smokes"),
        ("小李住在上海", "更正：小李住在杭州"),
        ("小李住在上海", "纠正一下，小李住在杭州"),
        ("小李住在上海", "我记错了，小李住在杭州"),
        ("小李住在上海", "小李住在杭州，之前说错了"),
        ("Tom lives in Leeds", "Correction: Tom lives in York"),
        ("I eat pork", "Correction: I no longer eat pork"),
        ("小李6月12日体检", "更正：小李6月15日体检"),
        ("小李对猫毛过敏", "小李对猫毛不过敏"),
        ("小明的车险2026-12-15到期", "更正：我的车险12月20号到期"),
        ("我养了一只猫", "我不养猫了"),
        ("會議室的投影機在二樓", "講錯了，會議室的投影機在四樓"),
        ("我的生日是3月5日", "我的生日不是3月5日，是3月8日"),
        ("I have a cat", "I don't have a cat any more"),
        ("My yoga class is on Monday", "Sorry, my mistake: my yoga class is on Friday"),
        ("小明 lives in Leeds", "I don't live in Leeds but in York"),
        ("小李家的狗叫豆包", "不是豆包！小李家的狗叫豆苞"),
        ("瑜伽课晚上7点半开始", "记错了记错了，瑜伽7点就开始"),
        ("合唱队的队长是刘姐", "刘姐不当合唱队长了，现在是小赵在带"),
    ],
)
async def test_what_its_speaker_takes_back_is_replaced(timed_bot: Bot, old: str, new: str) -> None:
    timed_bot.chat.add(answer(learned(old, who="s1")))
    turn = Turn(person(10001), old, "好的")
    await timed_bot.engine.service.observe(turn, conversation_id=HOME)
    first = await timed_bot.tell(old, HOME)
    assert isinstance(first, Stored)
    timed_bot.clock.forward(minutes=5)
    outcome = await timed_bot.tell(new, HOME)
    assert is_stored(outcome, "replaced"), outcome
    assert outcome.former is not None
    assert outcome.former.memory.memory_id == first.memory.memory.memory_id
    assert texts_of(timed_bot)["家人"] == [outcome.memory.memory.judgment]
    await reflect(timed_bot)
    assert texts_of(timed_bot)["家人"] == [outcome.memory.memory.judgment], "it is learned again"


@pytest.mark.parametrize(
    ("old", "new", "by", "named"),
    [
        # what another said
        ("小李抽烟", "小李不抽烟了", 5, True),
        ("小李住在上海", "更正：小李住在杭州", 5, True),
        ("我抽烟", "我不抽烟了", 5, False),
        # what may hold beside it
        ("默认分支是 main", "默认分支是 master", 10001, True),
        ("我养的猫喜欢吃鱼", "我不养猫了", 10001, True),
        ("小明抽烟", "我的病好了，我已經戒烟了", 10001, True),
        ("我养了一条狗", "我不养猫了", 10001, False),
        ("我的车停在二层", "不对，我爸爸的车停在三层", 10001, True),
        ("我的车停在二层", "不对，是三层", 10001, True),
        ("包间 3", "包间 4", 10001, True),
        # what takes nothing back; the reflection decides, which reads the turn
        ("小李住在上海", "小李住在杭州", 10001, False),
        ("小李抽烟", "小李不喝酒", 10001, False),
        ("小李跑步排第5", "小李跑步排第3", 10001, False),
        ("小李爱吃辣，不爱吃甜", "小李不爱吃苦", 10001, False),
        ("小李家的狗叫豆包", "不是我！小李家的猫跑了", 10001, False),
        ("合唱队的队长是刘姐", "小赵不当合唱队长了", 10001, False),
        ("我在准备考研", "我不考研了 打算直接找工作", 10001, True),
    ],
)
async def test_what_stands_beside_the_other_and_whether_the_conflict_is_named(
    timed_bot: Bot, old: str, new: str, by: int, named: bool
) -> None:
    first = await timed_bot.remember(old, HOME)
    outcome = await timed_bot.remember(new, HOME, person(by))
    assert outcome.conflict == (first.memory if named else None)
    assert texts_of(timed_bot)["家人"] == sorted([old, re.sub("更正：|不对，", "", new)])
    for texts in map(Texts, LANGUAGES):
        for said in (remembered_text(texts, outcome), remembered_text(texts, outcome, "add")):
            assert (first.memory.memory.memory_id in said) is named
            assert (old in said) is named


async def test_what_may_mean_two_things_or_nobody_said_replaces_nothing(timed_bot: Bot) -> None:
    olds = {"小李周一打球", "小李周二打球", "小李抽烟"}
    told = [(text, text) for text in sorted(olds)]
    # Of which of two? And a model adds what nobody said.
    for text, heard in (*told, ("更正：小李周四游泳", None), ("小李不抽烟了", "今天晚饭吃什么")):
        assert is_stored(await timed_bot.tell(text, HOME, heard=heard), "stored"), text
    assert olds < set(texts_of(timed_bot)["家人"])


EVENT = MemoryKind.EVENT


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("小明住院了", "小明住院了"),
        ("小明做了体检", "小明做了体检，一切正常"),
        ("小明去年6月2日（2025-06-02）体检", "小明11月19日体检"),
    ],
)
async def test_the_same_event_months_later_is_another_one(
    tmp_path: Path, first: str, second: str
) -> None:
    clock = StandingClock()
    async with running(tmp_path, embedder=OneDirection(), clock=clock) as rig:
        assert isinstance(await rig.tell(first, HOME, kind=EVENT), Stored)
        clock.forward(days=150)
        outcome = await rig.tell(second, HOME, kind=EVENT)
        assert isinstance(outcome, Stored), outcome
        assert outcome.conflict is None
        assert len((await rig.recall(first, HOME)).hits) == 2


@pytest.mark.parametrize(
    ("days", "kind", "known"),
    [(2, EVENT, True), (3, EVENT, True), (4, EVENT, False), (150, MemoryKind.KNOWLEDGE, True)],
)
async def test_a_repetition_is_of_the_same_event_for_three_days(
    timed_bot: Bot, days: int, kind: MemoryKind, known: bool
) -> None:
    await timed_bot.tell("小明住院了", HOME, kind=kind)
    timed_bot.clock.forward(days=days)
    assert is_stored(await timed_bot.tell("小明住院了", HOME, kind=kind), "reinforced") is known


async def test_a_day_that_is_told_decides_though_it_is_near(timed_bot: Bot) -> None:
    for text, count in (("昨天小明流鼻血", 1), ("今天小明流鼻血", 2), ("今天小明流鼻血", 2)):
        await timed_bot.tell(text, HOME, kind=EVENT)
        assert len(texts_of(timed_bot)["家人"]) == count


async def test_a_model_that_says_again_what_nobody_said_makes_nothing_stronger(
    timed_bot: Bot,
) -> None:
    await timed_bot.tell("小李对花生过敏", HOME, heard="小李对花生过敏")
    for heard, stronger in (
        ("帮我点个外卖", False),
        ("小李对花生过敏吗？", False),
        ("小李对花生过敏", True),
    ):
        (before,) = timed_bot.living()
        outcome = await timed_bot.tell("小李对花生过敏", HOME, heard=heard)
        assert is_stored(outcome, "reinforced")
        assert (outcome.memory.memory.strength > before.memory.strength) is stronger


HERE, OFFICE, SQUARE = group(777), group(888), group(999)
ME = person(10001)
OLD, NEW = "我非常喜欢喝乌龙茶", "我爱喝乌龙茶"
PATIENT = with_pace(replace(QUICK, embed_draft_seconds=60.0), query_seconds=60.0)
"""What is not compared in time is stored as it is: a slow moment would look like that."""


async def say(rig: Rig, text: str, where: ConversationId, who: Actor = ME) -> RememberOutcome:
    """What becomes of it, once everything before it is in the index."""
    await rig.until_indexed()
    return await rig.tell(text, where, who)


ENGINES = {"vectors": {"embedder": OneDirection()}, "words": {"words_alone": True}}


@pytest.fixture(params=ENGINES.values(), ids=ENGINES)
async def near(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Rig]:
    """An engine whose neighbours are proposed by the one or the other index."""
    async with running(tmp_path, settings=PATIENT, **request.param) as rig:
        yield rig


async def test_said_again_in_its_scope_it_is_the_same_and_otherwise_another(near: Rig) -> None:
    for where in (SQUARE, OFFICE, HERE):
        first = await say(near, OLD, where)
        assert is_stored(first, "stored")
        again = await say(near, NEW, where)
        assert is_stored(again, "reinforced")
        before = first.memory.memory
        assert again.memory.memory == replace(before, strength=before.strength + 5)
        for number in range(15 * (where is SQUARE)):  # the public scope is a busy one
            await near.remember(f"广场上第 {number} 个摊位是空的", SQUARE, ME)
    admin, hong = replace(ME, admin=True), person(10002, "小红")
    for who, text in ((admin, NEW), (ME, "小明对猫毛过敏"), (hong, "小明对猫毛不过敏")):
        assert is_stored(await say(near, text, HERE, who), "stored"), text


async def test_who_tells_more_replaces_what_they_said_and_can_have_it_back(near: Rig) -> None:
    first = await near.remember("我住在苏州", HERE, ME)
    more = await say(near, "我住在苏州，小区叫听雨轩", HERE)
    assert is_stored(more, "replaced")
    assert more.former == first.memory
    assert await near.newest(HERE) == [more.memory.memory.judgment]
    archive = near.root / "memory/scopes/家人/archive" / first.memory.path
    assert f"被 {more.memory.memory.memory_id} 取代" in archive.read_text("utf-8")
    back = await near.restore(first.memory.memory.memory_id, HERE, ME)
    assert is_changed(back, DeedKind.REPLACED, undone=True)
    assert await near.newest(HERE) == ["我住在苏州"]


class Talkative(MemoryStore):
    """A store that forgets to look at the filter."""

    def query(self, vector: Vector, scope_filter: ScopeFilter, k: int) -> Neighbours:
        return super().query(vector, replace(scope_filter, everything=True), k)


async def test_a_store_that_answers_from_elsewhere_is_not_believed(tmp_path: Path) -> None:
    store = Talkative()
    async with running(tmp_path, embedder=OneDirection(), store=store, settings=PATIENT) as rig:
        await say(rig, OLD, OFFICE)
        await say(rig, OLD, SQUARE)
        assert is_stored(await say(rig, NEW, HERE), "stored")
