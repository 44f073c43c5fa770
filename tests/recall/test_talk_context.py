"""The talk before a question: it says whom one means, and nothing to whoever may not hear it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import ContextLine, ConversationId, Recall, Voice
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Vector
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


async def test_a_story_moves_what_belongs_to_it_up(tmp_path: Path) -> None:
    async with running(tmp_path, words_alone=True) as rig:
        for name in ("小雯", "小刚", "阿强"):
            await rig.remember(f"{name}喜欢周末去爬山", HERE)
        await rig.until_indexed()
        before = await line(rig, "我约了阿强明天见面")
        answer = await line(rig, "阿强最近好吗？", Voice.BOT)
        found = await ask(rig, "周末要不要一起去爬山", before, answer)
    assert texts(found)[0].startswith("阿强")
    assert found.trace.talk.voices == (Voice.ASKER, Voice.BOT)


async def test_what_was_said_under_another_map_is_no_context(rig: Rig) -> None:
    unseen = ContextLine(Voice.ASKER, MET, rig.clock())
    for before, where in ((await line(rig), group(888)), (unseen, HERE)):
        recall = await ask(rig, "那他呢？", before, where=where)
        assert (texts(recall), recall.trace.talk.voices) == ([], ())


async def test_the_trace_says_that_the_talk_was_used_and_holds_none_of_its_words(
    rig: Rig,
) -> None:
    await ask(rig, "那他呢？", await line(rig))
    (explained,) = await rig.engine.service.explain(conversation_id=HERE)
    assert (explained.query, explained.trace.talk.carried) == ("那他呢？", True)
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


async def test_a_question_about_days_or_a_topic_is_answered_as_without_any_talk(
    rig: Rig,
) -> None:
    for query in ("今天聊了什么？", "我有什么待办？", "我是谁？"):
        with_talk, alone = await ask(rig, query, await line(rig)), await ask(rig, query)
        assert (texts(with_talk), with_talk.trace.arm) == (texts(alone), alone.trace.arm)
