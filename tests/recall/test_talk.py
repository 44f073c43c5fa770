"""What of the talk before belongs to a question."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory import ContextLine, TalkUsed, Voice
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.asked import is_about_time_alone
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.talk import (
    LONGEST_AGO,
    MOST_ANSWER,
    MOST_CHARS,
    MOST_POINTED,
    Leaning,
    Talk,
    leaning_of,
    talk_for,
)
from astrbot_plugin_scoped_memory.llm_memory.text.stated import asks

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def said(text: str, minutes: float = 1, voice: Voice = Voice.ASKER) -> ContextLine:
    return ContextLine(voice, text, NOW - timedelta(minutes=minutes))


def talk(query: str, *lines: ContextLine) -> Talk:
    return talk_for(query, query, lines, NOW)


@pytest.mark.parametrize(
    "query",
    [
        "那他呢？",
        "后来呢？",
        "为什么？",
        "在哪？",
        "what about him?",
        "why?",
        "and then?",
        "where is he?",
        "哪天",
        "谁陪她",
        "具体时间呢",
        "多少钱",
        "叫什么名字",
        "哪家",
        "地址呢",
        "几楼几号",
        "哪种语言",
        "我们几点出发",
        "幾點",
        "電話號碼呢",
        "how much was it?",
        "and the address?",
        "who's taking her?",
        "what was it called again?",
        "which day?",
    ],
)
def test_a_question_that_names_nothing_asks_for_what_was_spoken_of(query: str) -> None:
    assert leaning_of(query, query) is Leaning.CARRIES
    found = talk(query, said("小刚最近换工作了"))
    assert (found.topic, found.used.carried) == ("小刚最近换工作了", True)
    assert talk(query) == Talk()
    assert talk(query, said("嗯，那他呢")) == Talk()  # nothing was named before either


@pytest.mark.parametrize(
    "query",
    [
        "哈哈",
        "谢谢",
        "真的吗？",
        "可以吗？",
        "你呢？",
        "那就好",
        "ok",
        "lol",
        "是这样啊",
        "几点了",
        "现在几点？",
        "幾點了",
        "what time is it?",
        "what's up?",
        "到时间了",
        "有时间吗？",
        "该走了",
        "time to go!",
    ],
)
def test_small_talk_asks_for_nothing_whatever_was_said_before(query: str) -> None:
    found = talk(query, said("小刚最近换工作了"))
    assert found.topic == ""
    assert found.pointed == ""
    assert not found.used.carried


def test_a_question_about_him_shows_an_embedder_whom_it_means() -> None:
    found = talk("他现在在哪家医院上班？", said("小刚最近换工作了"))
    assert (found.topic, found.pointed) == ("", "小刚最近换工作了")
    assert talk("他们家真大啊", said("小刚最近换工作了")).pointed == ""  # asks for nothing
    assert talk("上海今天下雨吗？", said("小刚最近换工作了")).pointed == ""  # points to nobody


def test_a_message_with_a_subject_of_its_own_keeps_it() -> None:
    found = talk("我特别期待元旦晚会", said("我要表演魔术"), said("加油！", 1, Voice.BOT))
    assert found.topic == ""
    assert found.around == "我要表演魔术 加油！"
    assert found.used == TalkUsed((Voice.ASKER, Voice.BOT))


@pytest.mark.parametrize("query", ["开关在哪", "我几点去", "密码锁在哪", "你叫什么", "谁管接送"])
def test_what_one_asks_of_oneself_or_of_a_thing_is_not_asked_of_what_was_spoken_of(
    query: str,
) -> None:
    assert leaning_of(query, query) is Leaning.ADDS


def test_a_second_question_leans_on_what_the_first_leaned_on() -> None:
    assert talk("谁陪她？", said("奶奶要去看牙"), said("几点？")).topic == "奶奶要去看牙"


def test_what_is_replied_to_is_what_is_asked_for_first() -> None:
    quoted = said("小雯在医院上班", 600, Voice.QUOTED)
    assert talk("那她呢？", said("小刚换工作了"), quoted).topic == "小雯在医院上班"


def test_what_was_said_long_ago_is_no_context() -> None:
    minutes = LONGEST_AGO.total_seconds() / 60
    assert talk("那他呢？", said("小刚换工作了", minutes)).topic == "小刚换工作了"
    assert talk("那他呢？", said("小刚换工作了", minutes + 1)) == Talk()


def test_recalled_and_thought_text_is_no_context() -> None:
    line = "<scoped_memory>\n1. 小雯的密码\n</scoped_memory>好的"
    assert talk("我要去元旦晚会", said(line, 1, Voice.BOT)).around == "好的"


@given(
    st.lists(st.tuples(st.sampled_from(list(Voice)), st.text(max_size=600)), max_size=8),
    st.sampled_from(["那他呢？", "他住哪里？", "我要去元旦晚会"]),
)
def test_context_is_bounded(lines: list[tuple[Voice, str]], query: str) -> None:
    found = talk(query, *(said(text, 1, voice) for voice, text in lines))
    assert len(found.topic) <= MOST_CHARS
    assert len(found.pointed) <= MOST_POINTED
    assert len(found.around) <= 2 * MOST_CHARS + MOST_ANSWER + 8


@pytest.mark.parametrize(
    "query",
    [
        "我是谁？",
        "大家聊了什么？",
        "who are you?",
    ],
)
def test_what_asks_of_those_who_talk_does_not_ask_for_what_was_spoken_of(query: str) -> None:
    assert leaning_of(query, query) is Leaning.NONE


@pytest.mark.parametrize(
    ("query", "subject"),
    [
        ("昨天聊了什么？", "聊了什么？"),
        ("上周做了什么？", "做了什么？"),
        ("那天呢？昨天？", "那天呢？？"),
    ],
)
def test_a_question_about_days_alone_stays_one(query: str, subject: str) -> None:
    assert leaning_of(query, subject) is Leaning.NONE
    assert leaning_of("昨天他呢？", "他呢？") is Leaning.CARRIES
    assert leaning_of("她明天几点去", "她几点去") is Leaning.CARRIES
    assert leaning_of("明天几点？", "几点？") is Leaning.ADDS


@pytest.mark.parametrize(
    "query",
    [
        "灯还了没有",
        "球够用不",
        "明天要不要带伞",
        "电梯每户摊好多",
        "把钥匙放咗喺边度",
        "告诉我外婆的生日",
        "想知道快递到了没有消息",
        "记不清密码了",
        "Tell me Marek's address",
    ],
)
def test_a_request_to_be_told_asks_without_a_question_mark(query: str) -> None:
    assert asks(query)


@pytest.mark.parametrize(
    "query",
    ["周五了", "好久不见", "今天好多人", "Friday at last", "团子真厉害！！", "要不", "Dolly!!"],
)
def test_a_remark_asks_for_nothing(query: str) -> None:
    assert not asks(query)


@pytest.mark.parametrize(
    ("subject", "alone"),
    [
        ("聊了什么", True),
        ("what did we talk about", True),
        ("聊了花生吗", False),
        ("", True),
        ("那天大家在群里聊了啥", True),
        ("的日记里写了什么", True),
        ("can you remind me what we were doing", True),
        ("天气怎么样", False),
        ("写代码", False),
        ("what did the doctor say", False),
    ],
)
def test_a_question_may_be_about_a_time_and_nothing_else(subject: str, alone: bool) -> None:
    assert is_about_time_alone(subject) is alone
