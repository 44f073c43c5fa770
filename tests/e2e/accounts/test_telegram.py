"""Telegram beside OneBot in one bot: groups, topics, private chats, and people in both; and an
account that gets another name."""

import json
from collections.abc import AsyncGenerator, Callable

import pytest

from astrbot_plugin_scoped_memory.harness.places import ADAPTER, TELEGRAM, Person, Place, group
from astrbot_plugin_scoped_memory.harness.records import scopes_with
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.tests.e2e.accounts.bot_api import USERNAME, Telegram
from astrbot_plugin_scoped_memory.tests.e2e.bots import through_a_kill
from astrbot_plugin_scoped_memory.tests.e2e.cast import added, sees, stored, warned

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

ROOM = Place("group", -1001234, TELEGRAM)
TOPIC = Place("group", -1001234, TELEGRAM, 7)
OWN_TOPIC = Place("group", -1001234, TELEGRAM, 9)
OTHER = Place("group", -1005678, TELEGRAM)
SMALL, GROWN = Place("group", -4242, TELEGRAM), Place("group", -1004242, TELEGRAM)
QQ, WORK = group(581), group(701)
RENAMED = "xiaobao"
MING, HONG = Person(4201, "小明"), Person(4202, "小红", "hong")
MING_QQ = Person(5811, "明明")
MINGS_CHAT, HONGS_CHAT = (Place("private", one.user_id, TELEGRAM) for one in (MING, HONG))


async def test_scopes_hold_in_telegram_and_across_to_onebot(rig: Rig) -> None:
    await rig.panel.ready()
    await stored(rig, ROOM, HONG, "露营的帐篷放在阁楼里")
    assert scopes_with(rig.memory, "露营的帐篷放在阁楼里") == {"家人"}
    for number, place in enumerate((TOPIC, QQ)):
        turn = await rig.turn(place, MING, f"露营的帐篷放在哪里，第{number}次问")
        assert "露营的帐篷放在阁楼里" in turn.injected
        assert "hong" in turn.injected
    for number, place in enumerate((OWN_TOPIC, OTHER, HONGS_CHAT)):
        turn = await rig.turn(place, HONG, f"露营的帐篷在哪儿，又问{number}次")
        assert "阁楼" not in turn.first.everything
    turn = await rig.turn(TOPIC, MING, f"/memory@{USERNAME} scope")
    assert turn.requests == []
    assert "家人" in turn.reply
    assert isinstance(rig.telegram, Telegram)
    assert "memory" in {entry["command"] for entry in rig.telegram.menu}


async def test_private_chats_are_apart_until_a_link_joins_them_across_accounts(rig: Rig) -> None:
    await stored(rig, MINGS_CHAT, MING, "备用钥匙在花盆下面")
    (scope,) = scopes_with(rig.memory, "备用钥匙在花盆下面")
    assert scope.startswith("dm-")
    assert await sees(rig, Place("private", 5811), MING_QQ, "备用钥匙在哪里", "花盆下面")
    stranger = Place("private", 5812, ADAPTER)
    for place, who in ((HONGS_CHAT, HONG), (stranger, Person(5812, "阿己"))):
        assert not await sees(rig, place, who, "备用钥匙在哪里呢", "花盆")


async def test_a_group_that_becomes_a_supergroup_is_another_id_and_the_same_people(
    rig: Rig,
) -> None:
    await stored(rig, SMALL, HONG, "王姐下周去医院做手术")
    assert isinstance(rig.telegram, Telegram)
    rig.telegram.upgrade(SMALL, GROWN, HONG)
    turn = await rig.turn(GROWN, HONG, "王姐下周做什么")
    assert "做手术" in turn.injected
    await stored(rig, GROWN, HONG, "手术安排在市一院")
    assert scopes_with(rig.memory, "手术安排在市一院") == {"姐妹"}
    turn = await rig.turn(Place("group", -1009999, TELEGRAM), MING, "王姐下周做什么呢")
    assert "手术" not in turn.first.everything
    shown = (await rig.panel.config())["conversation_scope_map"]
    assert (shown.get(SMALL.umo), shown[GROWN.umo]) == (None, "姐妹")


@through_a_kill
async def test_a_renamed_account_publishes_nothing_until_its_map_is_repaired(
    rig: Rig,
) -> AsyncGenerator[Callable[[], object]]:
    settings = rig.bot.data / "cmd_config.json"

    def rename() -> None:
        text = json.loads(settings.read_text(encoding="utf-8-sig"))
        text["platform"][0]["id"] = RENAMED
        settings.write_text(json.dumps(text, ensure_ascii=False), encoding="utf-8")

    text = "爷爷的降压药在床头柜"
    for place in (QQ, WORK):
        await added(rig, place, MING_QQ, f"{place.number}号的灯昨天换了")
    yield rename
    for place in (QQ, WORK):
        assert await added(rig, place, MING_QQ, text) == set()
    await warned(rig, "会话表")
    repaired = {
        f"{RENAMED}:GroupMessage:{QQ.number}": "家人",
        f"{RENAMED}:GroupMessage:{WORK.number}": "公司",
    }
    held = (await rig.panel.config())["conversation_scope_map"]
    await rig.panel.map_scopes(held | repaired)
    await rig.panel.ready()
    assert await added(rig, QQ, MING_QQ, text) == {"家人"}
