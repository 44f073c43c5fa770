"""The plugin switched off and on, saved and reloaded, while people keep talking."""

import asyncio
from itertools import cycle

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, Place
from astrbot_plugin_scoped_memory.harness.records import scopes_with
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.script import call
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.tests.e2e.cast import MAP, MEMBER, ROOM_A

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

FRUIT = (
    "苹果",
    "香蕉",
    "樱桃",
    "石榴",
    "荔枝",
    "枇杷",
    "山竹",
    "柚子",
    "杨梅",
    "葡萄",
    "草莓",
    "芒果",
    "橙子",
    "桃子",
    "李子",
    "杏子",
)


async def test_off_and_on_again(rig: Rig) -> None:
    await rig.remember(ROOM_A, MEMBER, "门铃的电池是七号的")
    await rig.panel.enable(enabled=False)
    try:
        turn = await rig.turn(ROOM_A, MEMBER, "门铃的电池是几号的")
        assert turn.first.injected == []
        assert "core_memory_remember" not in turn.first.tool_names
    finally:
        await rig.panel.enable(enabled=True)
        await rig.panel.activated()
    turn = await rig.turn(ROOM_A, MEMBER, "门铃的电池是几号的")
    assert "门铃的电池是七号的" in turn.injected
    assert (await rig.remember(ROOM_A, MEMBER, "钟表的电池是五号的")).split()[0] == "ok"
    assert "钟表的电池是五号的" in await rig.recall(ROOM_A, MEMBER, "钟表的电池")
    assert (await rig.panel.ready())["ready"] is True


@pytest.mark.timeout(240)
async def test_ten_saves_under_traffic_leave_no_message_unanswered_and_lose_nothing(
    rig: Rig, room: Place, person: Person
) -> None:
    acknowledged: list[str] = []
    saving = True

    async def talk() -> None:
        for number, fruit in enumerate(cycle(FRUIT)):
            if not saving:
                return
            judgment = f"第{number}号筐里装的是{fruit}，放在{number % 7}号架子"
            result = await rig.remember(room, person, judgment)
            if result.split()[0] == "ok":
                acknowledged.append(judgment)

    traffic = asyncio.create_task(talk())
    for number in range(10):
        await rig.panel.save(conversation_scope_map=MAP, auto_inject_topk=3 + number % 2)
        before = len(acknowledged)

        async def more(before: int = before) -> bool:
            return traffic.done() or len(acknowledged) > before

        # While a plugin is away AstrBot offers no tools: saves without a pause leave no time.
        await until(more, within=20, what="a memory between two saves")
    saving = False
    await traffic
    await rig.panel.save(auto_inject_topk=3)
    assert len(acknowledged) >= 10
    lost = [
        judgment for judgment in acknowledged if scopes_with(rig.memory, judgment) != {"public"}
    ]
    assert lost == []
    for judgment in acknowledged[:: max(1, len(acknowledged) // 5)]:
        assert judgment in await rig.recall(room, person, judgment)
    assert (await rig.panel.ready())["ready"] is True


async def test_a_tool_of_the_old_instance_is_called_once_more_after_a_reload(
    rig: Rig, room: Place, person: Person
) -> None:
    arguments = {
        "judgment": "旧实例的最后一句话是再见长颈鹿",
        "reasoning": "重载的时候正好在说话。",
        "tags": [],
        "strength": 50,
        "memory_type": "event",
    }
    rig.model.on("重载时记一下", call("core_memory_remember", arguments), then="说完了。")
    start = len(rig.bot.logs())
    rig.model.hold()
    try:
        await rig.onebot.say(room, person, "重载时记一下")
        await rig.model.was_asked("重载时记一下")
        await rig.panel.save(auto_inject_topk=3)
    finally:
        rig.model.release()
    assert await rig.onebot.reply(room) == "说完了。"
    result = rig.model.asked("重载时记一下")[-1].tool_results[0]
    assert result.split()[0] in {"ok", "error"}
    stored = scopes_with(rig.memory, "再见长颈鹿")
    assert stored == ({"public"} if result.split()[0] == "ok" else set())
    assert "Traceback" not in rig.bot.logs()[start:]
    assert (await rig.remember(room, person, "新实例照常记事")).split()[0] == "ok"
