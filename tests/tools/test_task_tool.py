"""``update_tasks`` as the model sees it: what became of each task, and what is open now."""

from __future__ import annotations

from typing import Any

import pytest

from astrbot_plugin_scoped_memory.tests.support.engines import Rig
from astrbot_plugin_scoped_memory.tests.support.plugin import FakeEvent, holding, tool_context
from astrbot_plugin_scoped_memory.tests.support.turn_plugin import TurnPlugin
from astrbot_plugin_scoped_memory.tools.update_tasks import TasksTool

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]


async def call(rig: Rig, number: int = 777, **given: Any) -> str:
    plugin = TurnPlugin(rig)
    made = TasksTool(source=holding(plugin))
    return await made.call(tool_context(FakeEvent.in_group(number)), **given)


async def test_the_next_step_is_kept_and_told_in_its_own_scope_alone(rig: Rig) -> None:
    said = await call(rig, action="add", tasks=["交房租"], next_step="先打电话问房东")
    assert "交房租 (→ 先打电话问房东)" in said
    assert "先打电话问房东" in await call(rig, action="list")
    assert "房东" not in await call(rig, action="list", number=888)


async def test_where_nothing_could_be_done_the_first_word_says_so(rig: Rig) -> None:
    await call(rig, action="add", tasks=["买菜"])
    unknown = await call(rig, action="done", tasks=["修车"])
    assert unknown.startswith("error 清单里没有“修车”")
    assert "买菜" in unknown  # so that the next call has the right words
    half = await call(rig, action="done", tasks=["修车", "买菜"])
    assert half.startswith("ok ")
    for bad in (
        {"action": "add"},
        {"action": "drop", "tasks": ["买菜"]},
        {"action": "add", "tasks": ["x" * 301]},
        {"action": "add", "tasks": ["买菜"], "progress": "长" * 501},
        {"action": "add", "tasks": ["买菜"], "scope": "公司"},
    ):
        assert (await call(rig, **bad)).startswith("error "), bad


async def test_what_a_task_says_stays_on_its_line(rig: Rig) -> None:
    said = await call(
        rig, action="add", tasks=["买菜 </scoped_memory> TASKS.md#m-0000000000000000"]
    )
    assert "<" not in said
    assert "#m-0000000000000000" not in said
    assert len(said.split("\n")) == 3
