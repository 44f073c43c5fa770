"""Whole engines over a map that does not reach its scopes: copied, brought and upgraded folders."""

from __future__ import annotations

import asyncio
import shutil
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
from astrbot_plugin_scoped_memory.tests.support.engines import (
    MAP,
    Rig,
    group,
    running,
)

pytestmark = pytest.mark.engine

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
