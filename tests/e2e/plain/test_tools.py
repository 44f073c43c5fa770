"""The tools, as AstrBot hands on what a model calls."""

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person
from astrbot_plugin_scoped_memory.harness.records import scopes_with
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.tests.e2e.cast import MEMBER, POINTER, ROOM_A, ROOM_B

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

FINE: dict[str, object] = {"judgment": "洗衣机的滤网每季度清一次", "memory_type": "knowledge"}
CALLS: list[tuple[str, dict[str, object], str]] = [
    ("core_memory_remember", {}, "error"),
    ("core_memory_remember", FINE | {"judgment": ["a", "b"]}, "error"),
    ("core_memory_remember", FINE | {"tags": "家务, 厨房"}, "ok"),
    ("core_memory_remember", FINE | {"colour": "blue"}, "error"),
    ("core_memory_recall", {"query": "滤网", "limit": 10**9}, "error"),
    ("expand_memory", {"pointer": 5}, "error"),
    ("update_tasks", {"action": "done", "tasks": "长" * 70_000}, "error"),
]
"""And the first word of the answer."""


async def test_what_a_tool_cannot_read_is_answered_in_the_words_of_the_tool(rig: Rig) -> None:
    for tool, arguments, first_word in CALLS:
        result = await rig.use_tool(ROOM_B, MEMBER, tool, arguments)
        assert result.split()[0] == first_word, (tool, result)
        assert len(result) < 2000


async def test_each_tool_acts_in_its_scope_and_for_its_speaker_alone(
    rig: Rig, person: Person
) -> None:
    text, why = "物业的电话贴在冰箱侧面", "搬家那天亲眼看见贴着，后来也没有撕掉。"
    await rig.remember(ROOM_A, MEMBER, text, reasoning=why)
    found = POINTER.search(await rig.recall(ROOM_A, MEMBER, "物业的电话在哪"))
    assert found is not None
    pointer = {"pointer": found[0]}
    assert why in await rig.use_tool(ROOM_A, MEMBER, "expand_memory", pointer)
    tasks = {"action": "add", "tasks": ["给物业打电话"]}
    assert "给物业打电话" in await rig.use_tool(ROOM_A, MEMBER, "update_tasks", tasks)
    for place, who, tool in (
        (ROOM_B, MEMBER, "expand_memory"),
        (ROOM_B, MEMBER, "forget_memory"),
        (ROOM_A, person, "forget_memory"),
    ):
        assert (await rig.use_tool(place, who, tool, pointer)).startswith("error")
    assert scopes_with(rig.memory, text) == {"测试甲"}
    assert text in await rig.use_tool(ROOM_A, MEMBER, "forget_memory", pointer)
    assert scopes_with(rig.memory, text) == set()
    assert text in await rig.onebot.ask(ROOM_A, MEMBER, "/记忆 撤销")
