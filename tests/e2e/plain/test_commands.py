"""`/memory` and `/记忆`, as people write them in a real AstrBot: what is a command, and that each
reaches the memory with its conversation and its speaker."""

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, Place, private
from astrbot_plugin_scoped_memory.harness.records import scopes_with
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.tests.e2e.cast import ADMIN, MEMBER, ROOM_A, ROOM_B, memory_id

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

ANSWERS = {
    "/memory": "列表",
    "/MEMORY": "列表",
    "/memory foo": "没有“foo”这个指令",
    "/记忆 查看": "列表、搜索",
    "/记忆查看": "列表、搜索",
    "/记忆状态": "忆域",
    "/Memory STATUS": "忆域",
    "/memory list2": "没有",
    "/memory forget": "/记忆",
    "/memory import ../x": "管理员",
}
"""What is a command, or nearly one, and what its answer has in it."""


async def test_what_is_nearly_a_command_is_answered_by_us_and_never_by_the_model(
    rig: Rig, room: Place, person: Person
) -> None:
    asked = len(rig.model.requests)
    said = {written: await rig.onebot.ask(room, person, written) for written in ANSWERS}
    assert [one for one in ANSWERS if ANSWERS[one] not in said[one]] == [], said
    assert len(rig.model.requests) == asked
    assert rig.onebot.unread(room) == []
    assert (await rig.turn(room, person, "记忆力不好该吃什么")).requests != []
    here = await rig.onebot.ask(room, person, "/memory scope")
    assert here.count(room.umo) == 2  # the id, and the line to paste


async def test_a_command_knows_its_conversation_its_speaker_and_who_is_an_admin(
    rig: Rig, room: Place, person: Person
) -> None:
    chat, text, other = private(MEMBER), "路由器放在书房的柜顶", "路由器放在书房的窗台"
    assert "只有“测试甲”看得到" in await rig.onebot.ask(chat, MEMBER, f"/记忆 记住 {text}")
    for command in ("list", "search 路由器 书房"):
        assert text in await rig.onebot.ask(ROOM_A, MEMBER, f"/memory {command}")
        for place, reader in ((room, person), (ROOM_B, MEMBER), (private(person), person)):
            assert "柜顶" not in await rig.onebot.ask(place, reader, f"/memory {command}")
    one = memory_id(rig.memory, text)
    edit, forget = f"/memory edit {one} {other}", f"/memory forget {one}"
    for place, who, words in (
        (ROOM_A, MEMBER, edit),
        (ROOM_A, person, forget),
        (ROOM_B, MEMBER, forget),
    ):
        await rig.onebot.ask(place, who, words)
        assert scopes_with(rig.memory, text) == {"测试甲"}
    await rig.onebot.ask(ROOM_A, ADMIN, edit)
    await rig.onebot.ask(ROOM_A, ADMIN, f"/记忆 移动 {one} 测试乙")
    assert scopes_with(rig.memory, other) == {"测试乙"}
    for _ in range(2):
        await rig.onebot.ask(ROOM_A, ADMIN, "/memory undo")
    assert scopes_with(rig.memory, text) == {"测试甲"}
    assert text in (await rig.onebot.ask(ROOM_A, MEMBER, "/记忆 搜索 路由器 书房")).split("\n")[1]
    assert text in await rig.onebot.ask(ROOM_A, MEMBER, "/记忆 忘记 1")
    assert scopes_with(rig.memory, text) == set()
    assert text in await rig.onebot.ask(ROOM_A, MEMBER, "/记忆 撤销")
