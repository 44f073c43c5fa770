"""``update_tasks`` as the model sees it: what became of each task, and what is open now."""

from __future__ import annotations

from typing import Any

import pytest

from astrbot_plugin_scoped_memory.core.replies.task_text import tasks_text
from astrbot_plugin_scoped_memory.llm_memory import Rejected, RejectReason, TaskFate, TaskOutcome
from astrbot_plugin_scoped_memory.llm_memory.models.tasks import TaskReport
from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES, Texts
from astrbot_plugin_scoped_memory.tests.support.engines import Rig
from astrbot_plugin_scoped_memory.tests.support.plugin import FakeEvent, holding, tool_context
from astrbot_plugin_scoped_memory.tests.support.turn_plugin import TurnPlugin
from astrbot_plugin_scoped_memory.tools.update_tasks import TasksTool

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]


async def call(rig: Rig, number: int = 777, **given: Any) -> str:
    plugin = TurnPlugin(rig)
    made = TasksTool(source=holding(plugin))
    return await made.call(tool_context(FakeEvent.in_group(number)), **given)


async def test_a_task_goes_its_whole_way_through_the_tool(rig: Rig) -> None:
    said = await call(rig, action="add", tasks=["交房租，问房东", "买菜"], next_step="先打电话")
    lines = said.split("\n")
    assert lines[0] == "ok 已记下“交房租，问房东”"
    assert lines[1] == "已记下“买菜”"
    assert "没做完的 2 件" in lines[2]
    assert any("交房租，问房东 (→ 先打电话)" in line for line in lines[3:])
    pointer = lines[3].split("·")[2].split("]")[0].strip()
    assert pointer.startswith("TASKS.md#m-")
    assert (await call(rig, action="done", tasks=pointer)).startswith("ok ")
    said = await call(rig, action="list")
    assert "没做完的 1 件（做完的 1 件" in said
    assert (await call(rig, action="list", number=888)).startswith("ok 没有待办的事")
    assert (await call(rig)).startswith("ok 没做完的 1 件")


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


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_fate_has_its_words(language: str) -> None:
    texts = Texts(language)
    rejected = Rejected(RejectReason.TOO_SHORT)
    for fate in TaskFate:
        refused = rejected if fate is TaskFate.REFUSED else None
        said = tasks_text(texts, TaskReport((TaskOutcome("买菜", fate, rejected=refused),)), ())
        assert "买菜" in said
        failed = fate in (TaskFate.UNKNOWN, TaskFate.ELSEWHERE, TaskFate.REFUSED)
        assert said.startswith("error " if failed else "ok ")
