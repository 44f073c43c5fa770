"""What the plugin tells its owner: the status route and the log."""

import pytest

from astrbot_plugin_scoped_memory.harness.logs import plugin_lines
from astrbot_plugin_scoped_memory.harness.places import Person, Place, group
from astrbot_plugin_scoped_memory.harness.records import scopes_with
from astrbot_plugin_scoped_memory.harness.release import PLUGIN
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.tests.e2e.cast import MAP, MEMBER, ROOM_A

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

STATUS = f"/api/v1/plugins/extensions/{PLUGIN}/status"


async def test_the_status_needs_a_login(rig: Rig) -> None:
    assert await rig.panel.without_login(STATUS) == 401


async def test_the_status_has_the_documented_keys(rig: Rig) -> None:
    status = await rig.panel.ready()
    assert set(status) >= {
        "version",
        "ready",
        "embedder",
        "memories",
        "migration",
        "queue",
        "warnings",
    }
    assert status["ready"] is True
    assert set(status["memories"]) >= {"total", "by_scope"}
    assert status["memories"]["total"] == sum(status["memories"]["by_scope"].values())
    assert set(status["migration"]) >= {"state", "scanned", "patched", "skipped", "remaining"}
    assert status["migration"]["state"] == "idle"
    assert isinstance(status["queue"], int)
    assert isinstance(status["warnings"], list)
    assert isinstance(status["embedder"], str)


async def test_the_status_counts_the_memories_of_the_vault(rig: Rig) -> None:
    before = (await rig.panel.ready())["memories"]
    await rig.remember(ROOM_A, MEMBER, "雨伞在玄关的铁桶里")
    after = (await rig.panel.ready())["memories"]
    assert after["total"] == before["total"] + 1
    assert after["by_scope"]["测试甲"] == before["by_scope"].get("测试甲", 0) + 1


async def test_a_typo_in_the_map_warns_by_id_and_its_conversation_reads_public_only(
    rig: Rig, room: Place, person: Person
) -> None:
    broken = group(599)
    await rig.remember(room, person, "社区医院周末只开半天")
    await rig.panel.map_scopes({**MAP, broken.umo: "家 人!"})
    try:
        status = await rig.panel.ready()
        assert any(broken.umo in str(warning) for warning in status["warnings"])
        turn = await rig.turn(broken, person, "社区医院周末开半天吗")
        assert "社区医院周末只开半天" in turn.injected
        result = await rig.remember(broken, person, "这句话不能变成公共的秘密")
        assert result.split()[0] == "error"
        assert scopes_with(rig.memory, "这句话不能变成公共的秘密") == set()
    finally:
        await rig.panel.map_scopes(MAP)
    status = await rig.panel.ready()
    assert not any(broken.umo in str(warning) for warning in status["warnings"])


async def test_no_chat_text_is_logged_above_debug(rig: Rig, person: Person) -> None:
    start = len(rig.bot.logs())
    await rig.remember(ROOM_A, person, "绝密词语青铜河马在阁楼", reasoning="绝密词语银色犀牛")
    await rig.turn(ROOM_A, person, "青铜河马在哪里，绝密词语紫色海豹")
    await rig.recall(ROOM_A, person, "青铜河马 绝密词语")
    await rig.onebot.ask(ROOM_A, person, "/memory search 青铜河马")
    await rig.onebot.ask(ROOM_A, person, "/memory add 绝密词语白色鲸鱼喜欢唱歌")
    ours = "\n".join(plugin_lines(rig.bot.logs()[start:]))
    for words in ("绝密", "青铜", "银色犀牛", "紫色海豹", "白色鲸鱼"):
        assert words not in ours


async def test_the_start_prints_a_summary_of_the_map(rig: Rig) -> None:
    ours = "\n".join(plugin_lines(rig.bot.logs(all_starts=True)))
    for umo, scope in MAP.items():
        assert umo in ours
        assert scope in ours


async def test_a_new_conversation_is_printed_once_with_the_line_to_paste(
    rig: Rig, room: Place, person: Person
) -> None:
    start = len(rig.bot.logs())
    await rig.turn(room, person, "大家好")
    told = [line for line in plugin_lines(rig.bot.logs()[start:]) if room.umo in line]
    assert len(told) == 1
    await rig.turn(room, person, "又见面了")
    again = [line for line in plugin_lines(rig.bot.logs()[start:]) if room.umo in line]
    assert again == told
