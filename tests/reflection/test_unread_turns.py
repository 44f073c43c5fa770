"""What was said and is not read yet is recalled by those who will see its memory, by its words and
by its vector."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    ConversationId,
    DeedKind,
    StoredMemory,
    is_changed,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Vector
from astrbot_plugin_scoped_memory.llm_memory.index.vector.names import parse_id
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_file import SqliteLoopFile
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown_vault import MarkdownVault
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.fakes.embedder import FakeEmbedder
from astrbot_plugin_scoped_memory.tests.fakes.trust import FixedTrust
from astrbot_plugin_scoped_memory.tests.fakes.vector_store import Disk, InMemoryVectorStore
from astrbot_plugin_scoped_memory.tests.support.engines import (
    Rig,
    group,
    person,
    private,
    running,
    running_on_vectors,
)
from astrbot_plugin_scoped_memory.tests.support.reflecting import (
    FAMILY,
    Bot,
    answer,
    learned,
    reflect,
    say,
    texts_of,
)

pytestmark = pytest.mark.engine

SAID, ASKED = "门禁卡放在鞋柜第二格", "门禁卡放在哪儿"
ADMIN = person(9, "管理员", admin=True)
OTHERWISE = "怎么进小区大门"
CHAT, OUTSIDE = private(1002), group(888)  # of the family's scope, and of another one's


class Paraphrasing(FakeEmbedder):
    """Knows that what was said answers a question that shares no word with it."""

    def one(self, text: str) -> Vector:
        return super().one(ASKED if SAID in text or text == OTHERWISE else text)


def scopes_of(disk: Disk) -> list[str]:
    """Of each vector that the index holds."""
    return [parse_id(name).scope for rows in disk.collections.values() for name in rows]


async def by_vectors(rig: Rig, where: ConversationId) -> list[str]:
    """What answers a question in other words."""
    await rig.until_indexed()
    return await rig.texts(OTHERWISE, where)


@pytest.mark.parametrize("reads", [Bot.read_due, reflect])
async def test_what_is_said_while_the_reader_is_at_work_is_found_at_once(
    bot: Bot, reads: Callable[[Bot], Coroutine[None, None, object]]
) -> None:
    for number in range(10):
        await say(bot, f"第{number}件事要办", where=FAMILY)
    bot.chat.release.clear()
    begun = asyncio.create_task(reads(bot))
    await bot.chat.asked.wait()
    await say(bot, SAID, where=CHAT)
    assert SAID in await bot.texts(ASKED, FAMILY)
    assert await bot.texts(ASKED, OUTSIDE) == []
    bot.chat.release.set()
    await begun
    assert SAID in await bot.texts(ASKED, FAMILY)


async def test_a_turn_costs_no_look_at_the_whole_queue(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor at the folders, also while the reader runs."""
    asked: list[str] = []
    rows, scopes = SqliteLoopFile.rows, MarkdownVault.scopes

    def noted(file: SqliteLoopFile, question: str, values: Sequence[object] = ()) -> Any:
        asked.append(question)
        return rows(file, question, values)

    def listed(vault: MarkdownVault) -> Any:
        asked.append("GROUP BY folder")
        return scopes(vault)

    running = asyncio.create_task(bot.engine.reflection.run())
    await say(bot, "还有一件事")
    await asyncio.sleep(0.2)
    monkeypatch.setattr(SqliteLoopFile, "rows", noted)
    monkeypatch.setattr(MarkdownVault, "scopes", listed)
    for number in range(5):
        await say(bot, f"第{number}件事要办")
    await asyncio.sleep(0.2)
    running.cancel()
    assert asked
    assert not [one for one in asked if "GROUP BY" in one]


async def test_it_is_found_in_other_words_in_its_scope_alone(tmp_path: Path) -> None:
    async with running(
        tmp_path, chat=ScriptedChat(), embedder=Paraphrasing(), trust=FixedTrust(1.0)
    ) as rig:
        await say(rig, SAID)
        await say(rig, "聚餐改吃火锅了", where=OUTSIDE)
        await rig.until_indexed()
        assert await by_vectors(rig, CHAT) == [SAID]
        assert SAID not in await by_vectors(rig, OUTSIDE)


async def test_a_correction_stands_before_what_it_corrects(tmp_path: Path) -> None:
    async with running(tmp_path, chat=ScriptedChat(), words_alone=True) as rig:
        await rig.remember("月底盘点在29号晚上七点，所有人都要到场", FAMILY, person(1))
        asked = "月底盘点是哪天晚上"
        before = await rig.texts(asked, CHAT)
        await say(rig, "月底盘点改了，提前到28号晚上")
        assert await rig.texts(asked, CHAT) == ["月底盘点改了，提前到28号晚上", *before]
        assert (await rig.texts(asked, OUTSIDE), len(before)) == ([], 1)


