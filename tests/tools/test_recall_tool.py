"""What narrows a search of the model: a topic, and days."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.waiting import until_true as until
from astrbot_plugin_scoped_memory.llm_memory import MemoryDraft, MemoryKind
from astrbot_plugin_scoped_memory.tests.support.engines import (
    Rig,
    group,
    person,
    private,
    running,
)
from astrbot_plugin_scoped_memory.tests.support.plugin import FakeEvent, holding, tool_context
from astrbot_plugin_scoped_memory.tests.support.turn_plugin import TurnPlugin
from astrbot_plugin_scoped_memory.tools.core_memory_recall import RecallTool

pytestmark = [pytest.mark.engine, pytest.mark.astrbot]

HERE = group(777)
MAY = datetime(2026, 5, 1, 4, tzinfo=UTC)


async def call(rig: Rig, **arguments: object) -> str:
    made = RecallTool(source=holding(TurnPlugin(rig)))
    event = FakeEvent.in_group(777, "找一下")
    return await made.call(tool_context(event), **arguments)


async def test_only_a_topic(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        for text, kind in (
            ("小明每天跑步", MemoryKind.KNOWLEDGE),
            ("周五前给小明订跑步鞋", MemoryKind.TASK),
            ("周六前给奶奶买药", MemoryKind.TASK),
        ):
            draft = MemoryDraft(text, kind=kind, actor=person(1))
            await rig.engine.service.remember(draft, conversation_id=HERE)
        said = await call(rig, query="小明 跑步", topic="tasks")
        lines = said.split("\n")[1:]
        assert ["订跑步鞋" in lines[0], "买药" in lines[1], len(lines)] == [True, True, 2]
        assert "每天跑步" in await call(rig, query="小明 跑步")


async def test_how_many_hold_the_words_is_said_where_not_all_are_shown(tmp_path: Path) -> None:
    async with running(tmp_path, {private(5).umo: "家"}) as rig:
        for number in range(9):
            await rig.remember(f"小明第{number}次去爬香山", HERE)
        await rig.remember("小明第十次去爬香山", private(5))
        await until(lambda: rig.engine.rooms.words.in_step)
        assert (await call(rig, query="香山", limit=4)).startswith(
            "ok 列出 4 条；含有这些词的一共 9 条"
        )
        assert (await call(rig, query="香山", limit=20)).startswith("ok 找到 9 条\n")
        assert "共" not in await call(rig, query="香山", limit=4, topic="tasks")


@pytest.mark.parametrize("days", ["2026-05-02", "2026-05-02..2026-05-03", "昨天", "yesterday"])
async def test_only_of_these_days(tmp_path: Path, days: str) -> None:
    now = [MAY]

    def clock() -> datetime:
        now[0] += timedelta(seconds=1)
        return now[0]

    async with running(tmp_path, clock=clock) as rig:
        for text in ("小刚预约了牙科", "大伟预约了牙科", "小雯预约了眼科"):
            await rig.remember(text, HERE)
            now[0] += timedelta(days=1)
        now[0] = MAY + timedelta(days=2)
        said = await call(rig, query="谁预约了牙科", days=days)
        assert "大伟" in said
        assert "小刚" not in said
        assert "小刚" in await call(rig, query="谁预约了牙科")


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"topic": "烹饪"}, "topic"),
        ({"days": "那个时候"}, "那个时候"),
        ({"days": "2026-05-07..2026-05-01"}, "2026-05-07..2026-05-01"),
        ({"days": 5}, "days"),
    ],
)
async def test_what_is_wrong_is_named(tmp_path: Path, wrong: dict[str, object], named: str) -> None:
    async with running(tmp_path) as rig:
        said = await call(rig, query="牙科", **wrong)
        assert said.startswith("error ")
        assert named in said
