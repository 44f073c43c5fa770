"""Telegram beside OneBot in one bot: groups, topics, private chats, and people in both."""

import pytest

from astrbot_plugin_scoped_memory.harness.places import ADAPTER, TELEGRAM, Person, Place, group
from astrbot_plugin_scoped_memory.harness.records import scopes_with
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.telegram import USERNAME, Telegram

pytestmark = [
    pytest.mark.astrbot,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(240),
]

ROOM = Place("group", -1001234, TELEGRAM)
TOPIC = Place("group", -1001234, TELEGRAM, 7)
OWN_TOPIC = Place("group", -1001234, TELEGRAM, 9)
OTHER = Place("group", -1005678, TELEGRAM)
SMALL, GROWN = Place("group", -4242, TELEGRAM), Place("group", -1004242, TELEGRAM)
QQ = group(581)
MING, HONG = Person(4201, "小明"), Person(4202, "小红", "hong")
MING_QQ = Person(5811, "明明")


async def test_scopes_hold_in_telegram_and_across_to_onebot(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    config = {
        "conversation_scope_map": {
            ROOM.umo: "家人",
            QQ.umo: "家人",
            OWN_TOPIC.umo: "工作",
            OTHER.umo: "邻居",
            SMALL.umo: "姐妹",
        },
        "dm_scope": "per-peer",
        "identity_links": {f"{TELEGRAM}:4201": "小明", f"{ADAPTER}:5811": "小明"},
    }
    telegram = Telegram()
    root = tmp_path_factory.mktemp("telegram-bot")
    async with Rig(root, admins=[4201], config=config, telegram=telegram) as rig:
        await rig.panel.ready()
        result = await rig.remember(ROOM, HONG, "露营的帐篷放在阁楼里")
        assert result.split()[0] == "ok"
        assert scopes_with(rig.memory, "露营的帐篷放在阁楼里") == {"家人"}
        for number, place in enumerate((TOPIC, QQ)):
            turn = await rig.turn(place, MING, f"露营的帐篷放在哪里，第{number}次问")
            assert "露营的帐篷放在阁楼里" in turn.injected
            assert "hong" in turn.injected
        alone = Place("private", HONG.user_id, TELEGRAM)
        for number, place in enumerate((OWN_TOPIC, OTHER, alone)):
            turn = await rig.turn(place, HONG, f"露营的帐篷在哪儿，又问{number}次")
            assert "阁楼" not in turn.first.everything
        result = await rig.remember(
            Place("private", MING.user_id, TELEGRAM), MING, "备用钥匙在花盆下面"
        )
        assert result.split()[0] == "ok"
        turn = await rig.turn(Place("private", 5811), MING_QQ, "备用钥匙在哪里")
        assert "备用钥匙在花盆下面" in turn.injected
        turn = await rig.turn(alone, HONG, "备用钥匙在哪里呢")
        assert "花盆" not in turn.first.everything

        turn = await rig.turn(TOPIC, MING, f"/memory@{USERNAME} scope")
        assert turn.requests == []
        assert "家人" in turn.reply
        assert "memory" in {entry["command"] for entry in telegram.menu}

        # A group becomes a supergroup: it is another id, and the same people.
        result = await rig.remember(SMALL, HONG, "王姐下周去医院做手术")
        assert result.split()[0] == "ok"
        telegram.upgrade(SMALL, GROWN, HONG)
        turn = await rig.turn(GROWN, HONG, "王姐下周做什么")
        assert "做手术" in turn.injected
        result = await rig.remember(GROWN, HONG, "手术安排在市一院")
        assert scopes_with(rig.memory, "手术安排在市一院") == {"姐妹"}
        turn = await rig.turn(Place("group", -1009999, TELEGRAM), MING, "王姐下周做什么呢")
        assert "手术" not in turn.first.everything
        shown = (await rig.panel.config())["conversation_scope_map"]
        assert (shown.get(SMALL.umo), shown[GROWN.umo]) == (None, "姐妹")
