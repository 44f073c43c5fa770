"""One door to the chat model: the day's tokens, backoff, and one repair, for whoever asks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import ChatFailed
from astrbot_plugin_scoped_memory.llm_memory.models.loop import UNMAPPED
from astrbot_plugin_scoped_memory.llm_memory.reflection.model import (
    Completion,
    Model,
    Purpose,
    Rests,
)
from astrbot_plugin_scoped_memory.llm_memory.reflection.rules.prompt import Prompt
from astrbot_plugin_scoped_memory.llm_memory.reflection.rules.reply import Unreadable
from astrbot_plugin_scoped_memory.tests.fakes.chat import Reply, ScriptedChat
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, running
from astrbot_plugin_scoped_memory.tests.support.reflecting import StandingClock, with_loop

pytestmark = pytest.mark.engine

PROMPT = Prompt("系统", "问")
MORNING = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
DAY = 50_000


class Asked:
    """A model over a scripted chat."""

    def __init__(self, rig: Rig, chat: ScriptedChat, clock: StandingClock) -> None:
        self.model: Model = rig.engine.parts.model
        self.chat, self.clock = chat, clock

    async def ask(
        self, *replies: Reply, purpose: Purpose = "reading", group: str | None = None
    ) -> str:
        """What comes of it: a text that can be used begins with ``ok``; else why there is none."""
        self.chat.say(replies)

        def schema(completion: Completion) -> str | Unreadable:
            is_good = completion.text.startswith("ok")
            return completion.text if is_good else Unreadable("no_json")

        try:
            return await self.model.ask(
                PROMPT, schema, conversation="", purpose=purpose, group=group
            )
        except Rests as rests:
            return rests.why
        except ChatFailed as failed:
            return failed.code


@pytest.fixture
async def asked(tmp_path: Path) -> AsyncIterator[Asked]:
    chat, clock = ScriptedChat(), StandingClock(MORNING)
    settings = with_loop(daily_tokens=DAY)
    async with running(tmp_path, chat=chat, clock=clock, settings=settings, follow=False) as rig:
        yield Asked(rig, chat, clock)


def costing(tokens: int) -> Completion:
    return Completion("ok", tokens=tokens)


async def test_an_answer_that_cannot_be_used_is_asked_for_once_more_with_the_reason(
    asked: Asked,
) -> None:
    assert await asked.ask("…", "ok 2") == "ok 2"
    first, second = asked.chat.calls
    assert second.prompt.startswith(first.prompt)
    assert "no_json" in second.prompt
    assert await asked.ask("…", "…", "ok") == "unreadable"
    assert len(asked.chat.calls) == 4


@pytest.mark.parametrize("code", ["timeout", "busy", "key", "quota", "failed", "gone"])
async def test_a_service_that_fails_is_asked_a_few_times_a_day_and_by_an_admin_at_once(
    asked: Asked, code: str
) -> None:
    asked.chat.otherwise = ChatFailed(code)
    for _ in range(24 * 60):
        await asked.ask()
        asked.clock.forward(minutes=1)
    assert 3 < len(asked.chat.calls) <= 9
    assert await asked.ask("ok") == "backoff"
    assert await asked.ask("ok", purpose="asked") == "ok"
    assert await asked.ask("ok") == "ok"


async def test_a_prompt_that_is_refused_holds_up_no_other_unless_all_are(asked: Asked) -> None:
    for refusal in (ChatFailed("content"), " \n") * 4:
        assert await asked.ask(refusal) in ("content", "empty")
    assert await asked.ask("ok") == "ok"
    asked.chat.otherwise = ChatFailed("content")
    for _ in range(24 * 60):
        await asked.ask()
        asked.clock.forward(minutes=1)
    assert len(asked.chat.calls) <= 9 + 8 + 9


async def test_a_clock_that_was_set_back_keeps_nobody_waiting(asked: Asked) -> None:
    assert await asked.ask(ChatFailed("failed")) == "failed"
    asked.clock.forward(days=-4_000)
    assert await asked.ask("ok") == "ok"


@pytest.mark.parametrize(
    ("spent", "purpose", "group", "why"),
    [
        # Everything, but for strangers, who may use half of it, and the night, which has a fifth.
        ([("家人", 46_000)], "reading", "家人", "ok"),
        ([("家人", 49_000)], "reading", "家人", "budget"),
        ([("家人", 49_000)], "asked", "公司", "budget"),
        ([(UNMAPPED, 24_000)], "reading", UNMAPPED, "budget"),
        ([(UNMAPPED, 24_000)], "asked", UNMAPPED, "ok"),
        ([(UNMAPPED, 24_000)], "reading", "家人", "ok"),
        ([("家人", 24_000)], "reading", UNMAPPED, "ok"),
        ([("家人", 24_000), (None, 7_000)], "night", None, "ok"),
        ([("家人", 24_000), (None, 9_000)], "night", None, "budget"),
        ([("家人", 9_000), (None, 24_000)], "soul", None, "ok"),
        ([(None, 49_000)], "soul", None, "budget"),
    ],
)
async def test_the_tokens_of_a_day_and_who_may_use_them(
    asked: Asked, spent: list[tuple[str | None, int]], purpose: Purpose, group: str | None, why: str
) -> None:
    for payer, tokens in spent:
        for part in (tokens // 10,) * 10:
            await asked.ask(costing(part), purpose="asked", group=payer)
    assert await asked.ask("ok", purpose=purpose, group=group) == why
    asked.clock.forward(days=1)
    assert await asked.ask("ok", purpose=purpose, group=group) == "ok"


@pytest.mark.parametrize(
    ("reply", "least", "most"),
    [
        ("ok", 1, 100),
        (costing(700), 700, 700),
        (costing(-5), 1, 100),
        (costing(9_000_000), 6_000, 6_100),
        ("ok" + "长" * 10_000_000, 6_000, 6_100),
        (ChatFailed("timeout"), 1, 100),
        (ChatFailed("failed"), 0, 0),
        (" ", 1, 100),
    ],
)
async def test_what_a_call_counts(asked: Asked, reply: Reply, least: int, most: int) -> None:
    await asked.ask(reply, group="家人")
    allowed = await asked.model.allowance()
    assert least <= allowed.spent == allowed.used.get("家人", 0) <= most


async def test_a_history_that_may_hold_another_scopes_words_is_known_as_long_as_it_is_used(
    tmp_path: Path,
) -> None:
    for _ in range(2):  # after a restart, too
        async with running(tmp_path) as rig:
            histories = rig.engine.parts.histories
            for umo in ("q:GroupMessage:7", *(f"q:GroupMessage:{other}" for other in range(9))):
                await histories.is_mixed(umo, "h", "家人")
            assert await histories.is_mixed("q:GroupMessage:7", "h", "公司")
            assert histories.current_is_mixed("q:GroupMessage:7")
            assert not await histories.is_of("q:GroupMessage:7", "h", "公司")
            assert await histories.is_of("q:GroupMessage:8", "h", "家人")
            assert not await histories.is_mixed("q:GroupMessage:7", "h2", "公司")  # /new
            assert not histories.current_is_mixed("q:GroupMessage:7")
