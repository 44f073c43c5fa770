"""The talk before a question: what of it belongs there, whom it means, and nothing of it for those
who may not hear it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory import (
    ContextLine,
    ConversationId,
    Recall,
    Voice,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Vector
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.asked import (
    LONGEST_AGO,
    MOST_ANSWER,
    MOST_CHARS,
    MOST_POINTED,
    Talk,
    asks_of_talk,
    is_about_time_alone,
    talk_for,
)
from astrbot_plugin_scoped_memory.llm_memory.text.stated import asks
from astrbot_plugin_scoped_memory.tests.fakes.embedder import FakeEmbedder
from astrbot_plugin_scoped_memory.tests.fakes.trust import FixedTrust
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, running

pytestmark = pytest.mark.engine

HERE = group(777)
GANG, WEN = "小刚在华为做硬件工程师", "小雯在人民医院当护士"
KEY, KNEE = "老王把备用钥匙放在鞋柜第二层", "奶奶周三下午三点去平安路8号看膝盖，小雯陪她"
MET = "我昨天碰到小刚了"


async def line(rig: Rig, text: str = MET, voice: Voice = Voice.ASKER) -> ContextLine:
    """Said in HERE, as it is now."""
    view = await rig.engine.service.view(conversation_id=HERE)
    return ContextLine(voice, text, rig.clock(), view)


async def ask(rig: Rig, query: str, *context: ContextLine, where: ConversationId = HERE) -> Recall:
    return await rig.recall(query, where, 3, context=context, in_talk=True)


def texts(recall: Recall) -> list[str]:
    return [hit.preview for hit in recall.hits]


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    """It knows the facts, by an index of words."""
    async with running(tmp_path, words_alone=True) as opened:
        for fact in (GANG, WEN, KEY, "奶奶对花生过敏"):
            await opened.remember(fact, HERE)
        await opened.until_indexed()
        yield opened


async def test_a_bare_question_finds_what_was_spoken_of_and_small_talk_finds_nothing(
    rig: Rig,
) -> None:
    before = await line(rig)
    assert texts(await ask(rig, "那他呢？")) == []
    assert texts(await ask(rig, "那他呢？", before)) == [GANG]
    for said in ("哈哈", "好的", "谢谢", "真的吗？", "晚安"):
        assert texts(await ask(rig, said, before)) == [], said
    # What was spoken of before is not what is asked for now.
    assert texts(await ask(rig, "备用钥匙放在哪里？", before)) == [KEY]
    for quoted in ("小雯：我下班了", "小雯"):  # what is replied to says whom one means
        found = await ask(rig, "她呢？", before, ContextLine(Voice.QUOTED, quoted, rig.clock()))
        assert texts(found)[:1] == [WEN]


async def test_a_question_for_one_thing_more_finds_what_was_spoken_of(rig: Rig) -> None:
    for fact in (KNEE, "小刚的电话是8800"):
        await rig.remember(fact, HERE)
    await rig.until_indexed()
    before, number = await line(rig, "奶奶的膝盖要去哪看？"), await line(rig, "几号？")
    for query in ("几点？", "誰陪她", "那她几点去？", "地址呢", "what time?"):
        assert texts(await ask(rig, query, before, number))[:1] == [KNEE], query
    for quiet in ("几点了", "what time is it now", "ok"):
        assert texts(await ask(rig, quiet, before)) == [], quiet
    # What is asked for counts beside it.
    assert texts(await ask(rig, "电话呢", await line(rig)))[0] == "小刚的电话是8800"


async def test_a_story_moves_what_belongs_to_it_up(rig: Rig) -> None:
    for name in ("小雯", "小刚", "阿强"):
        await rig.remember(f"{name}喜欢周末去爬山", HERE)
    await rig.until_indexed()
    before = await line(rig, "我约了阿强明天见面")
    answer = await line(rig, "阿强最近好吗？", Voice.BOT)
    found = await ask(rig, "周末要不要一起去爬山", before, answer)
    assert texts(found)[0].startswith("阿强")
    assert found.trace.talk == (Voice.ASKER, Voice.BOT)


async def test_what_was_said_under_another_map_is_no_context_and_the_trace_holds_no_word(
    rig: Rig,
) -> None:
    unseen = ContextLine(Voice.ASKER, MET, rig.clock())
    for before, where in ((await line(rig), group(888)), (unseen, HERE)):
        recall = await ask(rig, "那他呢？", before, where=where)
        assert (texts(recall), recall.trace.talk) == ([], ())
    await ask(rig, "那他呢？", await line(rig))
    (explained, *_) = await rig.engine.service.explain(conversation_id=HERE)
    assert explained.query == "那他呢？"
    assert "小刚" not in repr(explained.trace)


class Listening(FakeEmbedder):
    """Keeps what it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    async def embed_query(self, text: str) -> Vector:
        self.asked.append(text)
        return await super().embed_query(text)


