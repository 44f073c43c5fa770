"""``/memory pause`` and ``resume``, and what commands and tools say meanwhile."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.core.replies.loop_text import loop_lines
from astrbot_plugin_scoped_memory.llm_memory import (
    LoopStatus,
    QueueSize,
    Resting,
    Spent,
    StateUnavailable,
    Turn,
)
from astrbot_plugin_scoped_memory.llm_memory.models.loop import UNMAPPED, Share
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_facts import SqliteLoopFacts
from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES, Texts
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running
from astrbot_plugin_scoped_memory.tests.support.plugin import (
    FakeEvent,
    answered,
)

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

PEANUTS = "奶奶对花生过敏"
NOW = datetime(2026, 11, 21, 18, 0, tzinfo=UTC)


async def ask(rig: Rig, words: str, language: str = "zh-CN", **more: Any) -> str:
    """What the plugin answers in the family's group to ``memory <words>``."""
    event = FakeEvent.in_group(777, f"memory {words}", **more)
    return await answered(rig, event, language) or ""


async def test_a_pause_that_the_disk_refused_is_said_with_its_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise StateUnavailable("database or disk is full")

    async with running(tmp_path, follow=False) as rig:
        monkeypatch.setattr(SqliteLoopFacts, "pause", full)
        said = await ask(rig, "pause", admin=True)
        assert "disk is full" in said


@pytest.mark.parametrize("language", LANGUAGES)
async def test_confirm_lets_learning_go_on_after_the_pauses_were_lost(
    tmp_path: Path, language: str
) -> None:
    say = Texts(language).say
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "loop.sqlite").write_bytes(b"broken")
    async with running(tmp_path, follow=False) as rig:
        confirm = "/记忆 确认" if language == "zh-CN" else "/memory confirm"
        assert confirm in await ask(rig, "status", language, admin=True)
        assert await ask(rig, "confirm", language) == say("outcome.admins_only")
        assert await ask(rig, "confirm", language, admin=True) == say("confirm.pauses")
        assert await ask(rig, "confirm", language, admin=True) == say("confirm.nothing")


@pytest.mark.parametrize("language", LANGUAGES)
async def test_the_queue_is_told_to_admins_alone(rig: Rig, language: str) -> None:
    nothing = Texts(language).say("loop.queue_empty", read=0, dead=0)
    assert nothing in await ask(rig, "status", language, admin=True)
    turn = Turn(person(1), "奶奶吃了花生就起疹子", "记下了")
    await rig.engine.service.observe(turn, conversation_id=group(888))
    told = await ask(rig, "status", language, admin=True)
    assert "2026-11-21 18:00" in told
    assert "2026-11-21 18:00" not in await ask(rig, "status", language)


@pytest.mark.parametrize("language", LANGUAGES)
def test_all_that_the_loop_says_of_itself_has_a_line(language: str) -> None:
    texts = Texts(language)
    full = LoopStatus(
        provider="openai/x",
        resting=Resting.BACKOFF,
        queue=QueueSize(11, 13, NOW),
        spent=Spent(NOW.date(), 14, 15, 16),
        budget=17,
        error="failed: 500\n⚠ forged",
        paused=18,
        unasked=19,
        slept_at=NOW.replace(day=20),
        next_sleep=NOW.replace(day=22),
    )
    lines = loop_lines(texts, full)
    text = "\n".join(lines)
    assert all(str(number) in text for number in (11, *range(13, 20)))
    assert "openai/x" in text
    assert "2026-11-20" in text
    assert "2026-11-22" in text
    assert len(text.splitlines()) == len(lines)
    shares = [Share(UNMAPPED, 9, 799), Share("公司", 9, 0)]
    shares += [Share(f"家{number}\n⚠ forged", 9, 701 + number) for number in range(6)]
    shown = loop_lines(texts, replace(full, shares=tuple(shares)))
    (told,) = [line for line in shown if line not in lines]
    assert len(told.splitlines()) == 1
    assert [number for number in range(700, 800) if str(number) in told] == [
        703,
        704,
        705,
        706,
        799,
    ]
    assert texts.say("loop.unmapped") in told
    assert "公司" not in told
    assert texts.say("loop.reader_auto") in loop_lines(texts, replace(full, provider="auto"))
    assert texts.say("loop.sleeping") in loop_lines(texts, replace(full, sleeping=True))
    for reason in Resting:
        shown = "\n".join(loop_lines(texts, LoopStatus(resting=reason)))
        assert (texts.say("loop.resting", why="").strip() in shown) is (reason is not Resting.NO)
