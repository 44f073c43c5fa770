"""Where unmapped private chats go, in each mode and for single accounts, and what the filter's
emergency switch does."""

import sqlite3

import pytest
import pytest_asyncio

from astrbot_plugin_scoped_memory.harness.logs import plugin_lines
from astrbot_plugin_scoped_memory.harness.places import ADAPTER, Person, Place, group, private
from astrbot_plugin_scoped_memory.harness.records import scopes_with
from astrbot_plugin_scoped_memory.harness.rig import PATIENCE, Rig
from astrbot_plugin_scoped_memory.harness.script import call
from astrbot_plugin_scoped_memory.harness.waiting import until

pytestmark = [
    pytest.mark.astrbot,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(240),
]

FAMILY = group(581)
ROOM = group(582)
FIRST, SECOND = Person(5811, "阿壬"), Person(5812, "阿癸")
ADMIN = Person(5800, "管理员")
ADVANCED = PATIENCE["advanced"]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def running(queueing: Rig) -> Rig:
    """Its turns are queued and not read before a day."""
    await queueing.panel.ready()
    return queueing


async def save(rig: Rig, *, advanced: dict[str, object] | None = None, **changes: object) -> None:
    """Saves these settings, and waits until the plugin is back."""
    held = (await rig.panel.config())["advanced"]
    await rig.panel.save(**changes, advanced={**held, **(advanced or {})})
    await rig.panel.ready()


async def sees(rig: Rig, place: Place, person: Person, words: str, secret: str) -> bool:
    """Whether the memory shows anything of a secret in a turn or through the tool. What AstrBot's
    own history of the chat holds is none of it."""
    turn = await rig.turn(place, person, words)
    return secret in turn.injected or secret in await rig.recall(place, person, words)


async def test_each_mode_keeps_private_chats_where_it_says(running: Rig) -> None:
    rig = running
    first, second = private(FIRST), private(SECOND)
    await save(rig, dm_scope="public")
    assert (await rig.remember(first, FIRST, "阁楼的灯泡是螺口的")).split()[0] == "ok"
    assert scopes_with(rig.memory, "阁楼的灯泡是螺口的") == {"public"}
    assert await sees(rig, ROOM, SECOND, "阁楼的灯泡是什么口的", "螺口的")

    await save(rig, dm_scope="main")
    assert (await rig.remember(first, FIRST, "地窖的酒是外公酿的")).split()[0] == "ok"
    (shared,) = scopes_with(rig.memory, "地窖的酒是外公酿的")
    assert shared.startswith("dm-main-")
    assert await sees(rig, second, SECOND, "地窖的酒是谁酿的", "外公酿的")
    for place in (ROOM, FAMILY):
        assert not await sees(rig, place, FIRST, "地窖的酒到底是谁酿的", "外公酿的")

    await save(rig, dm_scope="per-peer")
    assert (await rig.remember(first, FIRST, "渔具借给了对门的老张")).split()[0] == "ok"
    (own,) = scopes_with(rig.memory, "渔具借给了对门的老张")
    assert own.startswith(f"dm-{FIRST.user_id}-")
    assert await sees(rig, first, FIRST, "渔具借给了谁", "对门的老张")
    assert not await sees(rig, second, SECOND, "渔具借给了谁呢", "对门的老张")
    assert not await sees(rig, first, FIRST, "地窖的酒还剩谁酿的", "外公酿的")


