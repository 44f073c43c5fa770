"""``/memory migrate``, in two languages, and what the log hears of a migration."""

from __future__ import annotations

import asyncio
import contextlib
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from astrbot_plugin_scoped_memory.core.host.web_api import status_json
from astrbot_plugin_scoped_memory.core.migrations import memory_scope_migration
from astrbot_plugin_scoped_memory.core.migrations.memory_scope_migration import (
    MemoryScopeMigration,
)
from astrbot_plugin_scoped_memory.core.replies.migration_text import state_text
from astrbot_plugin_scoped_memory.harness.waiting import until_true
from astrbot_plugin_scoped_memory.llm_memory import (
    Engine,
    EngineOff,
    MigrationState,
    MigrationStatus,
)
from astrbot_plugin_scoped_memory.llm_memory.errors import IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.storage.directory_lock import DirectoryLock
from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES, Texts
from astrbot_plugin_scoped_memory.tests.support.engines import QUICK, Rig, group, running
from astrbot_plugin_scoped_memory.tests.support.migrating import (
    fields,
    filled,
    legacy,
    migrating,
    status_of,
    until_done,
    until_state,
    until_status,
)
from astrbot_plugin_scoped_memory.tests.support.plugin import (
    FakeEvent,
    FakePlugin,
    answered,
)

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

RECORDS = {**legacy(5), "wild": fields("越界的密语", memory_scope="../x"), "nothing": None}


async def ask(rig: Rig, words: str, *, admin: bool = True, language: str = "zh-CN") -> str:
    """What the plugin answers to ``memory migrate …``."""
    event = FakeEvent.in_group(1, f"memory migrate {words}", admin=admin)
    return await answered(rig, event, language) or ""


@pytest.mark.parametrize("language", LANGUAGES)
async def test_an_admin_sees_tries_begins_takes_back_and_reverses(
    tmp_path: Path, language: str
) -> None:
    source = filled(RECORDS)
    before = dict(source.records)

    async def say(words: str) -> str:
        answer = await ask(rig, words, language=language)
        assert "密语" not in answer  # numbers and ids, no memory
        return answer

    async with running(tmp_path, legacy=source) as rig:
        assert "7" in await say("dry-run")
        assert source.records == before
        async with migrating(rig):
            status = await until_done(rig)
            (batch,) = status.batches
            shown = await say("")
            assert batch in shown
            assert "personal_memory_v1" in shown
            assert "advanced.migration_mode = auto" in shown
            assert shown == await say("status")
            letters = await say("broken")
            assert "wild" in letters
            assert "nothing" in letters
            assert "5" in await say("reverse")
            assert source.records == before
            assert await say("status") != shown
            assert (await status_of(rig)).reversed
            await say("start")
            await until_done(rig)
            assert source.records != before
            assert "6" in await say(f"take-back {batch}")
            assert (await rig.engine.status()).total == 0
            assert "b-x" in await say("take-back b-x")
            usage = await say("take-back")
            assert usage == await say("что")


@pytest.mark.parametrize("language", LANGUAGES)
async def test_before_anybody_has_looked_it_does_not_say_that_there_is_nothing(
    tmp_path: Path, language: str
) -> None:
    async with running(tmp_path, legacy=filled(RECORDS)) as rig:
        idle = await ask(rig, "", language=language)
        await rig.engine.close()
        shown = await ask(rig, "", language=language)
    assert Texts(language).say("migrate.opening") in shown
    assert shown != idle


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
        for words in ("", "dry-run", "start", "reverse", "take-back b-1", "broken"):
            told = await ask(rig, words)
            assert Texts("zh-CN").say("engine_off.directory_in_use") in told
    lock.release()


async def test_chinese_words_do_the_same(tmp_path: Path) -> None:
    async with running(tmp_path, legacy=filled(RECORDS)) as rig:
        assert await ask(rig, "试算") == await ask(rig, "dry-run")
        assert await ask(rig, "状态") == await ask(rig, "")


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_state_and_each_cause_has_its_words(language: str) -> None:
    texts = Texts(language)
    assert all(texts.knows(f"migrate.state_{state}") for state in MigrationState)
    said = {
        code: state_text(texts, MigrationStatus(MigrationState.RUNNING, waiting=code))
        for code in ("vault", "state", "gone", "server_down", "never_heard_of")
    }
    assert len(set(said.values())) == len(said)
    bare = [code for code, words in said.items() if re.search(f"[(（]{code}[)）]", words)]
    assert bare == ["never_heard_of"]


async def test_the_status_route_tells_how_far_it_is_and_why_it_waits(tmp_path: Path) -> None:
    source = filled(RECORDS)

    async def block() -> dict[str, Any]:
        found: dict[str, Any] = (await status_json(plugin))["migration"]
        return found

    async with running(tmp_path, legacy=source) as rig:
        plugin = cast("Any", FakePlugin(rig))

        def down(_: str) -> None:
            raise IndexUnavailable("down", code="server_down")

        source.before_call = down
        async with migrating(rig):
            await until_status(rig, lambda status: status.waiting == "server_down")
            assert (await block())["state"] == "idle"  # nobody knows of anything to bring
            assert (await block())["waiting"] == "server_down"
            source.before_call = lambda _: None
            await until_done(rig)
            assert await block() == {
                "state": "done", "mode": "auto", "mode_on": False,
                "scanned": 7, "patched": 5, "skipped": 2, "remaining": 0,
                "adopted": 5, "merged": 0, "quarantined": 1, "broken": 1,
            }  # fmt: skip
            await rig.engine.migrations.reverse()
            await until_state(rig, MigrationState.IDLE)
            assert (await block())["reversed"] is True


async def test_the_log_hears_of_the_beginning_and_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_scope_migration, "_LOOK_SECONDS", 0.01)
    lines: list[str] = []
    for level in ("info", "warning", "error"):
        monkeypatch.setattr(memory_scope_migration.logger, level, lines.append)
    settings = replace(
        QUICK, walk_pace=replace(QUICK.walk_pace, batch=1, least_pause=0.02, most_pause=0.02)
    )
    async with running(tmp_path, legacy=filled(RECORDS), settings=settings) as rig:
        scheduled = MemoryScopeMigration(rig.engine, Texts("zh-CN"))
        task = asyncio.create_task(scheduled.run())
        await until_done(rig)
        await until_true(lambda: any("已全部收进来" in line for line in lines))
        await asyncio.sleep(0.05)  # and it is not said again
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert any("还剩" in line and "收进旧记忆" in line for line in lines)
    assert sum("已全部收进来" in line for line in lines) == 1
    assert not any("密语" in line for line in lines)


async def test_recall_goes_on_while_admins_do_what_they_do(tmp_path: Path) -> None:
    async with running(tmp_path, legacy=filled(legacy(50))) as rig, migrating(rig):
        answers = await asyncio.gather(
            *(rig.texts(f"第{number}号柜子放了什么工具", group(1)) for number in range(5)),
            ask(rig, "dry-run"),
            ask(rig, "start"),
        )
        assert len(answers) == 7
        assert (await until_done(rig)).tally.adopted == 50
