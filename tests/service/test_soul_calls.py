"""The calls of an evaluation are booked on the day's tokens, and not on the night's part."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.settings import LoopSettings
from astrbot_plugin_scoped_memory.llm_memory.reflection.chat_port import Completion
from astrbot_plugin_scoped_memory.llm_memory.reflection.model_calls import ModelCalls
from astrbot_plugin_scoped_memory.llm_memory.reflection.rules.prompt import REPLY_TOKENS
from astrbot_plugin_scoped_memory.llm_memory.reflection.token_budget import TokenBudget
from astrbot_plugin_scoped_memory.llm_memory.runtime.lifecycle import Lifespan
from astrbot_plugin_scoped_memory.llm_memory.service.souls import SoulCalls
from astrbot_plugin_scoped_memory.llm_memory.soul.model_port import ProbeAnswer
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_facts import SqliteLoopFacts
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_file import SqliteLoopFile
from astrbot_plugin_scoped_memory.tests.fakes.chat import Call, ScriptedChat
from astrbot_plugin_scoped_memory.tests.support.reflecting import StandingClock

pytestmark = pytest.mark.engine

DAY = 5_000


@pytest.fixture
def facts(tmp_path: Path) -> Iterator[SqliteLoopFacts]:
    file = SqliteLoopFile(tmp_path / "loop.sqlite")
    file.open()
    yield SqliteLoopFacts(file)
    file.close()


def made(chat: ScriptedChat | None, facts: SqliteLoopFacts) -> tuple[SoulCalls, TokenBudget]:
    clock = StandingClock(datetime(2026, 11, 27, 12, tzinfo=UTC))
    settings = LoopSettings(daily_tokens=DAY)
    calls = ModelCalls(chat, facts, settings, clock)
    return SoulCalls(calls, Lifespan()), calls.token_budget


async def test_an_answer_comes_with_the_tokens_that_were_booked(facts: SqliteLoopFacts) -> None:
    chat = ScriptedChat(Completion("在的", 40), "没说花了多少")
    calls, budget = made(chat, facts)
    answer = await calls.ask("在吗？", system="你是小柔。", conversation="a:1:2")
    assert answer == ProbeAnswer("在的", 40)
    assert chat.calls == [Call("在吗？", "你是小柔。", "a:1:2")]
    night = await budget.left_for_the_night()
    second = await calls.ask("在吗？", system="", conversation="a:1:2")
    assert second.tokens > 0
    spent = await budget.today()
    assert (spent.calls, spent.tokens) == (2, 40 + second.tokens)
    assert await budget.left_for_the_night() == night == DAY // 5


async def test_what_the_day_has_left_bounds_a_call(facts: SqliteLoopFacts) -> None:
    chat = ScriptedChat(otherwise=Completion("好", (DAY - REPLY_TOKENS - 4) // 2))
    calls, _ = made(chat, facts)
    for _ in range(2):
        assert await calls.affords("在吗？" * 9, system="你是小柔。")
        await calls.ask("在吗？", system="", conversation="")
    assert await calls.affords("在吗？", system="")
    assert not await calls.affords("在吗？", system="你是小柔。")
