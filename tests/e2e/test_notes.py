"""A person puts notes beside the memories while the bot runs, and the bot finds them."""

import asyncio
import re

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, Place
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.tests.e2e.cast import MEMBER, ROOM_A, ROOM_B

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

HANDBOOK = (
    "# 鱼缸手册\n\n## 换水\n\n每次换三分之一，水先晒一天。\n\n```sh\n# 定时\ncron 换水\n```\n"
)
PLAN = "# 钓鱼计划\n\n八月去密云水库的东岸。\n"


async def pointer_of(rig: Rig, place: Place, person: Person, query: str, text: str) -> str:
    """Search until the text is found: its pointer."""
    async with asyncio.timeout(30):
        while True:
            answer = await rig.recall(place, person, query)
            line = next((line for line in answer.splitlines() if text in line), "")
            if found := re.search(r"\[笔记 · [^\]]*?([^ ]+\.md#n-[0-9a-f]+)\]", line):
                return found[1]
            await asyncio.sleep(0.3)


async def test_notes_are_found_and_opened_by_those_who_see_their_folder(rig: Rig) -> None:
    for path, text in {"shared/鱼缸.md": HANDBOOK, "scopes/测试甲/钓鱼.md": PLAN}.items():
        (rig.memory / path).parent.mkdir(parents=True, exist_ok=True)
        (rig.memory / path).write_text(text, "utf-8")
    plan = await pointer_of(rig, ROOM_A, MEMBER, "去密云水库钓鱼的计划", "密云水库的东岸")
    assert plan.startswith("钓鱼.md#n-")
    handbook = await pointer_of(rig, ROOM_B, MEMBER, "鱼缸怎么换水", "水先晒一天")
    assert handbook.startswith("shared/鱼缸.md#n-")
    whole = await rig.use_tool(ROOM_B, MEMBER, "expand_memory", {"pointer": handbook})
    assert whole.startswith(f"ok 笔记 {handbook}")
    assert "    # 定时\n    cron 换水\n" in whole
    assert "密云" not in await rig.recall(ROOM_B, MEMBER, "去密云水库钓鱼的计划")
    denied = await rig.use_tool(ROOM_B, MEMBER, "expand_memory", {"pointer": plan})
    assert denied.startswith("error")
    assert (rig.memory / "shared/鱼缸.md").read_text("utf-8") == HANDBOOK