async def test_what_was_just_stored_is_not_told_again_as_it_was_said(tmp_path: Path) -> None:
    heard, fact = "听说奶奶对花生过敏", "奶奶对花生过敏"
    more = "记住：奶奶对花生过敏。还有她要去医院复查血压"
    async with running(tmp_path, chat=ScriptedChat(), words_alone=True) as rig:
        await say(rig, heard)
        stored = (await rig.remember(fact, FAMILY, person(1))).memory.memory.memory_id
        await say(rig, f"记住：{fact}", stored=(stored,))
        await say(rig, more, stored=(stored,))
        recall = await rig.recall("奶奶对什么过敏", CHAT, in_talk=True)
        (first, *_) = await rig.texts("奶奶去医院复查什么", CHAT)
    assert {hit.preview for hit in recall.hits} == {fact, heard}
    assert not any(hit.earlier for hit in recall.hits)  # of one minute
    assert first == more  # it says what the entry leaves out


async def test_it_is_found_before_its_vector_is_made(tmp_path: Path) -> None:
    embedder = FakeEmbedder()
    async with running_on_vectors(tmp_path, chat=ScriptedChat(), embedder=embedder) as rig:
        await rig.until_indexed()
        embedder.failing_documents = True
        await say(rig, SAID)
        assert rig.engine.parts.indexing.backlog == 1
        assert await rig.texts(ASKED, CHAT) == [SAID]


async def test_its_vector_goes_while_it_may_not_be_told(tmp_path: Path) -> None:
    store = InMemoryVectorStore()
    async with running(tmp_path, chat=ScriptedChat(), store=store) as rig:
        service = rig.engine.service
        await say(rig, SAID)
        await say(rig, "聚餐改吃火锅了", where=OUTSIDE)
        await rig.until_indexed()
        assert sorted(scopes_of(store.disk)) == ["公司", "家人"]
        await service.pause(conversation_id=FAMILY, actor=ADMIN)
        await rig.until_indexed()
        assert scopes_of(store.disk) == ["公司"]
        await service.resume(conversation_id=FAMILY, actor=ADMIN)
        await rig.until_indexed()
        assert sorted(scopes_of(store.disk)) == ["公司", "家人"]
        (hit,) = (await rig.recall(ASKED, CHAT)).hits
        await rig.forget(hit.memory_id, CHAT, person(1))
        await rig.until_indexed()
        assert scopes_of(store.disk) == ["公司"]


async def test_it_is_told_as_nobody_vouches_for_it_and_no_index_has_its_words(bot: Bot) -> None:
    await say(bot, SAID)
    await bot.until_indexed()
    assert (await bot.engine.status()).by_scope == {}
    (hit,) = (await bot.recall(ASKED, CHAT, actor=person(2))).hits
    assert (hit.preview, hit.who, hit.unvouched) == (SAID, "小明", True)
    expanded = await bot.engine.service.expand(hit.pointer, conversation_id=CHAT)
    assert isinstance(expanded, StoredMemory)
    assert not expanded.memory.active
    hidden = await bot.engine.service.expand(hit.pointer, conversation_id=OUTSIDE)
    assert not isinstance(hidden, StoredMemory)
    index = [path for path in (bot.root / "index").rglob("*") if path.is_file()]
    assert index
    assert not any("鞋柜".encode() in path.read_bytes() for path in index)


@pytest.mark.parametrize("text", ["门禁卡放在哪儿？", "门禁卡呢", "哈哈哈哈", "你好呀，今天挺暖和"])
async def test_questions_and_small_talk_are_not_recalled(bot: Bot, text: str) -> None:
    await say(bot, text)
    assert await bot.texts(text, CHAT) == []


async def test_forgotten_by_its_speaker_it_is_neither_told_nor_learned(bot: Bot) -> None:
    bot.chat.otherwise = answer(learned(SAID))
    await say(bot, SAID)
    (hit,) = (await bot.recall(ASKED, CHAT, 3)).hits
    for who, done in ((person(2), False), (person(1), True)):
        outcome = await bot.forget(hit.memory_id, CHAT, who)
        assert is_changed(outcome, DeedKind.FORGOTTEN) is done
    assert await bot.texts(ASKED, CHAT) == []
    await reflect(bot)
    assert texts_of(bot) == {}
