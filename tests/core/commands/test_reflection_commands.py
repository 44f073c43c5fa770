"""Admins have turns read at once (``reflect``), and see what could not be read (``letters``);
the status tells how the learning goes. What is answered stands on the pages of ``tests/says``."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.core.replies.status_text import fault_words, loop_lines
from astrbot_plugin_scoped_memory.llm_memory import (
    LoopStatus,
    QueueSize,
    Resting,
    Spent,
)
from astrbot_plugin_scoped_memory.llm_memory.models.loop import Share
from astrbot_plugin_scoped_memory.llm_memory.storage import files
from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES, Texts
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, running
from astrbot_plugin_scoped_memory.tests.support.plugin import Desk
from astrbot_plugin_scoped_memory.tests.support.reflecting import (
    FAMILY,
    answer,
    learned,
    say,
    texts_of,
)

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

PEANUTS = "奶奶对花生过敏"
NOW = datetime(2026, 11, 21, 18, 0, tzinfo=UTC)


async def test_reflect_reads_this_conversation_alone(tmp_path: Path) -> None:
    chat = ScriptedChat(answer(learned(PEANUTS)))
    async with running(tmp_path, chat=chat, follow=False) as rig:
        await say(rig, PEANUTS)
        await say(rig, "别处的话", where=group(888))
        await Desk(rig)("reflect")
        assert texts_of(rig) == {"家人": [PEANUTS]}
        assert [call.conversation for call in chat.calls] == [FAMILY.umo]


async def test_a_letter_shows_none_of_the_words_and_is_read_again_or_dropped_by_its_name(
    tmp_path: Path,
) -> None:
    chat = ScriptedChat(*["抱歉，不行"] * 3, answer(learned(PEANUTS)), otherwise="不行")
    async with running(tmp_path, chat=chat, follow=False) as rig:
        desk, reflection = Desk(rig), rig.engine.reflection
        for words, expected in (("retry", {"家人": [PEANUTS]}), ("丢弃", {"家人": [PEANUTS]})):
            await say(rig, PEANUTS)
            await desk("reflect")
            told = await desk("letters", 888)
            (letter,) = await reflection.letters()
            for part in (letter.batch_id, FAMILY.umo, "回答用不上", "1"):
                assert part in told
            assert "花生" not in told
            assert "不行" not in told
            await desk(f"letters {words} b-x")
            assert len(await reflection.letters()) == 1
            await desk(f"letters {words} {letter.batch_id}")
            if words == "retry":
                await desk("reflect")
            assert await reflection.letters() == []
            assert texts_of(rig) == expected


async def test_a_conversation_off_the_record_is_not_read(tmp_path: Path) -> None:
    chat = ScriptedChat()
    async with running(tmp_path, chat=chat, follow=False) as rig:
        await say(rig, PEANUTS)
        await Desk(rig)("pause")
        assert "/记忆 继续" in await Desk(rig)("reflect")
        assert chat.calls == []


@pytest.mark.parametrize("why", ["no_provider", "off"])
async def test_without_a_model_the_status_says_what_is_off(tmp_path: Path, why: str) -> None:
    chat = ScriptedChat()
    chat.present = False
    model = chat if why == "no_provider" else None
    async with running(tmp_path, chat=model, follow=False) as rig:
        desk = Desk(rig)
        assert desk.say("loop.resting", why=desk.say(f"resting.{why}")) in await desk("status")


async def test_a_pause_that_the_disk_refused_is_said_with_its_cause(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "write_all", full)
    assert "No space left" in await Desk(rig)("pause")


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
    for part in ("openai/x", "2026-11-20", "2026-11-22", *map(str, (11, *range(13, 20)))):
        assert part in text
    assert len(text.splitlines()) == len(lines)
    shares = (Share("家人", 9, 299), Share("公司", 9, 500))
    assert texts.say("loop.dropped", count=799) in loop_lines(texts, replace(full, shares=shares))
    assert texts.say("loop.reader_auto") in loop_lines(texts, replace(full, provider="auto"))
    assert texts.say("loop.sleeping") in loop_lines(texts, replace(full, sleeping=True))
    for reason in Resting:
        shown = loop_lines(texts, LoopStatus(resting=reason))
        rests = texts.say("loop.resting", why="").strip() in "\n".join(shown)
        assert rests is (reason is not Resting.NO)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("no_field: none of useful_ids", "模型的回答用不上"),
        ("wrong_type: useful_ids: tuple_type", "模型的回答用不上"),
        ("failed: BadRequestError 400", "模型拒绝回答（多半是内容审查）"),
        ("failed: AuthenticationError 401", "key 不对（401）"),
        ("failed: APIError 503", "模型的服务出错（503）"),
        ("failed: TimeoutError", "模型的服务出错（TimeoutError）"),
        ("timeout", "模型的服务出错（timeout）"),
        ("made_up: the memories share nothing with the turns", "模型的回答用不上"),
    ],
)
def test_why_turns_were_not_read_is_said_in_words(error: str, said: str) -> None:
    assert fault_words(Texts("zh-CN"), error) == said
