"""What was said and is not read yet is recalled by those who will see its memory, by its words and
by its vector."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory import StoredMemory
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Vector
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_file import SqliteLoopFile
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown_vault import MarkdownVault
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.fakes.embedder import FakeEmbedder
from astrbot_plugin_scoped_memory.tests.fakes.memory_store import MemoryStore
from astrbot_plugin_scoped_memory.tests.fakes.trust import FixedTrust
from astrbot_plugin_scoped_memory.tests.support.engines import group, person, private, running
from astrbot_plugin_scoped_memory.tests.support.reflecting import FAMILY, Bot, reflect, say

pytestmark = pytest.mark.engine

SAID, ASKED, OTHERWISE = "门禁卡放在鞋柜第二格", "门禁卡放在哪儿", "怎么进小区大门"
CHAT, OUTSIDE = private(1002), group(888)  # of the family's scope, and of another one's


class Paraphrasing(FakeEmbedder):
    """Knows that what was said answers a question that shares no word with it."""

    def one(self, text: str) -> Vector:
        return super().one(ASKED if SAID in text or text == OTHERWISE else text)


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


async def test_what_is_read_while_the_queue_is_looked_through_does_not_come_back(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    await say(bot, SAID, where=FAMILY)
    parts = bot.engine.parts
    follower, look = parts.unread_follower, parts.unread_follower._waiting

    def and_is_read_meanwhile() -> Any:
        found = look()
        parts.unread.drop(found)
        return found

    monkeypatch.setattr(follower, "_waiting", and_is_read_meanwhile)
    await follower.follow()
    assert parts.unread.scopes() == {}


async def test_a_turn_costs_no_look_at_the_whole_queue_or_the_folders(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    rows, scopes = SqliteLoopFile.rows, MarkdownVault.scopes

    def noted(file: SqliteLoopFile, question: str, values: Sequence[object] = ()) -> Any:
        asked.append(question)
        return rows(file, question, values)

    def listed(vault: MarkdownVault) -> Any:
        asked.append("GROUP BY folder")
        return scopes(vault)

    running = asyncio.create_task(bot.engine.reflection.run())
    await asyncio.sleep(0.2)
    monkeypatch.setattr(SqliteLoopFile, "rows", noted)
    monkeypatch.setattr(MarkdownVault, "scopes", listed)
    for number in range(5):
        await say(bot, f"第{number}件事要办")
    await asyncio.sleep(0.2)
    running.cancel()
    assert asked and not any("GROUP BY" in one for one in asked)


async def test_it_is_found_by_its_vector_in_its_scope_alone_and_while_it_may_be_told(
    tmp_path: Path,
) -> None:
    store, embedder = MemoryStore(), Paraphrasing()
    options = {"chat": ScriptedChat(), "embedder": embedder, "trust": FixedTrust(1.0)}
    async with running(tmp_path, store=store, **options) as rig:
        service, here = (
            rig.engine.service,
            {"conversation_id": FAMILY, "actor": person(9, admin=True)},
        )

        async def indexed() -> list[str]:
            await rig.until_indexed()
            return sorted(key.scope for rows in store.disk.collections.values() for key in rows)

        await rig.until_indexed()
        embedder.failing_documents = True
        await say(rig, SAID)
        assert rig.engine.parts.indexing.backlog == 1
        assert await rig.texts(ASKED, CHAT) == [SAID]  # before its vector is made
        embedder.failing_documents = False
        await say(rig, "聚餐改吃火锅了", where=OUTSIDE)
        assert await indexed() == ["公司", "家人"]
        assert await rig.texts(OTHERWISE, CHAT) == [SAID]
        assert SAID not in await rig.texts(OTHERWISE, OUTSIDE)
        await service.pause(**here)
        assert await indexed() == ["公司"]
        await service.resume(**here)
        assert await indexed() == ["公司", "家人"]
        (hit,) = (await rig.recall(ASKED, CHAT)).hits
        await rig.forget(hit.memory_id, CHAT, person(1))
        assert await indexed() == ["公司"]


async def test_a_correction_stands_before_what_it_corrects(bot: Bot) -> None:
    await bot.remember("月底盘点在29号晚上七点，所有人都要到场", FAMILY, person(1))
    asked = "月底盘点是哪天晚上"
    before = await bot.texts(asked, CHAT)
    await say(bot, "月底盘点改了，提前到28号晚上")
    assert await bot.texts(asked, CHAT) == ["月底盘点改了，提前到28号晚上", *before]
    assert (await bot.texts(asked, OUTSIDE), len(before)) == ([], 1)


async def test_what_was_just_stored_is_not_told_again_as_it_was_said(bot: Bot) -> None:
    heard, fact = "听说奶奶对花生过敏", "奶奶对花生过敏"
    more = "记住：奶奶对花生过敏。还有她要去医院复查血压"
    await say(bot, heard)
    stored = (await bot.remember(fact, FAMILY, person(1))).memory.memory.memory_id
    await say(bot, f"记住：{fact}", stored=(stored,))
    await say(bot, more, stored=(stored,))
    recall = await bot.recall("奶奶对什么过敏", CHAT, in_talk=True)
    assert {hit.preview for hit in recall.hits} == {fact, heard}
    assert not any(hit.earlier for hit in recall.hits)  # of one minute
    (first, *_) = await bot.texts("奶奶去医院复查什么", CHAT)
    assert first == more  # it says what the entry leaves out


async def test_it_is_told_as_nobody_vouches_for_it_and_no_index_has_its_words(bot: Bot) -> None:
    for text in ("门禁卡放在哪儿？", "门禁卡呢", "哈哈哈哈", "你好呀，今天挺暖和"):
        await say(bot, text)
        assert await bot.texts(text, CHAT) == []  # questions and small talk are not recalled
    await say(bot, SAID)
    await bot.until_indexed()
    assert (await bot.engine.status()).by_scope == {}
    (hit,) = (await bot.recall(ASKED, CHAT, actor=person(2))).hits
    assert (hit.preview, hit.who, hit.unvouched) == (SAID, "小明", True)
    expand = bot.engine.service.expand
    expanded = await expand(hit.pointer, conversation_id=CHAT)
    assert isinstance(expanded, StoredMemory) and not expanded.memory.active
    assert not isinstance(await expand(hit.pointer, conversation_id=OUTSIDE), StoredMemory)
    index = [path for path in (bot.root / "index").rglob("*") if path.is_file()]
    assert index and not any("鞋柜".encode() in path.read_bytes() for path in index)
