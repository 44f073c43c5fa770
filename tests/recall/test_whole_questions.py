"""A message that asks for a topic, for a person, or for several things: how it is read, part by
part; what it is told; and which part of a long piece answers it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    ContextLine,
    ConversationId,
    MemoryKind,
    Recall,
)
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Topic
from astrbot_plugin_scoped_memory.llm_memory.models.turns import Voice
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.asked import (
    MOST,
    Asked,
    asked_for,
    only_asks,
    parts_of,
)
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.order import excerpt
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running

pytestmark = [pytest.mark.engine, pytest.mark.astrbot]

FAMILY, COMPANY, PUBLIC = group(777), group(888), group(999)
XIAOMING, XIAOHONG, ADMIN = person(1, "小明"), person(2, "小红"), person(9, "老李", admin=True)
WEN = person(2, "小雯")
# Nothing of what is said here shares a word with the questions.
LIKES, RULE, TASK = "小明讨厌香菜", "回答一律用文言文", "给阳台换灯泡"
RENT, FENCE = "小红去交房租", "修篱笆"
TASKS, FEELING = MemoryKind.TASK, MemoryKind.EMOTIONAL


async def three_topics(rig: Rig, where: ConversationId) -> None:
    for text, who, kind in (
        (LIKES, XIAOMING, FEELING),
        (RULE, ADMIN, MemoryKind.KNOWLEDGE),
        (TASK, XIAOMING, TASKS),
    ):
        await rig.remember(text, where, who, kind=kind)


async def asked(
    rig: Rig,
    query: str,
    where: ConversationId = FAMILY,
    who: Actor = XIAOMING,
    limit: int = 5,
    *,
    in_talk: bool = False,
) -> Recall:
    return await rig.recall(query, where, limit, actor=who, token_budget=999, in_talk=in_talk)


async def told(
    rig: Rig, query: str, where: ConversationId = FAMILY, who: Actor = XIAOMING, limit: int = 5
) -> list[str]:
    return previews(await asked(rig, query, where, who, limit))


def previews(recall: Recall) -> list[str]:
    return [hit.preview for hit in recall.hits]


AS_PEOPLE_ASK = (("小明喜欢什么", LIKES), ("我们定了什么规矩", RULE))
QUESTIONS = [
    ("我有什么偏好", LIKES, "preferences"),
    ("你要遵守哪些规矩", RULE, "instructions"),
    ("还有哪些待办", TASK, "TASKS"),
]


async def test_a_question_for_a_topic_reads_its_file(rig: Rig) -> None:
    await three_topics(rig, FAMILY)
    for query, answer, _ in QUESTIONS:
        assert await told(rig, query) == [answer], query
    for query in ("任务栏怎么打开", "我喜欢这首歌", "the task manager is slow", "必须用公式"):
        assert await told(rig, query) == [], query
    for query, answer in AS_PEOPLE_ASK:
        assert previews(await asked(rig, query, in_talk=True))[0] == answer, query


async def test_of_tasks_those_of_who_asks_of_himself_whatever_was_said_before(rig: Rig) -> None:
    for text, who in ((TASK, XIAOMING), (RENT, XIAOHONG), (FENCE, XIAOHONG)):
        await rig.remember(text, FAMILY, who, kind=TASKS)
    view = await rig.engine.service.view(conversation_id=FAMILY)
    before = [ContextLine(Voice.ASKER, "香菜多少钱", rig.clock(), view)]
    for query, found in (
        ("我还有什么要做的", {TASK}),
        ("what do I have to do?", {TASK}),
        ("小红还有什么没做", {RENT, FENCE}),
        ("还有什么要办的", {TASK, RENT, FENCE}),
        ("todo list please", {TASK, RENT, FENCE}),
    ):
        recall = await rig.recall(
            query, FAMILY, actor=XIAOMING, in_talk=True, context=before, token_budget=999
        )
        assert set(previews(recall)) == found, query


async def test_the_topics_of_another_scope_never_come(rig: Rig) -> None:
    await three_topics(rig, FAMILY)
    await rig.remember("小红讨厌芹菜", PUBLIC, XIAOHONG, kind=FEELING)
    for query, answer, topic in QUESTIONS:
        for where in (COMPANY, PUBLIC):
            recall = await asked(rig, query, where)
            seen = ["小红讨厌芹菜"] if topic == "preferences" else []
            assert previews(recall) == seen, query
            considered = {one.scope_name for one in recall.trace.considered}
            assert considered <= {"公司" if where is COMPANY else "public", "public"}
        assert answer in await told(rig, query)


async def test_what_the_asker_said_comes_first_then_the_stronger_then_the_newer(rig: Rig) -> None:
    for text, who, strength in (
        ("香菜难吃", XIAOHONG, 50),
        ("雨天真烦", XIAOMING, 50),
        ("堵车真烦", XIAOMING, 90),
        ("小说真长", XIAOHONG, 100),
    ):
        await rig.remember(text, FAMILY, who, kind=FEELING, strength=strength)
    of_ming, of_hong = ["堵车真烦", "雨天真烦"], ["小说真长", "香菜难吃"]
    assert await told(rig, "我有什么偏好") == of_ming + of_hong
    assert await told(rig, "我有什么偏好", who=XIAOHONG) == of_hong + of_ming


async def test_what_is_told_of_a_person_comes_before_what_that_person_told(rig: Rig) -> None:
    found = ["妈妈不吃香菜", "奶奶不吃花生"]
    for text, who in zip(found, (XIAOHONG, person(3, "妈妈")), strict=True):
        await rig.remember(text, FAMILY, who, kind=FEELING)
    for query in ("妈妈有什么忌口", "介绍一下妈妈"):
        assert await told(rig, query) == found


async def test_a_file_that_goes_on_in_another_counts_and_what_was_forgotten_does_not(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "memory" / "scopes" / "家人"
    folder.mkdir(parents=True)
    (folder / "tasks-2.md").write_text("## 浇花 ^m-aaaaaaaaaa\n\n", encoding="utf-8")
    async with running(tmp_path) as rig:
        stored = await rig.remember(TASK, FAMILY, kind=TASKS)
        assert set(await told(rig, "还有哪些待办")) == {TASK, "浇花"}
        await rig.forget(stored.memory.memory.memory_id, FAMILY, ADMIN)
        assert await told(rig, "还有哪些待办") == ["浇花"]


async def _known(rig: Rig) -> None:
    await rig.remember("大伟是做产品经理的", FAMILY, WEN)
    await rig.remember("昨天和大伟去爬了香山", FAMILY, WEN, kind=MemoryKind.EVENT)
    await rig.remember("大伟不吃香菜", FAMILY, WEN, kind=FEELING)
    await rig.remember("小明对猫毛过敏", FAMILY, XIAOMING)
    await rig.remember("厨房的灯泡是暖光的", FAMILY, XIAOMING)
    await rig.remember("大伟的工资是两万", COMPANY, WEN)


async def test_what_is_known_of_a_person_comes_facts_first_and_of_a_thing_as_ever(rig: Rig) -> None:
    await _known(rig)
    facts = {"大伟不吃香菜", "大伟是做产品经理的"}
    for query in ("介绍一下大伟", "大伟是个什么样的人", "你知道大伟什么"):
        found = await told(rig, query)
        assert (set(found[:2]), "香山" in found[2]) == (facts, True), query
    # Of the asker first what names him.
    assert await told(rig, "你知道我什么", limit=2) == ["小明对猫毛过敏", "厨房的灯泡是暖光的"]
    of_her = await told(rig, "你对我了解多少", who=WEN)
    assert ("小明对猫毛过敏" in of_her, "大伟不吃香菜" in of_her) == (False, True)
    # A request needs no form of a question.
    assert set(previews(await asked(rig, "介绍一下大伟", limit=2, in_talk=True))) == facts
    assert await told(rig, "介绍一下法国的首都") == []
    assert await told(rig, "说说厨房的灯泡") == ["厨房的灯泡是暖光的"]


async def test_who_of_all_has_something_is_told_each(rig: Rig) -> None:
    await _known(rig)
    nuts = {"Tom is allergic to nuts", "Ann has a shellfish allergy"}
    for text in ("奶奶对花生过敏", *sorted(nuts)):
        await rig.remember(text, FAMILY, WEN)
    for query, found in (
        ("家里谁有过敏", {"小明对猫毛过敏", "奶奶对花生过敏"}),
        ("有人过敏吗", {"小明对猫毛过敏", "奶奶对花生过敏"}),
        ("does anyone have allergies?", nuts),
        ("Any food allergies in the team?", nuts),
        ("家里人都过敏了", set()),
        ("有人在吗", set()),
    ):
        assert set(previews(await asked(rig, query, limit=3, in_talk=True))) == found, query


NOISE = [f"第{number}号储物柜里放着第{number}箱旧杂志" for number in range(30)]
TWO_THINGS = {
    "妈妈的生日是哪天，爸爸的鞋码是多少？": {"妈妈的生日是五月三号", "爸爸的鞋码是四十三码"},
    "When is mom's birthday and what size are dad's shoes?": {
        "Mom's birthday is the third of May",
        "Dad's shoes are size forty-three",
    },
}


async def test_each_of_two_things_is_found_and_the_second_of_whom_the_first_named(rig: Rig) -> None:
    job = ["小刚的生日是五月三号", "小刚在华为上班"]
    for text in (*NOISE, *(fact for facts in TWO_THINGS.values() for fact in facts), *job):
        await rig.remember(text, FAMILY)
    await rig.remember("小雯在医院上班", FAMILY)
    for message, facts in TWO_THINGS.items():
        for in_talk in (True, False):
            found = await rig.recall(message, FAMILY, 3, in_talk=in_talk, token_budget=400)
            assert {hit.preview for hit in found.hits} >= facts
            assert len(found.hits) <= 3
    found = await rig.recall("小刚的生日是哪天？他在哪里上班？", FAMILY, 3, token_budget=400)
    assert previews(found)[:2] == job


ONE_THING = (
    "今天好累啊，明天几点开会？|小明和小红的生日是哪天|你知道吗？奶奶对花生过敏|"
    "Does grandma like tea and coffee?|The fourth is not my birthday, right?|"
    "When I was in the library, I read a novel. What was its name?"
)
ASK_TWO = (
    "妈妈的生日是哪天，爸爸的鞋码是多少？|妈妈的生日是哪天？我忘了。还有爸爸的鞋码是多少|"
    "When is mom's birthday and what size are dad's shoes?|"
    "When is mom's birthday? What size are dad's shoes?|"
    "When I was ill, who helped me and what did they cook?"
)
ONLY_ASK = (
    "奶奶能吃花生吗（急）|奶奶能吃花生吗？谁知道她能吃什么？|May grandma eat walnuts in her salad"
)
TOLD = "我下周二去体检。你能提醒我吗？|奶奶对花生过敏|Grandma is allergic to walnuts"


def test_things_that_are_asked_for_and_what_asks_alone() -> None:
    for messages, parts in ((ONE_THING, 1), (ASK_TWO, 2)):
        assert {len(parts_of(message)) for message in messages.split("|")} == {parts}
    for texts, is_question in ((ONLY_ASK, True), (TOLD, False)):
        assert {only_asks(text) for text in texts.split("|")} == {is_question}


@given(st.text(alphabet="妈生日哪天？，。 and what is?", max_size=60))
def test_parts_hold_the_whole_message_in_order(message: str) -> None:
    parts = parts_of(message)
    assert 1 <= len(parts) <= MOST
    assert "".join("".join(parts).split()) == "".join(message.split())


ASKED = {
    Asked(Topic.PREFERENCES): "我有什么偏好|请问我的偏好是什么|列出我的所有喜好|你还记得我的爱好吗|"
    "我喜欢什么|What are my preferences?|do you remember my likes and dislikes|what do I like",
    Asked(Topic.INSTRUCTIONS): "我们定了什么规矩|你要遵守哪些规矩|你的规则是什么|"
    "还记得我给你定的规矩吗|我们有什么约定|what rules did I give you|what are your rules|"
    "which rules must you follow",
    Asked(Topic.TASKS): "我有哪些待办|还有什么任务没做|有没有未完成的任务|还有什么没做的|"
    "列出我的待办|我有什么计划|待办|还有什么要做的|还有什么没做|有什么要办的事|哪些任务没完成|哪些任务还没做完|"
    "what are my open tasks|any open tasks?|what's on my todo list|which tasks are still open|"
    "what's left to do?|what do I have to do?|What still needs to be done?|todo list please|"
    "what is still open?|which tasks are not done",
    Asked(Topic.TASKS, done=True): "哪些任务完成了|完成了哪些任务|which tasks are done",
    Asked(Topic.TASKS, name="tom"): "what's open for Tom?",
    Asked(Topic.DECISIONS): "我们做了什么决定|what decisions did we make|what did we decide",
    Asked(Topic.PREFERENCES, name="小明"): "小明喜欢什么",
    Asked(Topic.PREFERENCES, name="tom"): "What does Tom like?",
    Asked(None, name=""): "你知道我什么|你都知道我些什么呀？|你对我了解多少|介绍一下我|我是谁|"
    "你认识我吗|What do you know about me?|who am I|tell me about myself",
    Asked(None, name="大伟"): "介绍一下大伟|请给我介绍一下大伟吧|大伟是谁|大伟是个什么样的人啊|"
    "谁是大伟？|你知道大伟的什么|你知道大伟的哪些事|你对大伟了解多少|你还记得大伟吗",
    Asked(None, name="tom"): "What do you know about Tom?|tell me about Tom|Who is Tom?|"
    "do you remember Tom",
    Asked(None, name="ann lee"): "tell me about Ann Lee",
    Asked(None, name="过敏", each=True): "家里谁有过敏|家里人都对什么过敏|谁对什么过敏|有人过敏吗",
    Asked(None, name="allergies", each=True): "Does anyone have allergies?|"
    "Any allergies in the team?",
    Asked(None, name="allergy", each=True): "who has an allergy?|anybody with an allergy?",
    None: "你是谁|这是谁|他是谁|你还记得吗|奶奶能吃花生吗|大伟在哪里上班|说说厨房的灯泡|"
    "介绍一下法国的首都|我不知道该说什么|我有一个任务想交给你|我喜欢吃什么|你有什么爱好|他有什么偏好|"
    "在那部电影里，我最喜欢哪个场景|what tasks can you do|what do you like|what is it like|"
    "what are my preferences.json settings for|what time is it|tell me|早||。？！",
}
"""A topic, a person, or who of all people has something; None where anything is left beside that,
so that it is a question as any other."""


@pytest.mark.parametrize("asked", ASKED)
def test_what_is_asked_for_as_a_whole(asked: Asked | None) -> None:
    found = {text: asked_for(text) for text in ASKED[asked].split("|")}
    assert {text: one for text, one in found.items() if one != asked} == {}


LONG = (
    "第一天到东京。"
    + "逛了很多地方，走了很多路。" * 20
    + "旅馆在鸭川边上，早餐七点。"
    + "晚上回家。" * 50
)
ENGLISH = "We walked a lot. " * 40 + "The hotel is by the river.\nBreakfast is at 7.30 sharp. " * 2


@pytest.mark.parametrize(
    ("text", "query", "limit", "shown"),
    [
        (LONG, "鸭川的旅馆几点早餐", 60, "…旅馆在鸭川边上，早餐七点。"),
        (ENGLISH, "breakfast time", 70, "…Breakfast is at 7.30 sharp."),
        (ENGLISH, "breakfast sharp", 30, "…Breakfast is at 7.30 sharp."),
        *((LONG, query, 60, "第一天到东京。") for query in ("", "完全无关", "？")),
        ("# 甲\n  乙", "乙", 60, "# 甲 乙"),
        # Of a megabyte without an end not all is read.
        ("字" * 1_000_000, "字", 240, "字" * 239),
        ("字。" * 500_000, "猫" * 800, 240, "字。" * 119),
    ],
)
def test_the_sentence_that_was_asked_for_is_shown_from_its_beginning(
    text: str, query: str, limit: int, shown: str
) -> None:
    assert excerpt(text, query, limit).startswith(shown)


@given(st.text(max_size=300), st.text(max_size=40), st.integers(1, 100))
def test_it_is_one_line_of_the_text_and_no_longer_than_allowed(
    text: str, query: str, limit: int
) -> None:
    shown = excerpt(text, query, limit)
    assert (len(shown) <= limit, len(shown.splitlines()) <= 1) == (True, True)
    bare = "".join(shown.removeprefix("…").removesuffix("…").split())
    assert bare in "".join(text.split())