async def test_an_embedder_is_asked_once_and_shown_the_talk_where_a_question_points_to_it(
    tmp_path: Path,
) -> None:
    embedder = Listening()
    async with running(tmp_path, embedder=embedder, trust=FixedTrust(0.3)) as rig:
        await rig.remember(GANG, HERE)
        await rig.until_indexed()
        embedder.asked.clear()
        for query in ("他住在哪里？", "哈哈", "奶奶今天好多了"):
            await ask(rig, query, await line(rig))
    assert embedder.asked == [f"{MET} 他住在哪里？", "哈哈", "奶奶今天好多了"]


NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
NEW_JOB = "小刚最近换工作了"
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
    found = talk(query, said(NEW_JOB))
    assert (found.topic, found.carried) == (NEW_JOB, True)
    assert talk(query) == Talk()
    assert talk(query, said("嗯，那他呢")) == Talk()  # nothing was named before either


@pytest.mark.parametrize("query", SMALL_TALK.split("|"))
def test_small_talk_asks_for_nothing_whatever_was_said_before(query: str) -> None:
    found = talk(query, said(NEW_JOB))
    assert (found.topic, found.pointed, found.carried) == ("", "", False)


@pytest.mark.parametrize(
    ("queries", "subject", "carries", "around"),
    [
        # of oneself, or of a thing of its own; and of those who talk
        ("开关在哪|我几点去|密码锁在哪|你叫什么|谁管接送", None, False, NEW_JOB),
        ("我是谁？|大家聊了什么？|who are you?", None, False, ""),
        # of days alone, and of somebody on a day
        ("昨天聊了什么？", "聊了什么？", False, ""),
        ("上周做了什么？", "做了什么？", False, ""),
        ("那天呢？昨天？", "那天呢？？", False, ""),
        ("昨天他呢？", "他呢？", True, NEW_JOB),
        ("她明天几点去", "她几点去", True, NEW_JOB),
        ("明天几点？", "几点？", False, NEW_JOB),
    ],
)
def test_what_a_message_leans_on_is_told_by_what_it_names(
    queries: str, subject: str | None, carries: bool, around: str
) -> None:
    for query in queries.split("|"):
        assert asks_of_talk(query, query if subject is None else subject) is carries, query
        assert talk(query, said(NEW_JOB), subject=subject).around == around, query


def test_a_message_keeps_its_own_subject_and_leans_on_what_was_named_last() -> None:
    found = talk("我特别期待元旦晚会", said("我要表演魔术"), said("加油！", 1, Voice.BOT))
    assert (found.topic, found.around) == ("", "我要表演魔术 加油！")
    assert (found.voices, found.carried) == ((Voice.ASKER, Voice.BOT), False)
    assert talk("谁陪她？", said("奶奶要去看牙"), said("几点？")).topic == "奶奶要去看牙"
    found = talk("他现在在哪家医院上班？", said(NEW_JOB))
    assert (found.topic, found.pointed) == ("", NEW_JOB)
    for query in ("他们家真大啊", "上海今天下雨吗？"):  # asks for nothing; points to nobody
        assert talk(query, said(NEW_JOB)).pointed == ""
    quoted = said("小雯在医院上班", 600, Voice.QUOTED)
    assert talk("那她呢？", said(NEW_JOB), quoted).topic == "小雯在医院上班"


def test_neither_what_was_said_long_ago_nor_recalled_text_is_context() -> None:
    minutes = LONGEST_AGO.total_seconds() / 60
    assert talk("那他呢？", said(NEW_JOB, minutes)).topic == NEW_JOB
    assert talk("那他呢？", said(NEW_JOB, minutes + 1)) == Talk()
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
