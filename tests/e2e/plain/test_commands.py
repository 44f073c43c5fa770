"""`/memory` and `/记忆`, as people write them: in groups and private chats, by speaker, stranger
and admin."""

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, Place, private
from astrbot_plugin_scoped_memory.harness.records import files_with, scopes_with
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.tests.e2e.cast import (
    ADMIN,
    MEMBER,
    ROOM_A,
    ROOM_B,
    added,
    memory_id,
)

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

ANSWERS = {
    "/memory": "列表",
    "/记忆": "列表",
    "/MEMORY": "列表",
    "/memory foo": "没有“foo”这个指令",
    "/记忆 查看": "列表、搜索",
    "/记忆查看": "列表、搜索",
    "/记忆状态": "忆域",
    "/Memory STATUS": "忆域",
    "/memory list2": "没有",
    "/memory forget": "/记忆",
    "/memory forget m-nothing": "没有",
    "/memory import ../x": "管理员",
    "/memory move x": "/记忆",
    "/memory undo": "没有",
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
    version = (await rig.panel.ready())["version"]
    assert version in said["/记忆状态"]
    assert (await rig.turn(room, person, "记忆力不好该吃什么")).requests != []


async def test_scope_tells_the_id_the_scope_and_what_to_paste(
    rig: Rig, room: Place, person: Person
) -> None:
    mapped = await rig.onebot.ask(ROOM_A, MEMBER, "/memory scope")
    assert ROOM_A.umo in mapped
    assert "测试甲" in mapped
    unmapped = await rig.onebot.ask(room, person, "/memory scope")
    assert "public" in unmapped
    assert unmapped.count(room.umo) == 2  # the id, and the line to paste
    assert await rig.onebot.ask(room, person, "/记忆 scope") == unmapped


async def test_who_adds_is_told_who_sees_it_and_it_is_listed_and_found_there_alone(
    rig: Rig, room: Place, person: Person
) -> None:
    chat, text = private(MEMBER), "路由器放在书房的柜顶"
    said = await rig.onebot.ask(chat, MEMBER, f"/记忆 记住 {text}")
    assert "只有“测试甲”看得到" in said
    assert ".md" not in said
    assert scopes_with(rig.memory, text) == {"测试甲"}
    for place in (chat, ROOM_A):
        assert text in await rig.onebot.ask(place, MEMBER, "/memory list")
        assert text in await rig.onebot.ask(place, MEMBER, "/memory search 路由器 书房")
    for place, reader in ((room, person), (ROOM_B, MEMBER), (private(person), person)):
        assert "路由器" not in await rig.onebot.ask(place, reader, "/memory list")
        assert "书房" not in await rig.onebot.ask(place, reader, "/memory search 路由器 柜顶")
    open_to_all = await rig.onebot.ask(room, person, "/记忆 记住 楼下的早餐铺六点开门")
    assert "所有会话都看得到" in open_to_all


async def test_its_speaker_and_an_admin_forget_it_and_nobody_elsewhere(
    rig: Rig, person: Person
) -> None:
    for number, by in enumerate((MEMBER, ADMIN)):
        text = f"第{number}块水表的读数每月十五号抄"
        await added(rig, ROOM_A, MEMBER, text)
        one = memory_id(rig.memory, text)
        for place, who in ((ROOM_A, person), (ROOM_B, MEMBER)):
            await rig.onebot.ask(place, who, f"/memory forget {one}")
            assert scopes_with(rig.memory, text) == {"测试甲"}
        assert text in await rig.onebot.ask(ROOM_A, by, f"/memory forget {one}")
        assert scopes_with(rig.memory, text) == set()
        assert [path for path in files_with(rig.memory, text) if "archive" in path.parts]
        assert text not in await rig.onebot.ask(ROOM_A, MEMBER, "/memory search 水表 读数")


async def test_forget_by_the_number_of_a_search_and_by_a_word(rig: Rig) -> None:
    text, other = "榨汁机的滤网在橱柜上层", "面包机的说明书夹在相册里"
    for one in (text, other):
        await rig.onebot.ask(ROOM_A, MEMBER, f"/记忆 记住 {one}")
    found = await rig.onebot.ask(ROOM_A, MEMBER, "/记忆 搜索 榨汁机 滤网")
    assert text in found.split("\n")[1]
    for words in ("forget 1", "forget 榨汁机"):
        assert text not in await rig.onebot.ask(ROOM_B, ADMIN, f"/memory {words}")
    assert scopes_with(rig.memory, text) == {"测试甲"}
    assert text in await rig.onebot.ask(ROOM_A, MEMBER, "/记忆 忘记 1")
    assert scopes_with(rig.memory, text) == set()
    assert other in await rig.onebot.ask(ROOM_A, MEMBER, "/记忆 忘记 面包机")
    assert scopes_with(rig.memory, other) == set()
    assert other in await rig.onebot.ask(ROOM_A, MEMBER, "/记忆 恢复")
    assert scopes_with(rig.memory, other) == {"测试甲"}


async def test_an_admin_edits_moves_and_takes_both_back(rig: Rig) -> None:
    text, other = "冰箱的保修卡在书柜左边", "冰箱的保修卡在书柜右边"
    await added(rig, ROOM_A, MEMBER, text)
    one = memory_id(rig.memory, text)
    for words in (f"edit {one} {other}", f"move {one} 测试乙"):
        await rig.onebot.ask(ROOM_A, MEMBER, f"/memory {words}")
        assert scopes_with(rig.memory, text) == {"测试甲"}
    await rig.onebot.ask(ROOM_A, ADMIN, f"/memory edit {one} {other}")
    await rig.onebot.ask(ROOM_A, ADMIN, f"/记忆 移动 {one} 测试乙")
    assert scopes_with(rig.memory, other) == {"测试乙"}
    assert other in await rig.onebot.ask(ROOM_B, MEMBER, "/memory search 冰箱 保修卡")
    assert other not in await rig.onebot.ask(ROOM_A, MEMBER, "/memory search 冰箱 保修卡")
    await rig.onebot.ask(ROOM_A, ADMIN, "/memory undo")
    await rig.onebot.ask(ROOM_A, ADMIN, "/memory undo")
    assert scopes_with(rig.memory, text) == {"测试甲"}
    assert text in await rig.onebot.ask(ROOM_A, MEMBER, "/memory search 冰箱 保修卡")
