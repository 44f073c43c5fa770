"""Admins have turns read at once (``reflect``), and see what could not be read (``letters``)."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.core.config import read_config
from astrbot_plugin_scoped_memory.llm_memory import NotObserved, Turn
from astrbot_plugin_scoped_memory.llm_memory.consolidation.models import Postponed
from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES, Texts
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running
from astrbot_plugin_scoped_memory.tests.support.plugin import (
    FakeEvent,
    answered,
)
from astrbot_plugin_scoped_memory.tests.support.reflecting import (
    FAMILY,
    answer,
    learned,
    say,
    texts_of,
    with_loop,
)

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

PEANUTS = "奶奶对花生过敏"


async def ask(
    rig: Rig, text: str, language: str = "zh-CN", *, admin: bool = True, where: int = 777
) -> str:
    """What a command of the family's group answers."""
    event = FakeEvent.in_group(where, f"memory {text}", admin=admin)
    return await answered(rig, event, language) or ""


@pytest.mark.parametrize("language", LANGUAGES)
async def test_reflect_reads_this_conversation_alone_and_says_what_came_of_it(
    tmp_path: Path, language: str
) -> None:
    chat = ScriptedChat(answer(learned(PEANUTS)))
    async with running(tmp_path, chat=chat, follow=False) as rig:
        await say(rig, "奶奶对花生过敏")
        await say(rig, "别处的话", where=group(888))
        told = await ask(rig, "reflect", language)
        assert "1" in told
        assert texts_of(rig) == {"家人": [PEANUTS]}
        assert [call.conversation for call in chat.calls] == [FAMILY.umo]
        again = await ask(rig, "reflect", language)
        assert again != told
        assert "1" not in again


@pytest.mark.parametrize("language", LANGUAGES)
async def test_with_no_tokens_a_day_nothing_is_queued_or_sent_and_the_status_says_so(
    tmp_path: Path, language: str
) -> None:
    chat = ScriptedChat()
    none = with_loop(**asdict(read_config({"reflection_daily_tokens": 0}).engine.loop))
    async with running(tmp_path, chat=chat, follow=False, settings=none) as rig:
        turn = Turn(person(1), "奶奶对花生过敏", "好的")
        assert await rig.engine.service.observe(turn, conversation_id=FAMILY) == NotObserved(
            note="off"
        )
        await ask(rig, "reflect", language)
        told = await ask(rig, "status", language)
        assert told.count(Texts(language).say("resting.off")) == 1
        assert chat.calls == []


@pytest.mark.parametrize("language", LANGUAGES)
async def test_letters_name_count_conversation_and_cause_and_none_of_the_words(
    tmp_path: Path, language: str
) -> None:
    chat = ScriptedChat("抱歉，不行", "还是不行", answer(learned(PEANUTS)))
    async with running(tmp_path, chat=chat, follow=False) as rig:
        assert await ask(rig, "letters", language)
        await say(rig, "奶奶对花生过敏")
        letters = "/记忆 搁置" if language == "zh-CN" else "/memory letters"
        assert letters in await ask(rig, "reflect", language)
        told = await ask(rig, "letters", language, where=888)
        (letter,) = await rig.engine.loop.reflection.letters()
        for part in (letter.batch_id, FAMILY.umo, "no_json", "1"):
            assert part in told
        assert "花生" not in told
        assert "不行" not in told
        assert "x" * 9 not in await ask(rig, "letters retry " + "x" * 9, language)
        await ask(rig, f"letters retry {letter.batch_id}", language)
        await ask(rig, "reflect", language)
        assert texts_of(rig) == {"家人": [PEANUTS]}
        assert await rig.engine.loop.reflection.letters() == []


async def test_a_letter_is_dropped_by_its_name_only(tmp_path: Path) -> None:
    async with running(tmp_path, chat=ScriptedChat(otherwise="不行"), follow=False) as rig:
        await say(rig, "奶奶对花生过敏")
        await ask(rig, "reflect")
        usage = await ask(rig, "letters drop")
        (letter,) = await rig.engine.loop.reflection.letters()
        assert await ask(rig, "letters drop b-x") != await ask(
            rig, f"letters 丢弃 {letter.batch_id}"
        )
        assert await rig.engine.loop.reflection.letters() == []
        assert usage == await ask(rig, "letters whatever")


async def test_a_conversation_off_the_record_is_not_read(tmp_path: Path) -> None:
    chat = ScriptedChat()
    async with running(tmp_path, chat=chat, follow=False) as rig:
        await say(rig, "奶奶对花生过敏")
        await ask(rig, "pause")
        assert "/记忆 继续" in await ask(rig, "reflect")
        assert chat.calls == []


@pytest.mark.parametrize("language", LANGUAGES)
async def test_without_a_model_the_status_says_what_is_off_and_the_rest_works(
    tmp_path: Path, language: str
) -> None:
    chat, say_ = ScriptedChat(), Texts(language).say
    chat.present = False
    for model, why in ((chat, "no_provider"), (None, "off")):
        async with running(tmp_path, chat=model, follow=False) as rig:
            await say(rig, "奶奶对花生过敏")
            told = await ask(rig, "status", language)
            assert say_("loop.resting", why=say_(f"resting.{why}")) in told
            await ask(rig, f"add 奶奶住在{why}号楼", language)
            assert f"{why}号楼" in await ask(rig, "search 奶奶住在哪里", language)
            report = await rig.engine.loop.sleep.run_once("command")
            assert (report.postponed, report.errors) == (Postponed.NO, ())
            assert report.backup
    assert chat.calls == []
