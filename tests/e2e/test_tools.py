"""The tools against a model that cannot read their descriptions."""

import re

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, Place
from astrbot_plugin_scoped_memory.harness.records import scopes_with
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.tests.e2e.cast import MEMBER, ROOM_A, ROOM_B

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

FINE: dict[str, object] = {
    "judgment": "洗衣机的滤网每季度清一次",
    "reasoning": "说明书上写的。",
    "tags": ["家务"],
    "strength": 50,
    "memory_type": "knowledge",
}
WITHOUT_JUDGMENT = {key: value for key, value in FINE.items() if key != "judgment"}
REMEMBER_CALLS: dict[str, tuple[dict[str, object], set[str]]] = {
    "nothing at all": ({}, {"error"}),
    "no judgment": (WITHOUT_JUDGMENT, {"error"}),
    "an unknown argument": (FINE | {"colour": "blue"}, {"ok", "error"}),
    "judgment is a list": (FINE | {"judgment": ["a", "b"]}, {"error"}),
    "judgment is null": (FINE | {"judgment": None}, {"error"}),
    "judgment is blank": (FINE | {"judgment": " \n\t "}, {"error"}),
    "judgment of 200 kB": (FINE | {"judgment": "长" * 70_000}, {"ok", "error"}),
    "reasoning of 200 kB": (FINE | {"reasoning": "长" * 70_000}, {"ok", "error"}),
    "tags is a number": (FINE | {"tags": 7}, {"ok", "error"}),
    "tags is a text": (FINE | {"tags": "家务, 厨房"}, {"ok", "error"}),
    "tags of objects": (FINE | {"tags": [{"a": 1}, None]}, {"ok", "error"}),
    "strength of a billion": (FINE | {"strength": 10**9}, {"ok", "error"}),
    "strength is a word": (FINE | {"strength": "very"}, {"ok", "error"}),
    "an unknown kind": (FINE | {"memory_type": "rumour"}, {"ok", "error"}),
    "kind is a number": (FINE | {"memory_type": 3}, {"ok", "error"}),
}
OTHER_CALLS: dict[str, tuple[str, dict[str, object], set[str]]] = {
    "recall without a query": ("core_memory_recall", {}, {"error"}),
    "recall with a list": ("core_memory_recall", {"query": ["a"], "limit": 3}, {"ok", "error"}),
    "recall with limit -5": ("core_memory_recall", {"query": "滤网", "limit": -5}, {"ok", "error"}),
    "recall with limit 10**9": (
        "core_memory_recall",
        {"query": "滤网", "limit": 10**9},
        {"ok", "error"},
    ),
    "recall with limit as word": (
        "core_memory_recall",
        {"query": "滤网", "limit": "many"},
        {"ok", "error"},
    ),
    "recall of 200 kB": ("core_memory_recall", {"query": "长" * 70_000}, {"ok", "error"}),
    "expand without a pointer": ("expand_memory", {}, {"error"}),
    "expand nonsense": ("expand_memory", {"pointer": "../../../etc/passwd#m-1"}, {"error"}),
    "expand a number": ("expand_memory", {"pointer": 5}, {"error"}),
    "tasks without an action": ("update_tasks", {"tasks": ["修水管"]}, {"ok", "error"}),
    "tasks to add but none": ("update_tasks", {"action": "add"}, {"error"}),
    "tasks of objects": ("update_tasks", {"action": "add", "tasks": [{"a": 1}]}, {"error"}),
    "tasks of a strange action": ("update_tasks", {"action": "drop", "tasks": ["x"]}, {"error"}),
    "tasks of 200 kB": ("update_tasks", {"action": "done", "tasks": "长" * 70_000}, {"error"}),
}


@pytest.mark.parametrize("name", REMEMBER_CALLS)
async def test_bad_arguments_of_remember_give_a_result_and_no_traceback(
    rig: Rig, name: str
) -> None:
    arguments, first_words = REMEMBER_CALLS[name]
    start = len(rig.bot.logs())
    result = await rig.use_tool(ROOM_B, MEMBER, "core_memory_remember", arguments)
    assert result.split()[0] in first_words, result
    assert len(result) < 2000
    assert "Traceback" not in rig.bot.logs()[start:]


