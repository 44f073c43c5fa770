"""Commands as people write them, in a real AstrBot: by number, by word, without a blank."""

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, Place
from astrbot_plugin_scoped_memory.harness.records import files_with, scopes_with
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.tests.e2e.cast import ADMIN, MEMBER, ROOM_A, ROOM_B

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]


async def test_forget_by_the_number_of_a_search_and_by_a_word(rig: Rig) -> None:
    text, other = "榨汁机的滤网在橱柜上层", "面包机的说明书夹在相册里"
    for one in (text, other):
        await rig.onebot.ask(ROOM_A, MEMBER, f"/记忆 记住 {one}")
    found = await rig.onebot.ask(ROOM_A, MEMBER, "/记忆 搜索 榨汁机 滤网")
    assert text in found.split("\n")[1]
    assert text in await rig.onebot.ask(ROOM_A, MEMBER, "/记忆 忘记 1")
    assert scopes_with(rig.memory, text) == set()
    assert other in await rig.onebot.ask(ROOM_A, MEMBER, "/记忆 忘记 面包机")
    assert scopes_with(rig.memory, other) == set()
    assert other in await rig.onebot.ask(ROOM_A, MEMBER, "/记忆 恢复")
    assert scopes_with(rig.memory, other) == {"测试甲"}


async def test_a_number_reaches_into_no_other_scope(rig: Rig) -> None:
    text = "吸尘器的备用袋在楼梯间"
    await rig.onebot.ask(ROOM_A, MEMBER, f"/memory add {text}")
    await rig.onebot.ask(ROOM_A, MEMBER, "/memory search 吸尘器")
    assert text not in await rig.onebot.ask(ROOM_B, ADMIN, "/memory forget 1")
    assert text not in await rig.onebot.ask(ROOM_B, ADMIN, "/memory forget 吸尘器")
    assert scopes_with(rig.memory, text) == {"测试甲"}


@pytest.mark.parametrize(
    ("written", "answer"),
    [
        ("/memory", "列表"),
        ("/记忆", "列表"),
        ("/MEMORY", "列表"),
        ("/memory foo", "没有“foo”这个指令"),
        ("/记忆 查看", "列表、搜索"),
        ("/记忆查看", "列表、搜索"),
        ("/记忆状态", "忆域"),
        ("/Memory STATUS", "忆域"),
        ("/memory list2", ""),
    ],
)
async def test_what_is_nearly_a_command_is_answered_by_us_and_never_by_the_model(
    rig: Rig, room: Place, person: Person, written: str, answer: str
) -> None:
    marked = f"{written} 烟囱{room.number}" if "foo" in written or "查看" in written else written
    asked = len(rig.model.asked(marked.strip("/")))
    said = await rig.onebot.ask(room, person, marked)
    assert answer in said
    assert "收到：" not in said  # as the model answers
    assert len(rig.model.asked(marked.strip("/"))) == asked
    assert "参数不足" not in said
    assert rig.onebot.unread(room) == []
    assert not files_with(rig.memory, f"烟囱{room.number}")


async def test_talk_that_begins_with_the_word_goes_to_the_model(
    rig: Rig, room: Place, person: Person
) -> None:
    turn = await rig.turn(room, person, "记忆力不好该吃什么")
    assert turn.first


async def test_a_member_is_told_who_sees_it_and_no_path(
    rig: Rig, room: Place, person: Person
) -> None:
    said = await rig.onebot.ask(ROOM_A, MEMBER, "/记忆 记住 浇花的水壶在阳台")
    assert "只有“测试甲”看得到" in said
    assert ".md" not in said
    open_to_all = await rig.onebot.ask(room, person, "/记忆 记住 楼下的早餐铺六点开门")
    assert "所有会话都看得到" in open_to_all


async def test_who_is_asked_about_is_told_of_facts_first(
    rig: Rig, room: Place, person: Person
) -> None:
    for text in ("大伟是做产品经理的", "大伟不吃香菜"):
        await rig.onebot.ask(ROOM_A, MEMBER, f"/记忆 记住 {text}")
    turn = await rig.turn(ROOM_A, MEMBER, "介绍一下大伟")
    assert "产品经理" in turn.injected
    assert "不吃香菜" in turn.injected
    elsewhere = await rig.turn(room, person, "介绍一下大伟")
    assert "产品经理" not in elsewhere.first.everything
