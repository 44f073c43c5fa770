"""What goes on behind: nights, reading, and old memories, as their commands, the log and the status
route tell of them. The words of the answers stand on pages of ``tests/says``."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from astrbot_plugin_scoped_memory.core.migrations.memory_scope_migration import bring_memories
from astrbot_plugin_scoped_memory.core.plugin_context import PluginContext
from astrbot_plugin_scoped_memory.core.replies.status_text import fault_words, state_text
from astrbot_plugin_scoped_memory.llm_memory import MigrationState, MigrationStatus
from astrbot_plugin_scoped_memory.llm_memory.errors import IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES, Texts
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.support.engines import QUICK, group, running
from astrbot_plugin_scoped_memory.tests.support.migrating import (
    fields,
    filled,
    legacy,
    until_done,
    until_status,
)
from astrbot_plugin_scoped_memory.tests.support.plugin import Desk, FakePlugin
from astrbot_plugin_scoped_memory.tests.support.reflecting import (
    FAMILY,
    answer,
    learned,
    say,
    texts_of,
)

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

PEANUTS = "奶奶对花生过敏"
RECORDS = {**legacy(5), "wild": fields("越界的密语", memory_scope="../x"), "nothing": None}


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


async def test_a_letter_shows_none_of_the_words_and_is_read_again_or_dropped_by_its_name(
    tmp_path: Path,
) -> None:
    chat = ScriptedChat(*["抱歉，不行"] * 3, answer(learned(PEANUTS)), otherwise="不行")
    async with running(tmp_path, chat=chat, follow=False) as rig:
        desk, reflection = Desk(rig), rig.engine.reflection
        for words in ("retry", "丢弃"):
            await say(rig, PEANUTS)
            await desk("reflect")
            told = await desk("letters", 888)
            (letter,) = await reflection.letters()
            for part in (letter.batch_id, FAMILY.umo, "回答用不上", "1"):
                assert part in told
            assert ("花生" in told, "不行" in told) == (False, False)
            await desk(f"letters {words} b-x")
            assert len(await reflection.letters()) == 1
            await desk(f"letters {words} {letter.batch_id}")
            await desk("reflect" if words == "retry" else "letters")
            assert (await reflection.letters(), texts_of(rig)) == ([], {"家人": [PEANUTS]})


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


async def test_the_route_tells_how_far_it_is(tmp_path: Path) -> None:
    source = filled(RECORDS)

    def down(_: str) -> None:
        raise IndexUnavailable("down", code="server_down")

    source.before_call = down
    pace = replace(QUICK.walk_pace, batch=1, least_pause=0.02, most_pause=0.02)
    settings = replace(QUICK, walk_pace=pace)
    async with running(tmp_path, legacy=source, settings=settings) as rig:
        route = partial(PluginContext.status, cast("Any", FakePlugin(rig)))
        task = asyncio.create_task(bring_memories(rig.engine))
        await until_status(rig, lambda status: status.waiting == "server_down")
        block = (await route())["migration"]
        assert (block["state"], block["waiting"]) == ("idle", "server_down")
        source.before_call = lambda _: None
        await until_done(rig)
        block = (await route())["migration"]
        assert (block["state"], block["remaining"]) == ("done", 0)
        assert block["tally"] == {
            "scanned": 7, "patched": 5, "skipped": 2,
            "adopted": 5, "merged": 0, "quarantined": 1, "broken": 1,
        }  # fmt: skip
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
