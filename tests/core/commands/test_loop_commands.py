"""What goes on behind: nights, reading, and old memories, as their commands, the log and the status
route tell of them. The words of the answers stand on pages of ``tests/says``."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from astrbot_plugin_scoped_memory.core.migrations import memory_scope_migration
from astrbot_plugin_scoped_memory.core.migrations.memory_scope_migration import bring_memories
from astrbot_plugin_scoped_memory.core.plugin_context import PluginContext
from astrbot_plugin_scoped_memory.core.replies.status_text import (
    fault_words,
    loop_lines,
    state_text,
)
from astrbot_plugin_scoped_memory.core.services.sleep_schedule import SchedulePace, SleepSchedule
from astrbot_plugin_scoped_memory.harness.waiting import until_true
from astrbot_plugin_scoped_memory.llm_memory import (
    Engine,
    EngineOff,
    LoopStatus,
    MigrationState,
    MigrationStatus,
    QueueSize,
    Resting,
    Spent,
)
from astrbot_plugin_scoped_memory.llm_memory.errors import IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.models.loop import Share
from astrbot_plugin_scoped_memory.llm_memory.models.status import IndexState
from astrbot_plugin_scoped_memory.llm_memory.storage import files
from astrbot_plugin_scoped_memory.llm_memory.storage.directory_lock import DirectoryLock
from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES, Texts
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.support.engines import QUICK, Rig, Ticker, group, running
from astrbot_plugin_scoped_memory.tests.support.migrating import (
    fields,
    filled,
    legacy,
    migrating,
    until_done,
    until_status,
)
from astrbot_plugin_scoped_memory.tests.support.nights import NIGHT, find_useless, passive, plant
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
NOW = datetime(2026, 11, 21, 18, 0, tzinfo=UTC)
RECORDS = {**legacy(5), "wild": fields("越界的密语", memory_scope="../x"), "nothing": None}


class NightPlugin(FakePlugin):
    """A plugin with a schedule."""

    def __init__(self, rig: Rig, language: str) -> None:
        super().__init__(rig, language)
        pace = SchedulePace(catch_up_seconds=0.0, retry_seconds=60.0)
        self.schedule = SleepSchedule(rig.engine, None, rig.clock, pace)


@contextlib.asynccontextmanager
async def scheduled(root: Path, language: str = "zh-CN") -> AsyncIterator[tuple[Rig, Any, Desk]]:
    """A bot at night, whose schedule runs."""
    async with running(root, clock=Ticker(NIGHT), follow=False) as rig:
        plugin = NightPlugin(rig, language)
        desk = Desk(rig, plugin=plugin)
        assert await desk("sleep") == desk.say("sleep.unready")  # nothing is promised too early
        assert await desk("sleep 花生") == desk.say("outcome.unread_words", words="花生")
        task = asyncio.create_task(plugin.schedule.run())
        try:
            await plugin.schedule.looked.wait()
            yield rig, plugin, desk
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("language", LANGUAGES)
async def test_an_admin_begins_a_night_and_hears_what_it_did(tmp_path: Path, language: str) -> None:
    memories = [passive(n, f"密语{n}", strength=60) for n in range(8)]
    plant(tmp_path, "家人", "patterns.md", memories)
    find_useless(tmp_path, "家人", *memories[:3])
    async with scheduled(tmp_path, language) as (rig, plugin, desk):
        for words in ("sleep", "sleep now"):
            assert await desk(words) == desk.say("sleep.started")
            await until_true(lambda: not plugin.schedule.going)
            if words == "sleep":
                first = plugin.schedule.report
                told = await desk("sleep")
        assert (first.faded, first.reason) == (3, "command")
        assert plugin.schedule.report.run_id != first.run_id
        for part in ("2026-11-21.jsonl", desk.say("sleep.unmerged", count=1), f"{first.faded} "):
            assert part in told
        assert "密语" not in told
        rig.engine.parts.indexing.state = IndexState.BUILDING
        await desk("sleep now")
        await until_true(lambda: bool(plugin.schedule.waiting))
        why = desk.say("postponed.building")
        assert await desk("sleep") == desk.say("sleep.waiting", why=why)


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
            assert "花生" not in told
            assert "不行" not in told
            await desk(f"letters {words} b-x")
            assert len(await reflection.letters()) == 1
            await desk(f"letters {words} {letter.batch_id}")
            await desk("reflect" if words == "retry" else "letters")
            assert (await reflection.letters(), texts_of(rig)) == ([], {"家人": [PEANUTS]})


async def test_without_a_model_the_status_says_what_is_off(tmp_path: Path) -> None:
    chat = ScriptedChat()
    chat.present = False
    async with running(tmp_path, chat=chat, follow=False) as rig:
        desk = Desk(rig)
        why = desk.say("resting.no_provider")
        assert desk.say("loop.resting", why=why) in await desk("status")


async def test_what_the_disk_refused_is_said_with_its_cause(
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
        shares=(Share("家人", 9, 299), Share("公司", 9, 500)),
    )
    lines = loop_lines(texts, full)
    text = "\n".join(lines)
    for part in ("openai/x", "2026-11-20", "2026-11-22", *map(str, (11, *range(13, 20), 799))):
        assert part in text
    assert len(text.splitlines()) == len(lines)
    for reason in Resting:
        shown = loop_lines(texts, LoopStatus(resting=reason))
        rests = texts.say("loop.resting", why="").strip() in "\n".join(shown)
        assert rests is (reason is not Resting.NO)


def test_why_turns_were_not_read_is_said_in_words() -> None:
    said = {
        "no_field: none of useful_ids": "模型的回答用不上",
        "made_up: the memories share nothing with the turns": "模型的回答用不上",
        "failed: BadRequestError 400": "模型拒绝回答（多半是内容审查）",
        "failed: APIError 503": "模型的服务出错（503）",
        "failed: TimeoutError": "模型的服务出错（TimeoutError）",
        "timeout": "模型的服务出错（timeout）",
    }
    assert {error: fault_words(Texts("zh-CN"), error) for error in said} == said


async def test_an_admin_reverses_and_takes_back_and_reads_no_memory(tmp_path: Path) -> None:
    source = filled(RECORDS)
    before, said = dict(source.records), list[str]()
    async with running(tmp_path, legacy=source) as rig, migrating(rig):
        desk = Desk(rig)
        (batch,) = (await until_done(rig)).batches
        for words in ("", "broken", "试算", "reverse"):
            said.append(await desk(f"migrate {words}"))
        assert source.records == before
        await desk("migrate start")
        await until_done(rig)
        assert source.records != before
        said.append(await desk(f"migrate take-back {batch}"))
        assert (await rig.engine.status()).total == 0
        assert "密语" not in "".join(said)
        await rig.engine.close()  # it does not say that there is nothing
        assert await desk("migrate") == ""


async def test_with_the_engine_off_each_of_its_words_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Engine.open

    async def off(engine: Engine) -> None:
        with contextlib.suppress(EngineOff):
            await real(engine)

    monkeypatch.setattr(Engine, "open", off)
    lock = DirectoryLock(tmp_path)
    lock.acquire()
    async with running(tmp_path, follow=False) as rig:
        desk = Desk(rig)
        for words in ("", "dry-run", "start", "reverse", "take-back b-1", "broken"):
            assert desk.say("engine_off.directory_in_use") in await desk(f"migrate {words}")
    lock.release()


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_cause_has_its_words(language: str) -> None:
    said = {
        code: state_text(Texts(language), MigrationStatus(MigrationState.RUNNING, waiting=code))
        for code in ("vault", "state", "gone", "server_down", "never_heard_of")
    }
    assert len(set(said.values())) == len(said)
    bare = [code for code, words in said.items() if re.search(f"[(（]{code}[)）]", words)]
    assert bare == ["never_heard_of"]


async def test_the_route_and_the_log_tell_how_far_it_is_and_of_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_scope_migration, "_LOOK_SECONDS", 0.01)
    source, lines = filled(RECORDS), list[str]()
    for level in ("info", "warning", "error"):
        monkeypatch.setattr(memory_scope_migration.logger, level, lines.append)

    def down(_: str) -> None:
        raise IndexUnavailable("down", code="server_down")

    source.before_call = down
    pace = replace(QUICK.walk_pace, batch=1, least_pause=0.02, most_pause=0.02)
    settings = replace(QUICK, walk_pace=pace)
    async with running(tmp_path, legacy=source, settings=settings) as rig:
        plugin = cast("Any", FakePlugin(rig))
        task = asyncio.create_task(bring_memories(rig.engine, Texts("zh-CN")))
        await until_status(rig, lambda status: status.waiting == "server_down")
        block = (await PluginContext.status(plugin))["migration"]
        assert (block["state"], block["waiting"]) == ("idle", "server_down")
        source.before_call = lambda _: None
        await until_done(rig)
        block = (await PluginContext.status(plugin))["migration"]
        assert (block["state"], block["remaining"]) == ("done", 0)
        assert block["tally"] == {
            "scanned": 7, "patched": 5, "skipped": 2,
            "adopted": 5, "merged": 0, "quarantined": 1, "broken": 1,
        }  # fmt: skip
        await until_true(lambda: any("已全部收进来" in line for line in lines))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert any("还剩" in line and "收进旧记忆" in line for line in lines)
    assert not any("密语" in line for line in lines)
