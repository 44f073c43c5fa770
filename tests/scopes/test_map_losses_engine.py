"""Whole engines over a map that does not reach its scopes: copied, brought and upgraded folders."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    ConversationId,
    Memory,
    NoticeCode,
    ReadPublicOnly,
    Usable,
)
from astrbot_plugin_scoped_memory.llm_memory.__main__ import main
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope
from astrbot_plugin_scoped_memory.tests.house.source import script
from astrbot_plugin_scoped_memory.tests.support.engines import (
    MAP,
    Rig,
    group,
    running,
)

pytestmark = pytest.mark.engine

sample = script("make_format_sample")
FORMAT_1 = sample.SAMPLES / "vault-1-state-1-index-1-loop-1"
PEANUTS, LIBRARY = "奶奶对花生过敏", "图书馆周一闭馆"


async def reads_only(rig: Rig) -> bool:
    """Whether an unmapped group may read public memories and nothing else."""
    report = await rig.engine.service.describe(conversation_id=group(5))
    assert isinstance(report.resolution, ReadPublicOnly | Usable)
    return isinstance(report.resolution, ReadPublicOnly)


async def test_a_copied_folder_publishes_nothing_until_its_map_is_there(tmp_path: Path) -> None:
    async with running(tmp_path / "old") as rig:
        await rig.remember(PEANUTS, group(777))
        await rig.remember("报表周五交", group(888))
        await rig.remember(LIBRARY, group(999))
    shutil.copytree(tmp_path / "old" / "memory", tmp_path / "new" / "memory")
    async with running(tmp_path / "new", {}) as rig:
        assert await reads_only(rig)
        assert LIBRARY in await rig.texts("图书馆哪天闭馆", group(5))
        assert PEANUTS not in await rig.texts("奶奶能吃花生吗", group(5))
        standing = (await rig.engine.status()).notices
        (notice,) = [one for one in standing if one.code is NoticeCode.MAP_UNKNOWN]
    assert notice.params["scopes"] == "公司、家人"
    async with running(tmp_path / "new", MAP) as rig:
        assert not await reads_only(rig)
        assert rig.notices == []


async def test_scopes_that_were_adopted_are_no_loss(tmp_path: Path) -> None:
    memory = Memory("m-01jd3q8z7k0000", PEANUTS, datetime(2026, 11, 1, tzinfo=UTC))
    async with running(tmp_path, {}) as rig:
        assert await rig.engine.parts.intake.take(Scope.parse("家人"), [memory])
    async with running(tmp_path, {}) as rig:
        assert not await reads_only(rig)
        assert rig.notices == []


async def lived(root: Path, where: ConversationId) -> None:
    """A bot in which one memory was told."""
    async with running(root, MAP) as rig:
        await rig.remember(PEANUTS, where)


async def unmapped_reads_only(root: Path) -> bool:
    """Whether, without a map, an unmapped group reads public memories and nothing else."""
    async with running(root, {}) as rig:
        return await reads_only(rig)


def test_a_store_that_was_restored_without_its_map_publishes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "store.jsonl"
    asyncio.run(lived(tmp_path / "old", group(777)))
    assert main(["--data", str(tmp_path / "old"), "export", str(file)]) == 0
    assert main(["--data", str(tmp_path / "new"), "restore", str(file)]) == 0
    assert asyncio.run(unmapped_reads_only(tmp_path / "new"))


@pytest.mark.parametrize("unknown", [False, True])
async def test_what_the_first_format_knew_of_scopes_and_keys_is_known_after_the_upgrade(
    tmp_path: Path, unknown: bool
) -> None:
    data = tmp_path / "data"
    shutil.copytree(FORMAT_1 / "data", data)
    state = data / "state" / "state.sqlite"
    with closing(sqlite3.connect(state)) as connection:
        connection.execute("INSERT INTO map_key VALUES ('persona:猫娘')")
        connection.execute("INSERT INTO map_key VALUES ('tg:GroupMessage:-100')")
        connection.execute("INSERT INTO map_key VALUES ('tg:GroupMessage:-200')")
        connection.execute("INSERT INTO seen_conversation VALUES ('tg:GroupMessage:-100#7')")
        if unknown:  # the former version's mark: the state that knew the map was lost
            connection.execute("INSERT INTO lost_map_key VALUES (' * ')")
        connection.commit()
    unnamed = {"aiocqhttp:GroupMessage:1": "别处"}
    async with running(data, sample.MAP | unnamed, settings=sample.SETTINGS):
        pass
    with closing(sqlite3.connect(state)) as connection:
        stated = connection.execute("SELECT value FROM meta WHERE name = 'format'").fetchone()
        seen = {row[0] for row in connection.execute("SELECT umo FROM seen_conversation")}
        lost = connection.execute("SELECT key FROM lost_map_key").fetchall()
    assert int(stated[0]) >= 2
    assert {"persona:猫娘", "tg:GroupMessage:-100"} <= seen
    assert "tg:GroupMessage:-200" not in seen
    assert lost == []
    shutil.rmtree(data)
    shutil.copytree(FORMAT_1 / "data", data)
    if unknown:
        with closing(sqlite3.connect(state)) as connection:
            connection.execute("INSERT INTO lost_map_key VALUES (' * ')")
            connection.commit()
    named = dict.fromkeys(sample.MAP, "别处")
    async with running(data, named, settings=sample.SETTINGS) as rig:
        assert await reads_only(rig) is unknown