async def test_an_account_goes_by_its_own_mode_and_a_bad_one_reads_public_only(
    running: Rig,
) -> None:
    rig = running
    first = private(FIRST)
    await save(rig, dm_scope="public", advanced={"dm_scope_by_account": {ADAPTER: "per-peer"}})
    assert (await rig.remember(first, FIRST, "露台的花盆底下有备用钥匙")).split()[0] == "ok"
    (own,) = scopes_with(rig.memory, "露台的花盆底下有备用钥匙")
    assert own.startswith(f"dm-{FIRST.user_id}-")
    said = await rig.onebot.ask(first, FIRST, "/memory scope")
    assert "advanced.dm_scope_by_account = per-peer" in said

    await save(rig, advanced={"dm_scope_by_account": {ADAPTER: "perpeer"}})
    result = await rig.remember(first, FIRST, "这一句哪里也不能去")
    assert result.split()[0] == "error"
    assert scopes_with(rig.memory, "这一句哪里也不能去") == set()
    warnings = (await rig.panel.ready())["warnings"]
    assert any("dm_scope_by_account" in warning and ADAPTER in warning for warning in warnings)

    await save(rig, dm_scope="per-peer", advanced={"dm_scope_by_account": {"another": "public"}})
    assert (await rig.remember(first, FIRST, "天窗的把手松了")).split()[0] == "ok"
    assert scopes_with(rig.memory, "天窗的把手松了") == {own}
    await save(rig, dm_scope="public", advanced={"dm_scope_by_account": {}})


async def test_with_the_filter_off_all_is_read_nothing_stored_and_on_again_all_is_as_before(
    running: Rig,
) -> None:
    rig = running
    secret = "存折的密封袋在琴凳里面"
    assert (await rig.remember(FAMILY, FIRST, secret)).split()[0] == "ok"
    assert not await sees(rig, ROOM, SECOND, "存折的密封袋在哪里", "琴凳")
    await save(rig, advanced={"scope_filter_enabled": False})
    assert await sees(rig, ROOM, SECOND, "存折的密封袋到底在哪里", "琴凳")
    result = await rig.remember(ROOM, SECOND, "关着过滤时说的话")
    assert result.split()[0] == "error"
    assert any("过滤" in warning for warning in (await rig.panel.ready())["warnings"])
    await save(rig, advanced={"scope_filter_enabled": True})
    assert scopes_with(rig.memory, "关着过滤时说的话") == set()
    turn = await rig.turn(ROOM, SECOND, "那么存折的密封袋在哪里")
    assert "琴凳" not in turn.injected


async def test_the_filter_is_switched_in_mid_turn(running: Rig) -> None:
    rig = running
    secret = "保险柜的说明书夹在菜谱里"
    assert (await rig.remember(FAMILY, FIRST, secret)).split()[0] == "ok"
    arguments = {
        "judgment": "过滤开关拨动时记的一句",
        "reasoning": "正好在说话。",
        "tags": [],
        "strength": 50,
        "memory_type": "event",
    }

    async def switched(words: str, *, enabled: bool) -> str:
        """A turn that begins before the switch and ends after it; what its tools answered."""
        rounds = (
            call("core_memory_recall", {"query": secret, "limit": 5}),
            call("core_memory_remember", arguments),
        )
        rig.model.on(words, rounds, then=f"答：{secret}")
        rig.model.hold()
        try:
            await rig.onebot.say(ROOM, SECOND, words)
            await rig.model.was_asked(words)
            await save(rig, advanced={"scope_filter_enabled": enabled})
        finally:
            rig.model.release()
        assert await rig.onebot.reply(ROOM) == f"答：{secret}"
        return "\n".join(rig.model.asked(words)[-1].tool_results)

    await switched("保险柜说明书在哪里，一问", enabled=False)
    assert scopes_with(rig.memory, "过滤开关拨动时记的一句") == set()
    shown = rig.model.asked("保险柜说明书在哪里，一问")[0]
    assert "菜谱" not in shown.everything
    await switched("保险柜说明书在哪里，二问", enabled=True)
    shown = rig.model.asked("保险柜说明书在哪里，二问")[0]
    assert "菜谱" in shown.everything  # it began with the filter off
    queued = await until(lambda: _queued(rig, "二问"), within=30, what="the queued turn")
    assert "菜谱" not in queued  # what the bot said of it is learned by nobody
    assert not await sees(rig, ROOM, SECOND, "保险柜的说明书夹在哪儿", "菜谱里")


