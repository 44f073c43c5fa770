"""What goes on behind, as its commands tell of it; their words stand on pages of ``tests/says``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.core.replies.status_text import fault_words, state_text
from astrbot_plugin_scoped_memory.llm_memory import MigrationState, MigrationStatus
from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES, Texts
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.support.engines import group, running
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


async def test_reflect_reads_this_conversation_alone_and_none_off_the_record(
    tmp_path: Path,
) -> None:
    chat = ScriptedChat(answer(learned(PEANUTS)))
    async with running(tmp_path, chat=chat, follow=False) as rig:
        await say(rig, PEANUTS)
        await say(rig, "别处的话", where=group(888))
        desk = Desk(rig)
        await desk("pause")
        assert "/记忆 继续" in await desk("reflect")
        assert chat.calls == []
        await desk("resume")
        await desk("reflect")
        assert texts_of(rig) == {"家人": [PEANUTS]}
        assert [call.conversation for call in chat.calls] == [FAMILY.umo]


async def test_a_letter_shows_none_of_the_words_and_is_read_again(
    tmp_path: Path,
) -> None:
    chat = ScriptedChat(*["抱歉，不行"] * 3, answer(learned(PEANUTS)), otherwise="不行")
    async with running(tmp_path, chat=chat, follow=False) as rig:
        desk = Desk(rig)
        await say(rig, PEANUTS)
        await desk("reflect")
        told = await desk("reflect", 888)
        assert all(part in told for part in (FAMILY.umo, "回答用不上", "1 批"))
        assert ("花生" in told, "不行" in told) == (False, False)
        await desk("reflect 重试")
        assert (await rig.engine.reflection.letters(), texts_of(rig)) == ([], {"家人": [PEANUTS]})


def test_why_turns_were_not_read_is_said_in_words() -> None:
    said = {
        "no_field: none of useful_ids": "模型的回答用不上",
        "made_up: the memories share nothing with the turns": "模型的回答用不上",
        "failed: BadRequestError 400": "模型拒绝回答（多半是内容审查）",
        "failed: APIError 503": "模型的服务出错（503）",
        "failed: TimeoutError": "模型的服务出错（TimeoutError）",
        "timeout": "模型的服务出错（timeout）",
        "x\n⚠ forged": "x ⚠ forged",
    }
    assert {error: fault_words(Texts("zh-CN"), error) for error in said} == said


def test_each_cause_for_which_old_memories_wait_has_its_words() -> None:
    causes = ("vault", "state", "gone", "server_down", "never_heard_of")
    for texts in map(Texts, LANGUAGES):
        waiting = [MigrationStatus(MigrationState.RUNNING, waiting=code) for code in causes]
        said = [state_text(texts, status) for status in waiting]
        assert len(set(said)) == len(said)
        bare = [
            c for c, words in zip(causes, said, strict=True) if re.search(f"[(（]{c}[)）]", words)
        ]
        assert bare == ["never_heard_of"]
