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
    Talk,
    asks_of_talk,
    talk_for,
)
from astrbot_plugin_scoped_memory.llm_memory.text.stated import asks

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
GANG = "小刚最近换工作了"
CARRIES = (
    "那他呢？|后来呢？|为什么？|在哪？|what about him?|why?|and then?|where is he?|哪天|谁陪她|"
    "具体时间呢|多少钱|叫什么名字|哪家|地址呢|几楼几号|哪种语言|我们几点出发|幾點|電話號碼呢|"
    "how much was it?|and the address?|who's taking her?|what was it called again?|which day?"
)
SMALL_TALK = (
    "哈哈|谢谢|真的吗？|可以吗？|你呢？|那就好|ok|lol|是这样啊|几点了|现在几点？|幾點了|"
    "what time is it?|what's up?|到时间了|有时间吗？|该走了|time to go!"
)
ASKS = (
    "灯还了没有|球够用不|明天要不要带伞|电梯每户摊好多|把钥匙放咗喺边度|告诉我外婆的生日|"
    "想知道快递到了没有消息|记不清密码了|Tell me Marek's address"
)
REMARKS = "周五了|好久不见|今天好多人|Friday at last|团子真厉害！！|要不|Dolly!!"
TIME_ALONE = (
    "聊了什么|what did we talk about||那天大家在群里聊了啥|的日记里写了什么|"
    "can you remind me what we were doing"
)
MORE_THAN_TIME = "聊了花生吗|天气怎么样|写代码|what did the doctor say"


def said(text: str, minutes: float = 1, voice: Voice = Voice.ASKER) -> ContextLine:
    return ContextLine(voice, text, NOW - timedelta(minutes=minutes))


def talk(query: str, *lines: ContextLine, subject: str | None = None) -> Talk:
    return talk_for(query, query if subject is None else subject, lines, NOW)


@pytest.mark.parametrize("query", CARRIES.split("|"))
def test_a_question_that_names_nothing_asks_for_what_was_spoken_of(query: str) -> None:
    found = talk(query, said(GANG))
    assert (found.topic, found.used.carried) == (GANG, True)
    assert talk(query) == Talk()
    assert talk(query, said("嗯，那他呢")) == Talk()  # nothing was named before either


@pytest.mark.parametrize("query", SMALL_TALK.split("|"))
def test_small_talk_asks_for_nothing_whatever_was_said_before(query: str) -> None:
    found = talk(query, said(GANG))
    assert (found.topic, found.pointed, found.used.carried) == ("", "", False)


@pytest.mark.parametrize(
    ("queries", "subject", "carries", "around"),
    [
        # of oneself, or of a thing of its own; and of those who talk
        ("开关在哪|我几点去|密码锁在哪|你叫什么|谁管接送", None, False, GANG),
        ("我是谁？|大家聊了什么？|who are you?", None, False, ""),
        # of days alone, and of somebody on a day
        ("昨天聊了什么？", "聊了什么？", False, ""),
        ("上周做了什么？", "做了什么？", False, ""),
        ("那天呢？昨天？", "那天呢？？", False, ""),
        ("昨天他呢？", "他呢？", True, GANG),
        ("她明天几点去", "她几点去", True, GANG),
        ("明天几点？", "几点？", False, GANG),
    ],
)
def test_what_a_message_leans_on_is_told_by_what_it_names(
    queries: str, subject: str | None, carries: bool, around: str
) -> None:
    for query in queries.split("|"):
        assert asks_of_talk(query, query if subject is None else subject) is carries, query
        assert talk(query, said(GANG), subject=subject).around == around, query


def test_a_question_about_him_shows_an_embedder_whom_it_means() -> None:
    found = talk("他现在在哪家医院上班？", said(GANG))
    assert (found.topic, found.pointed) == ("", GANG)
    assert talk("他们家真大啊", said(GANG)).pointed == ""  # asks for nothing
    assert talk("上海今天下雨吗？", said(GANG)).pointed == ""  # points to nobody


def test_a_message_keeps_its_own_subject_and_leans_on_what_was_named_last() -> None:
    found = talk("我特别期待元旦晚会", said("我要表演魔术"), said("加油！", 1, Voice.BOT))
    assert (found.topic, found.around) == ("", "我要表演魔术 加油！")
    assert found.used == TalkUsed((Voice.ASKER, Voice.BOT))
    assert talk("谁陪她？", said("奶奶要去看牙"), said("几点？")).topic == "奶奶要去看牙"
    quoted = said("小雯在医院上班", 600, Voice.QUOTED)
    assert talk("那她呢？", said(GANG), quoted).topic == "小雯在医院上班"


def test_neither_what_was_said_long_ago_nor_recalled_text_is_context() -> None:
    minutes = LONGEST_AGO.total_seconds() / 60
    assert talk("那他呢？", said(GANG, minutes)).topic == GANG
    assert talk("那他呢？", said(GANG, minutes + 1)) == Talk()
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


def test_a_request_asks_without_a_question_mark_and_may_be_about_a_time_and_nothing_else() -> None:
    assert [text for text in ASKS.split("|") if not asks(text)] == []
    assert [text for text in REMARKS.split("|") if asks(text)] == []
    assert [text for text in TIME_ALONE.split("|") if not is_about_time_alone(text)] == []
    assert [text for text in MORE_THAN_TIME.split("|") if is_about_time_alone(text)] == []
