"""What a recall needs is begun when a message comes, where a recall will need it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from astrbot.core.star.filter.command import CommandFilter

from astrbot_plugin_scoped_memory.core.deepmind import DeepMind
from astrbot_plugin_scoped_memory.llm_memory import ConversationId, ConversationKind
from astrbot_plugin_scoped_memory.llm_memory.errors import EmbeddingFailed
from astrbot_plugin_scoped_memory.tests.fakes.embedder import BesideIndex, FakeEmbedder
from astrbot_plugin_scoped_memory.tests.fakes.trust import FixedTrust
from astrbot_plugin_scoped_memory.tests.fakes.vector_store import InMemoryVectorStore
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running
from astrbot_plugin_scoped_memory.tests.support.plugin import FakeEvent
from astrbot_plugin_scoped_memory.tests.support.turn_plugin import TurnPlugin

pytestmark = [pytest.mark.engine, pytest.mark.astrbot]

QUESTION = "奶奶吃了花生会不会过敏"
FAMILY = group(777)
ADMIN = person(9, "管理员", admin=True)


@dataclass
class Bot:
    """An engine whose embedder lives beside the index."""

    rig: Rig
    embedder: BesideIndex

    async def said(self, text: str, where: ConversationId = FAMILY) -> list[str]:
        """What is embedded ahead because of one message."""
        self.embedder.announced.clear()
        await self.rig.engine.service.announce(text, conversation_id=where)
        return list(self.embedder.announced)

    async def turn(self, event: FakeEvent, **config: Any) -> list[str]:
        """The same of an event of AstrBot's."""
        self.embedder.announced.clear()
        plugin: Any = TurnPlugin(self.rig, **config)
        told: Any = event
        await DeepMind(plugin).announced(told)
        await plugin.settled()
        return list(self.embedder.announced)


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[Bot]:
    store = InMemoryVectorStore()
    embedder = BesideIndex(store)
    async with running(tmp_path, store=store, embedder=embedder) as rig:
        await rig.remember("奶奶对花生过敏", FAMILY)
        await rig.until_indexed()
        yield Bot(rig, embedder)


async def test_it_is_what_the_recall_embeds(bot: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    query_text = bot.embedder.query_text

    def noting(text: str, *rest: Any) -> Any:
        asked.append(text)
        return query_text(text, *rest)

    monkeypatch.setattr(bot.embedder, "query_text", noting)
    for text in (QUESTION, f"  {QUESTION}\n", "长" * 900, "what is grandma allergic to"):
        announced = await bot.said(text)
        await bot.rig.recall(text, FAMILY)
        assert announced == asked
        asked.clear()
    for text in ("", "他喜欢吃什么？", "那他呢？", "昨天"):  # with other words, or not at all
        assert await bot.said(text) == []


async def test_a_persons_message_is_and_neither_a_command_nor_what_is_paused(bot: Bot) -> None:
    assert await bot.turn(FakeEvent.in_group(777, QUESTION)) == [QUESTION]
    command = FakeEvent.in_group(777, QUESTION)
    command.set_extra("activated_handlers", [SimpleNamespace(event_filters=[CommandFilter("吃")])])
    echo = FakeEvent.in_group(777, QUESTION, sender="999")
    assert await bot.turn(command) == await bot.turn(echo) == []
    assert await bot.turn(FakeEvent.in_group(777, QUESTION), auto_inject_topk=0) == []
    assert await bot.said(QUESTION, ConversationId("no", None, "", ConversationKind.OTHER)) == []
    await bot.rig.engine.service.pause(conversation_id=FAMILY, actor=ADMIN)
    assert await bot.turn(FakeEvent.in_group(777, QUESTION)) == []


async def test_an_embedder_that_is_not_trusted_or_may_cost_money_is_not_asked_ahead(
    tmp_path: Path,
) -> None:
    store = InMemoryVectorStore()
    untrusted = BesideIndex(store)
    trust = FixedTrust(0.0)
    async with running(tmp_path / "a", store=store, embedder=untrusted, trust=trust) as rig:
        await rig.until_indexed()
        assert await Bot(rig, untrusted).said(QUESTION) == []
    elsewhere = FakeEmbedder()
    async with running(tmp_path / "b", embedder=elsewhere) as rig:
        await rig.until_indexed()
        calls = elsewhere.calls
        await rig.engine.service.announce(QUESTION, conversation_id=FAMILY)
        assert elsewhere.calls == calls


async def test_where_it_fails_or_the_plugin_is_being_reloaded_the_turn_goes_on(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_: str) -> None:
        raise EmbeddingFailed("died: made to")

    monkeypatch.setattr(bot.embedder, "announce", failing)
    assert await bot.turn(FakeEvent.in_group(777, QUESTION)) == []
    assert await bot.rig.texts(QUESTION, FAMILY) == ["奶奶对花生过敏"]
    await bot.rig.engine.close()
    assert await bot.turn(FakeEvent.in_group(777, QUESTION)) == []


async def test_of_a_crowd_that_speaks_at_once_two_are(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[str] = []
    goes_on = threading.Event()

    def slow(text: str) -> None:
        heard.append(text)
        goes_on.wait(30)

    monkeypatch.setattr(bot.embedder, "announce", slow)
    service = bot.rig.engine.service
    crowd = [
        asyncio.ensure_future(service.announce(f"第{number}个人的话", conversation_id=FAMILY))
        for number in range(5)
    ]
    await asyncio.wait(crowd, return_when=asyncio.FIRST_COMPLETED)  # whom nobody holds up
    goes_on.set()
    await asyncio.gather(*crowd)
    assert len(heard) == 2
    await service.announce(QUESTION, conversation_id=FAMILY)
    assert heard[2:] == [QUESTION]