@pytest.mark.parametrize("name", OTHER_CALLS)
async def test_bad_arguments_of_the_reading_tools_give_a_result_and_no_traceback(
    rig: Rig, name: str
) -> None:
    tool, arguments, first_words = OTHER_CALLS[name]
    start = len(rig.bot.logs())
    result = await rig.use_tool(ROOM_B, MEMBER, tool, arguments)
    assert result.split()[0] in first_words, result
    assert "Traceback" not in rig.bot.logs()[start:]


@pytest.mark.parametrize("kind", ["knowledge", "event", "skill", "task", "emotional"])
async def test_each_kind_is_stored_and_recalled_at_once(
    rig: Rig, room: Place, person: Person, kind: str
) -> None:
    judgment = f"编号{kind}的箱子里是过冬的被子"
    result = await rig.remember(room, person, judgment, memory_type=kind)
    assert result.split()[0] == "ok"
    assert scopes_with(rig.memory, judgment) == {"public"}
    assert judgment in await rig.recall(room, person, f"{kind}的箱子里是什么被子")


async def test_a_pointer_of_a_recall_expands_to_the_whole_memory(rig: Rig) -> None:
    reasoning = "搬家那天亲眼看见贴在冰箱侧面，后来也没有撕掉。"
    await rig.remember(ROOM_A, MEMBER, "物业的电话贴在冰箱侧面", reasoning=reasoning)
    found = await rig.recall(ROOM_A, MEMBER, "物业的电话在哪")
    pointer = re.search(r"[\w./-]+\.md#m-[0-9a-z]+", found)
    assert pointer is not None, found
    whole = await rig.use_tool(ROOM_A, MEMBER, "expand_memory", {"pointer": pointer[0]})
    assert whole.split()[0] == "ok"
    assert reasoning in whole


async def test_a_pointer_into_another_scope_does_not_expand(rig: Rig) -> None:
    await rig.remember(ROOM_A, MEMBER, "保险箱的说明书夹在菜谱里")
    found = await rig.recall(ROOM_A, MEMBER, "保险箱的说明书在哪")
    pointer = re.search(r"[\w./-]+\.md#m-[0-9a-z]+", found)
    assert pointer is not None, found
    result = await rig.use_tool(ROOM_B, MEMBER, "expand_memory", {"pointer": pointer[0]})
    assert result.split()[0] == "error"
    assert "菜谱" not in result


async def test_the_tools_are_on_offer(rig: Rig, room: Place, person: Person) -> None:
    turn = await rig.turn(room, person, "你好呀")
    assert turn.first.tool_names >= {
        "core_memory_remember",
        "core_memory_recall",
        "expand_memory",
        "forget_memory",
    }


async def test_the_model_forgets_what_its_speaker_asks_for(rig: Rig, person: Person) -> None:
    text = "阿甲的滑板车寄放在地下车库"
    await rig.remember(ROOM_A, MEMBER, text)
    found = await rig.recall(ROOM_A, MEMBER, "滑板车寄放在哪里")
    pointer = re.search(r"\S+#m-[0-9a-z]+", found)
    assert pointer is not None, found
    for place, who in ((ROOM_A, person), (ROOM_B, MEMBER)):
        refused = await rig.use_tool(place, who, "forget_memory", {"pointer": pointer[0]})
        assert refused.startswith("error")
        assert scopes_with(rig.memory, text) == {"测试甲"}
    done = await rig.use_tool(ROOM_A, MEMBER, "forget_memory", {"pointer": pointer[0]})
    assert done.startswith("ok")
    assert text in done
    assert scopes_with(rig.memory, text) == set()
    assert text in await rig.onebot.ask(ROOM_A, MEMBER, "/记忆 恢复")
