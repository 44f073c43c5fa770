"""Where unmapped private chats go, by mode and by account, what a new name leaves behind, and what
the filter's emergency switch does."""

import pytest

from astrbot_plugin_scoped_memory.harness.logs import plugin_lines
from astrbot_plugin_scoped_memory.harness.places import ADAPTER, Person, Place, group, private
from astrbot_plugin_scoped_memory.harness.records import scopes_with
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.script import call
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.tests.e2e.cast import ADMIN, rows, saves, sees, stored

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

FAMILY, ROOM = group(581), group(582)
FIRST, SECOND = Person(5811, "阿壬"), Person(5812, "阿癸")


async def kept_in(rig: Rig, place: Place, person: Person, text: str) -> str:
    """Stores it; the one scope that has it."""
    await stored(rig, place, person, text)
    (scope,) = scopes_with(rig.memory, text)
    return scope


async def test_private_chats_go_where_mode_account_and_links_say_and_what_is_left_is_brought(
    rig: Rig,
) -> None:
    first, second, office = private(FIRST), private(SECOND), private(ADMIN)
    await saves(rig, dm_scope="per-peer", advanced={"dm_scope_by_account": {ADAPTER: "main"}})
    shared = await kept_in(rig, first, FIRST, "地窖的酒是外公酿的")
    assert shared.startswith("dm-main-")
    assert await sees(rig, second, SECOND, "地窖的酒是谁酿的", "外公酿的")
    for place in (ROOM, FAMILY):
        assert not await sees(rig, place, FIRST, "地窖的酒到底是谁酿的", "外公酿的")
    said = await rig.onebot.ask(first, FIRST, "/memory scope")
    assert "advanced.dm_scope_by_account = main" in said

    await saves(rig, advanced={"dm_scope_by_account": {ADAPTER: "perpeer"}})
    assert (await rig.remember(first, FIRST, "这一句哪里也不能去")).split()[0] == "error"
    assert scopes_with(rig.memory, "这一句哪里也不能去") == set()
    warnings = (await rig.panel.ready())["warnings"]
    assert any("dm_scope_by_account" in warning and ADAPTER in warning for warning in warnings)

    await saves(rig, advanced={"dm_scope_by_account": {"another": "public"}})
    own = await kept_in(rig, first, FIRST, "渔具借给了对门的老张")
    assert own.startswith(f"dm-{FIRST.user_id}-")
    assert await sees(rig, first, FIRST, "渔具借给了谁", "对门的老张")
    assert not await sees(rig, second, SECOND, "渔具借给了谁呢", "对门的老张")
    assert not await sees(rig, first, FIRST, "地窖的酒还剩谁酿的", "外公酿的")
    former = await kept_in(rig, second, SECOND, "望远镜的三脚架在阁楼")

    await saves(rig, identity_links={f"{ADAPTER}:{SECOND.user_id}": "阿癸"})
    assert not await sees(rig, second, SECOND, "望远镜的三脚架在哪里", "在阁楼")
    told = await rig.onebot.ask(second, SECOND, "/memory scope")
    assert f"/记忆 域 带来 {former}" in told
    for place, who in ((first, FIRST), (office, ADMIN)):
        assert former not in await rig.onebot.ask(place, who, "/memory scope")
    (left,) = [one for one in (await rig.panel.ready())["left_behind"] if one["scope"] == former]
    assert left["memories"] == 1
    await rig.onebot.ask(second, SECOND, "/memory scope bring")
    assert scopes_with(rig.memory, "望远镜的三脚架在阁楼") == {former}
    await rig.onebot.ask(office, ADMIN, f"/记忆 域 带来 {former}")
    assert scopes_with(rig.memory, "望远镜的三脚架在阁楼") == {left["belongs_to"]}
    assert await sees(rig, second, SECOND, "望远镜的三脚架到底在哪里", "在阁楼")
    assert not await sees(rig, first, FIRST, "望远镜的三脚架在哪", "在阁楼")
    await rig.onebot.ask(office, ADMIN, "/memory undo")
    assert scopes_with(rig.memory, "望远镜的三脚架在阁楼") == {former}
    turn = await rig.turn(second, SECOND, "那么望远镜的三脚架在哪里")
    assert "在阁楼" not in turn.injected
    await saves(rig, dm_scope="public", identity_links={}, advanced={"dm_scope_by_account": {}})


async def test_the_filter_is_switched_off_and_on_in_the_middle_of_turns(rig: Rig) -> None:
    """Off: all is read, nothing stored; on again: as before; and no turn is lost with it."""
    secret, kept = "保险柜的说明书夹在菜谱里", "过滤开关拨动时记的一句"
    await stored(rig, FAMILY, FIRST, secret)
    assert not await sees(rig, ROOM, SECOND, "保险柜的说明书在哪里", "菜谱")

    async def switched(words: str, *, enabled: bool) -> str:
        """A turn that begins before the switch and ends after it; what its reader was shown."""
        rounds = (
            call("core_memory_recall", {"query": secret, "limit": 5}),
            call("core_memory_remember", {"judgment": kept}),
        )
        rig.model.on(words, rounds, then=f"答：{secret}")
        rig.model.hold()
        try:
            await rig.onebot.say(ROOM, SECOND, f"{words}，{kept}")
            await rig.model.was_asked(words)
            await saves(rig, advanced={"scope_filter_enabled": enabled})
        finally:
            rig.model.release()
        assert await rig.onebot.reply(ROOM) == f"答：{secret}"
        return rig.model.asked(words)[0].everything

    assert "菜谱" not in await switched("保险柜说明书在哪里，一问", enabled=False)
    assert scopes_with(rig.memory, kept) == set()
    assert await sees(rig, ROOM, SECOND, "保险柜的说明书到底在哪里", "菜谱")
    assert (await rig.remember(ROOM, SECOND, "关着过滤时说的话")).split()[0] == "error"
    assert any("过滤" in warning for warning in (await rig.panel.ready())["warnings"])
    assert "菜谱" in await switched("保险柜说明书在哪里，二问", enabled=True)
    assert scopes_with(rig.memory, "关着过滤时说的话") == set()

    async def probe() -> str | None:
        query = "SELECT user_text, reply_text FROM turn"
        turns = rows(rig.bot.plugin_data / "state" / "loop.sqlite", query)
        return next(("\n".join(turn) for turn in turns if "二问" in turn[0]), None)

    assert "菜谱" not in await until(probe, within=30, what="the queued turn")
    assert not await sees(rig, ROOM, SECOND, "保险柜的说明书夹在哪儿", "菜谱里")


async def test_the_log_names_the_scope_and_the_model_is_not_told_of_it(rig: Rig) -> None:
    await rig.onebot.ask(FAMILY, FIRST, "/memory add 鱼缸的滤芯三个月一换")
    start = len(rig.bot.logs())
    turn = await rig.turn(FAMILY, FIRST, "鱼缸的滤芯多久一换")
    assert "鱼缸的滤芯三个月一换" in turn.injected
    told = [line for line in plugin_lines(rig.bot.logs()[start:]) if FAMILY.umo in line]
    assert any("附上" in line and "家里" in line for line in told)
    assert "家里" not in turn.injected
    assert "家里" not in turn.first.system
