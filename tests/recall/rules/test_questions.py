"""What a message asks for, part by part, and which part of a long piece answers it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Topic
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.asked import (
    MOST,
    Asked,
    asked_for,
    only_asks,
    parts_of,
)
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.choosing import excerpt

pytestmark = pytest.mark.unit


ONE_THING = (
    "今天好累啊，明天几点开会？|小明和小红的生日是哪天|你知道吗？奶奶对花生过敏|"
    "Does grandma like tea and coffee?|The fourth is not my birthday, right?|"
    "When I was in the library, I read a novel. What was its name?"
)
TWO_THINGS = (
    "妈妈的生日是哪天，爸爸的鞋码是多少？|妈妈的生日是哪天？我忘了。还有爸爸的鞋码是多少|"
    "When is mom's birthday and what size are dad's shoes?|"
    "When is mom's birthday? What size are dad's shoes?|"
    "When I was ill, who helped me and what did they cook?"
)
QUESTIONS = (
    "奶奶能吃花生吗（急）|奶奶能吃花生吗？谁知道她能吃什么？|May grandma eat walnuts in her salad"
)
TOLD = "我下周二去体检。你能提醒我吗？|奶奶对花生过敏|Grandma is allergic to walnuts"


def test_things_that_are_asked_for_and_what_asks_alone() -> None:
    for messages, parts in ((ONE_THING, 1), (TWO_THINGS, 2)):
        assert {len(parts_of(message)) for message in messages.split("|")} == {parts}
    for texts, is_question in ((QUESTIONS, True), (TOLD, False)):
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
