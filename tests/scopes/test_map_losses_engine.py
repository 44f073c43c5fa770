"""Whole engines over scopes that stand in no map: adopted, and restored without it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import EnginePaths, Memory
from astrbot_plugin_scoped_memory.llm_memory.composition.export_restore import (
    export_store,
    restore_store,
)
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope
from astrbot_plugin_scoped_memory.tests.support.engines import group, running

pytestmark = pytest.mark.engine

NOW = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.mark.parametrize("restored", [False, True])
async def test_scopes_that_were_adopted_are_no_loss_and_ones_restored_without_their_map_are(
    tmp_path: Path, restored: bool
) -> None:
    async with running(tmp_path / "bot", {}) as rig:
        peanuts = Memory("m-01jd3q8z7k0000", "奶奶对花生过敏", NOW)
        assert await rig.engine.parts.intake.take(Scope.parse("家人"), [peanuts])
    place = tmp_path / ("new" if restored else "bot")
    if restored:
        export_store(EnginePaths.under(tmp_path / "bot"), tmp_path / "store.jsonl", now=NOW)
        restore_store(EnginePaths.under(place), tmp_path / "store.jsonl")
    async with running(place, {}) as rig:
        report = await rig.engine.service.describe(conversation_id=group(5))
        assert (report.resolution.scope is None) is restored is bool(rig.notices)