async def _queued(rig: Rig, words: str) -> str | None:
    """The turn with these words as it is queued, None while there is none."""
    uri = f"file:{rig.bot.plugin_data / 'state' / 'loop.sqlite'}?mode=ro"
    with sqlite3.connect(uri, uri=True) as connection:
        rows = connection.execute("SELECT user_text, reply_text FROM turn").fetchall()
    return next(("\n".join(row) for row in rows if words in row[0]), None)


async def test_the_log_names_the_scope_and_the_model_is_not_told_of_it(running: Rig) -> None:
    rig = running
    await rig.onebot.ask(FAMILY, FIRST, "/memory add 鱼缸的滤芯三个月一换")
    start = len(rig.bot.logs())
    turn = await rig.turn(FAMILY, FIRST, "鱼缸的滤芯多久一换")
    assert "鱼缸的滤芯三个月一换" in turn.injected
    told = [line for line in plugin_lines(rig.bot.logs()[start:]) if FAMILY.umo in line]
    assert any("附上" in line and "家里" in line for line in told)
    assert "家里" not in turn.injected
    assert "家里" not in turn.first.system


async def test_each_start_logs_a_conversations_id_once_and_names_the_map(running: Rig) -> None:
    rig = running
    for _ in range(2):
        start = len(rig.bot.logs())
        await save(rig, auto_inject_topk=3)
        for words in ("早上好", "晚上好"):
            await rig.turn(ROOM, SECOND, words)
        lines = plugin_lines(rig.bot.logs()[start:])
        told = [line for line in lines if ROOM.umo in line and "conversation_scope_map" in line]
        assert len(told) == 1


async def test_the_migration_mode_is_told(running: Rig) -> None:
    rig = running
    migration = (await rig.panel.ready())["migration"]
    assert (migration["mode"], migration["mode_on"]) == ("auto", False)
    await save(rig, advanced={"migration_mode": "off"})
    assert (await rig.panel.ready())["migration"]["mode"] == "off"
    said = await rig.onebot.ask(private(ADMIN), ADMIN, "/memory migrate")
    assert "advanced.migration_mode = off" in said
    await save(rig, advanced={"migration_mode": "auto"})


async def test_what_a_new_name_leaves_behind_is_told_brought_along_and_taken_back(
    running: Rig,
) -> None:
    rig = running
    chat, office = private(SECOND), private(ADMIN)
    await save(rig, dm_scope="per-peer")
    assert (await rig.remember(chat, SECOND, "望远镜的三脚架在阁楼")).split()[0] == "ok"
    (former,) = scopes_with(rig.memory, "望远镜的三脚架在阁楼")
    await save(rig, identity_links={f"{ADAPTER}:{SECOND.user_id}": "阿癸"})
    assert not await sees(rig, chat, SECOND, "望远镜的三脚架在哪里", "在阁楼")

    told = await rig.onebot.ask(chat, SECOND, "/memory scope")
    assert f"/记忆 域 带来 {former}" in told
    assert former not in await rig.onebot.ask(private(FIRST), FIRST, "/memory scope")
    assert former not in await rig.onebot.ask(office, ADMIN, "/memory scope")
    (left,) = [one for one in (await rig.panel.ready())["left_behind"] if one["scope"] == former]
    assert left["memories"] == 1
    assert left["belongs_to"] != former

    await rig.onebot.ask(chat, SECOND, "/memory scope bring")
    assert scopes_with(rig.memory, "望远镜的三脚架在阁楼") == {former}
    await rig.onebot.ask(office, ADMIN, f"/记忆 域 带来 {former}")
    assert scopes_with(rig.memory, "望远镜的三脚架在阁楼") == {left["belongs_to"]}
    assert await sees(rig, chat, SECOND, "望远镜的三脚架到底在哪里", "在阁楼")
    assert not await sees(rig, private(FIRST), FIRST, "望远镜的三脚架在哪", "在阁楼")

    await rig.onebot.ask(office, ADMIN, "/memory undo")
    assert scopes_with(rig.memory, "望远镜的三脚架在阁楼") == {former}
    turn = await rig.turn(chat, SECOND, "那么望远镜的三脚架在哪里")
    assert "在阁楼" not in turn.injected
    await save(rig, dm_scope="public", identity_links={})
