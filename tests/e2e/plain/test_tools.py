"""The tools against a model that cannot read their descriptions."""

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, Place
from astrbot_plugin_scoped_memory.harness.records import scopes_with
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.tests.e2e.cast import MEMBER, POINTER, ROOM_A, ROOM_B, stored

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

FINE: dict[str, object] = {"judgment": "洗衣机的滤网每季度清一次", "memory_type": "knowledge"}
CALLS: dict[str, tuple[str, dict[str, object] | str, str]] = {
    "no arguments": ("core_memory_remember", {}, "error"),
    "a list for a text": ("core_memory_remember", FINE | {"judgment": ["a", "b"]}, "error"),
    "null for a text": ("core_memory_remember", FINE | {"judgment": None}, "error"),
    "nothing but blanks": ("core_memory_remember", FINE | {"judgment": " \n\t "}, "error"),
    "a text for a list": ("core_memory_remember", FINE | {"tags": "家务, 厨房"}, "ok"),
    "a billion": ("core_memory_remember", FINE | {"strength": 10**9}, "error"),
    "an argument that nobody knows": ("core_memory_remember", FINE | {"colour": "blue"}, "error"),
    "no query": ("core_memory_recall", {}, "error"),
    "a billion results": ("core_memory_recall", {"query": "滤网", "limit": 10**9}, "error"),
    "a path": ("expand_memory", {"pointer": "../../../etc/passwd#m-1"}, "error"),
    "a number for a pointer": ("expand_memory", {"pointer": 5}, "error"),
    "a strange action": ("update_tasks", {"action": "drop", "tasks": ["x"]}, "error"),
    "200 kB": ("update_tasks", {"action": "done", "tasks": "长" * 70_000}, "error"),
}


@pytest.mark.parametrize("name", CALLS)
async def test_what_a_tool_cannot_read_is_answered_in_the_words_of_the_tool(
    rig: Rig, name: str
) -> None:
    tool, arguments, first_word = CALLS[name]
    result = await rig.use_tool(ROOM_B, MEMBER, tool, arguments)
    assert result.split()[0] == first_word, result
    assert len(result) < 2000


async def test_each_kind_is_stored_and_recalled_at_once(
    rig: Rig, room: Place, person: Person
) -> None:
    for kind in ("knowledge", "event", "skill", "task", "emotional"):
        judgment = f"编号{kind}的箱子里是过冬的被子"
        await stored(rig, room, person, judgment, memory_type=kind)
        assert scopes_with(rig.memory, judgment) == {"public"}
        assert judgment in await rig.recall(room, person, f"{kind}的箱子里是什么被子")


async def test_a_pointer_of_a_recall_opens_the_whole_memory_in_its_scope_alone(rig: Rig) -> None:
    reasoning = "搬家那天亲眼看见贴在冰箱侧面，后来也没有撕掉。"
    await rig.remember(ROOM_A, MEMBER, "物业的电话贴在冰箱侧面", reasoning=reasoning)
    found = POINTER.search(await rig.recall(ROOM_A, MEMBER, "物业的电话在哪"))
    assert found is not None
    pointer = {"pointer": found[0]}
    whole = await rig.use_tool(ROOM_A, MEMBER, "expand_memory", pointer)
    assert whole.split()[0] == "ok"
    assert reasoning in whole
    refused = await rig.use_tool(ROOM_B, MEMBER, "expand_memory", pointer)
    assert refused.split()[0] == "error"
    assert "冰箱" not in refused


async def test_the_model_forgets_what_its_speaker_asks_for(rig: Rig, person: Person) -> None:
    text = "阿甲的滑板车寄放在地下车库"
    pointer = {"pointer": await stored(rig, ROOM_A, MEMBER, text)}
    for place, who in ((ROOM_A, person), (ROOM_B, MEMBER)):
        assert (await rig.use_tool(place, who, "forget_memory", pointer)).startswith("error")
        assert scopes_with(rig.memory, text) == {"测试甲"}
    done = await rig.use_tool(ROOM_A, MEMBER, "forget_memory", pointer)
    assert done.startswith("ok")
    assert text in done
    assert scopes_with(rig.memory, text) == set()
    assert text in await rig.onebot.ask(ROOM_A, MEMBER, "/记忆 恢复")
