"""A person writes memories and notes into the folder while the bot runs, and the bot follows."""

import re

import pytest

from astrbot_plugin_scoped_memory.harness.places import Place
from astrbot_plugin_scoped_memory.harness.records import files_with, scopes_with
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.tests.e2e.cast import MEMBER, ROOM_A, ROOM_B

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

PLAN = "# 钓鱼计划\n\n八月去密云水库的东岸。\n"


async def until_recalled(rig: Rig, place: Place, query: str, text: str) -> str:
    """Recall until the text is found: its line."""

    async def probe() -> str | None:
        answer = await rig.recall(place, MEMBER, query)
        return next((line for line in answer.splitlines() if text in line), None)

    return await until(probe, within=60, what=text)


async def test_an_edit_by_hand_is_recalled_and_what_is_written_anew_gets_an_id(rig: Rig) -> None:
    old, new = "体检的报告在抽屉第一格", "体检的报告在抽屉第四格"
    await rig.onebot.ask(ROOM_A, MEMBER, f"/memory add {old}")
    path = rig.memory / files_with(rig.memory, old)[0]
    text = path.read_text("utf-8").replace(old, new)
    path.write_text(f"{text}\n## 除湿机每周三倒水\n", "utf-8")
    await until_recalled(rig, ROOM_A, "体检的报告在哪", new)
    await until_recalled(rig, ROOM_A, "除湿机哪天倒水", "除湿机每周三倒水")
    assert "## 除湿机每周三倒水 ^m-" in path.read_text("utf-8")
    assert scopes_with(rig.memory, old) == set()


async def test_a_note_is_found_and_opened_by_those_who_see_its_folder(rig: Rig) -> None:
    note = rig.memory / "scopes" / "测试甲" / "钓鱼.md"
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text(PLAN, "utf-8")
    line = await until_recalled(rig, ROOM_A, "去密云水库钓鱼的计划", "密云水库的东岸")
    found = re.search(r"\[笔记 · [^\]]*?(钓鱼\.md#n-[0-9a-f]+)\]", line)
    assert found is not None, line
    pointer = {"pointer": found[1]}
    assert (await rig.use_tool(ROOM_A, MEMBER, "expand_memory", pointer)).startswith("ok 笔记")
    assert "密云" not in await rig.recall(ROOM_B, MEMBER, "去水库钓鱼的计划")
    denied = await rig.use_tool(ROOM_B, MEMBER, "expand_memory", pointer)
    assert denied.startswith("error")
    assert note.read_text("utf-8") == PLAN
