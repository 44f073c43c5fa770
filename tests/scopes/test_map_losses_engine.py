"""Whole engines over scopes that stand in no map: adopted, and restored without it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import Memory, ReadPublicOnly
from astrbot_plugin_scoped_memory.llm_memory.__main__ import main
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope
from astrbot_plugin_scoped_memory.tests.support.engines import MAP, Rig, group, running

pytestmark = pytest.mark.engine

PEANUTS = "奶奶对花生过敏"


async def reads_only(rig: Rig) -> bool:
    """Whether an unmapped group reads public memories and nothing else."""
    report = await rig.engine.service.describe(conversation_id=group(5))
    return isinstance(report.resolution, ReadPublicOnly)


async def test_scopes_that_were_adopted_are_no_loss(tmp_path: Path) -> None:
    memory = Memory("m-01jd3q8z7k0000", PEANUTS, datetime(2026, 11, 1, tzinfo=UTC))
    async with running(tmp_path, {}) as rig:
        assert await rig.engine.parts.intake.take(Scope.parse("家人"), [memory])
    async with running(tmp_path, {}) as rig:
        assert not await reads_only(rig)
        assert rig.notices == []


def test_a_store_that_was_restored_without_its_map_publishes_nothing(tmp_path: Path) -> None:
    async def told() -> None:
        async with running(tmp_path / "old", MAP) as rig:
            await rig.remember(PEANUTS, group(777))

    async def is_held() -> bool:
        async with running(tmp_path / "new", {}) as rig:
            return await reads_only(rig)

    file = tmp_path / "store.jsonl"
    asyncio.run(told())
    assert main(["--data", str(tmp_path / "old"), "export", str(file)]) == 0
    assert main(["--data", str(tmp_path / "new"), "restore", str(file)]) == 0
    assert asyncio.run(is_held())
