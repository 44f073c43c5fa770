"""No tool of a model and no command of a person changes a byte of `shared/` or a role's folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.core.commands.command_table import COMMANDS
from astrbot_plugin_scoped_memory.core.commands.commands import Commands
from astrbot_plugin_scoped_memory.tests.support.engines import MAP, running
from astrbot_plugin_scoped_memory.tests.support.foreign import (
    TEXTS,
    TWINS,
    bytes_in,
    plant,
    plant_links,
)
from astrbot_plugin_scoped_memory.tests.support.plugin import FakeEvent, holding, tool_context
from astrbot_plugin_scoped_memory.tests.support.turn_plugin import TurnPlugin
from astrbot_plugin_scoped_memory.tools import TOOLS

pytestmark = [pytest.mark.engine, pytest.mark.astrbot]


def calls(name: str) -> Iterator[tuple[str, dict[str, object]]]:
    """What a model that wants to write there could try, with one name of it."""
    yield "core_memory_remember", {"judgment": f"{name} 由机器人来写", "reasoning": name}
    yield "core_memory_remember", {"judgment": "记一条规矩", "tags": [name], "asks": [name]}
    yield "core_memory_remember", {"judgment": "再记一条", "memory_type": name, "path": name}
    yield "core_memory_recall", {"query": name, "topic": name, "days": name}
    yield "core_memory_recall", {"query": name}
    yield "expand_memory", {"pointer": name, "transcript": True}
    yield "forget_memory", {"pointer": name}
    for action in ("add", "done", "list", name):
        given = {"action": action, "tasks": [name], "progress": name, "next_step": name}
        yield "update_tasks", given


@pytest.mark.parametrize("number", [777, 888, 999])
async def test_no_tool_writes_there_and_each_answers_in_words(tmp_path: Path, number: int) -> None:
    memory = tmp_path / "memory"
    plant(memory, TWINS)
    plant_links(memory, memory / "scopes" / "家人")
    plant_links(memory, memory / "scopes" / "公司", hard=True)
    async with running(tmp_path, MAP, follow=False) as rig:
        plugin, before = TurnPlugin(rig), bytes_in(memory)
        tools = {tool.name: tool for tool in (made(source=holding(plugin)) for made in TOOLS)}
        asked = set()
        for name in (*TEXTS[number % 9 :: 9], *TWINS[number % 3 :: 3]):
            for tool, given in calls(name):
                event = FakeEvent.in_group(number, f"记住 {name}", admin=True)
                said = await tools[tool].call(tool_context(event), **given)
                asked.add(tool)
                assert said.startswith(("ok ", "error ")), (tool, given)
                assert "Error" not in said, (tool, given)
            assert bytes_in(memory) == before, name
        assert asked == tools.keys()
        assert any(
            "由机器人来写" in one.memory.judgment for one in rig.engine.rooms.catalogue.all()
        )


@pytest.mark.parametrize("number", [777, 888])
async def test_no_command_writes_there_but_an_accept(tmp_path: Path, number: int) -> None:
    memory = tmp_path / "memory"
    plant(memory, TWINS)
    plant_links(memory, memory / "scopes" / "家人")
    plant_links(memory, memory / "scopes" / "公司", hard=True)
    async with running(tmp_path, MAP, follow=False) as rig:
        plugin: Any = TurnPlugin(rig)
        commands = Commands(plugin)
        of_the_whole_bot = {"backup", "restore", "sleep"}
        names = [row.name for row in COMMANDS]
        others = ("scopes", ".pauses.json")
        before = bytes_in(memory, but=others)
        for text in (*TEXTS[number % 17 :: 17], *TWINS[number % 5 :: 5]):
            for name in names:
                decided = ("list", "propose", "reject", "supersede D-0001", "撤回 D-0009", "yes")
                for first in decided if name == "decide" else ("", "公共", "确认"):
                    words = f"memory {name} {first} {text}"
                    event: Any = FakeEvent.in_group(number, words, admin=True)
                    said = await commands.answer(event, getattr(commands, name))
                    assert said, words
                    assert "Error" not in said or name in of_the_whole_bot, words
            assert bytes_in(memory, but=others) == before, text
        await plugin.settled()
        assert {"decide", "edit", "move", "import", "scope"} <= set(names)
