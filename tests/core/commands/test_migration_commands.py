"""``/memory migrate``, and what the log and the panel hear of a migration. What is answered stands
on a page of ``tests/says``."""

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
from astrbot_plugin_scoped_memory.core.replies.status_text import state_text
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
from astrbot_plugin_scoped_memory.tests.support.engines import QUICK, running
from astrbot_plugin_scoped_memory.tests.support.migrating import (
    fields,
    filled,
    legacy,
    migrating,
    until_done,
    until_state,
    until_status,
)
from astrbot_plugin_scoped_memory.tests.support.plugin import Desk, FakePlugin

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

RECORDS = {**legacy(5), "wild": fields("越界的密语", memory_scope="../x"), "nothing": None}


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


async def test_before_anybody_has_looked_it_does_not_say_that_there_is_nothing(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, legacy=filled(RECORDS)) as rig:
        desk = Desk(rig)
        await rig.engine.close()
        assert desk.say("migrate.opening") in await desk("migrate")


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
    texts = Texts(language)
    said = {
        code: state_text(texts, MigrationStatus(MigrationState.RUNNING, waiting=code))
        for code in ("vault", "state", "gone", "server_down", "never_heard_of")
    }
    assert len(set(said.values())) == len(said)
    bare = [code for code, words in said.items() if re.search(f"[(（]{code}[)）]", words)]
    assert bare == ["never_heard_of"]


async def test_the_status_route_tells_how_far_it_is_and_why_it_waits(tmp_path: Path) -> None:
    source = filled(RECORDS)

    def down(_: str) -> None:
        raise IndexUnavailable("down", code="server_down")

    async with running(tmp_path, legacy=source) as rig:
        plugin = cast("Any", FakePlugin(rig))
        source.before_call = down
        async with migrating(rig):
            await until_status(rig, lambda status: status.waiting == "server_down")
            block = (await status_json(plugin))["migration"]
            assert (block["state"], block["waiting"]) == ("idle", "server_down")
            source.before_call = lambda _: None
            await until_done(rig)
            block = (await status_json(plugin))["migration"]
            assert (block["state"], block["remaining"]) == ("done", 0)
            assert block["tally"] == {
                "scanned": 7, "patched": 5, "skipped": 2,
                "adopted": 5, "merged": 0, "quarantined": 1, "broken": 1,
            }  # fmt: skip
            await rig.engine.migrations.reverse()
            await until_state(rig, MigrationState.IDLE)
            assert (await status_json(plugin))["migration"]["reversed"] is True


async def test_the_log_hears_of_the_beginning_and_the_end_and_of_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_scope_migration, "_LOOK_SECONDS", 0.01)
    lines: list[str] = []
    for level in ("info", "warning", "error"):
        monkeypatch.setattr(memory_scope_migration.logger, level, lines.append)
    pace = replace(QUICK.walk_pace, batch=1, least_pause=0.02, most_pause=0.02)
    settings = replace(QUICK, walk_pace=pace)
    async with running(tmp_path, legacy=filled(RECORDS), settings=settings) as rig:
        scheduled = MemoryScopeMigration(rig.engine, Texts("zh-CN"))
        task = asyncio.create_task(scheduled.run())
        await until_done(rig)
        await until_true(lambda: any("已全部收进来" in line for line in lines))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert any("还剩" in line and "收进旧记忆" in line for line in lines)
    assert not any("密语" in line for line in lines)
