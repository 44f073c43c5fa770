"""The scope map: short and mistyped keys in the panel, `/memory scope 家人` in chat, a renamed
account, a copied folder."""

import asyncio
import json
import shutil
from collections.abc import AsyncGenerator, Callable

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, Place, group, private
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.tests.e2e.bots import bot, through_a_kill
from astrbot_plugin_scoped_memory.tests.e2e.cast import added

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

rig = bot("mapped")
ADMIN, MEMBER = Person(9100, "管理员"), Person(8811, "阿家")
FAMILY, WORK, CLUB = group(777_001), group(888_002), group(999_003)
RENAMED = "xiaobao"
KEY = "conversation_scope_map"


async def warnings(rig: Rig) -> str:
    """What the status warns of."""
    return "\n".join((await rig.panel.ready())["warnings"])


async def mapped(rig: Rig) -> dict[str, str]:
    """The map as the panel shows it."""
    shown: dict[str, str] = (await rig.panel.config())[KEY]
    return shown


async def test_short_keys_are_understood_and_an_unreadable_one_publishes_nothing(rig: Rig) -> None:
    assert await added(rig, FAMILY, MEMBER, "奶奶对花生过敏，别放坚果") == {"家人"}
    assert await added(rig, WORK, MEMBER, "报表每周五下午四点交") == set()
    said = await rig.onebot.ask(WORK, MEMBER, "/memory scope")
    assert "只能读公共记忆" in said
    assert str(WORK.number) in said
    assert f"{WORK.umo} → 公司" in await warnings(rig)
    assert await added(rig, CLUB, MEMBER, "图书馆每周一闭馆") == {"public"}


async def test_two_groups_share_what_an_admin_mapped_in_chat_and_a_member_cannot(
    rig: Rig, room: Place
) -> None:
    cousins, chat = group(room.number + 50_000), private(Person(8201, "阿婶"))
    for place in (room, cousins):
        said = await rig.onebot.ask(place, ADMIN, "/记忆 域 亲戚")
        assert "“亲戚”" in said
        assert "/记忆 域 取消" in said
    assert await added(rig, room, MEMBER, "爷爷的假牙泡在蓝杯子里") == {"亲戚"}
    asked = await rig.turn(cousins, MEMBER, "爷爷的假牙在哪里")
    assert "蓝杯子" in asked.injected
    elsewhere = await rig.turn(CLUB, MEMBER, "爷爷的假牙在哪里")
    assert "蓝杯子" not in elsewhere.first.everything
    shown = await mapped(rig)
    assert shown[room.umo] == shown[cousins.umo] == "亲戚"
    assert "只有管理员" in await rig.onebot.ask(CLUB, MEMBER, "/memory scope 亲戚")
    assert await mapped(rig) == shown
    said = await rig.onebot.ask(cousins, ADMIN, "/记忆 域 取消")
    assert "不再有本会话" in said
    assert await added(rig, cousins, MEMBER, "堂弟的生日是六月初九那天") == {"public"}
    turn = await rig.turn(cousins, MEMBER, "那么爷爷的假牙在哪里")
    assert "蓝杯子" not in turn.injected
    assert await added(rig, chat, Person(8201, "阿婶"), "周末打算去爬香山看红叶") == {"public"}


async def test_a_turn_that_goes_on_meanwhile_is_answered(rig: Rig, room: Place) -> None:
    words = "今天的晚饭吃什么好呢"
    rig.model.hold()
    try:
        await rig.onebot.say(room, MEMBER, words)
        await rig.model.was_asked(words)
        await rig.onebot.say(room, ADMIN, "/memory scope 晚饭")
    finally:
        rig.model.release()
    answers = [await rig.onebot.reply(room) for _ in range(2)]
    assert len([one for one in answers if "“晚饭”" in one]) == 1
    assert await added(rig, room, MEMBER, "晚饭轮到阿家做红烧肉") == {"晚饭"}


async def test_what_cannot_be_written_is_not_done(rig: Rig, room: Place) -> None:
    file = rig.bot.plugin_config
    aside = file.with_name("aside.json")
    file.rename(aside)
    file.mkdir()  # whoever runs the tests may be root, who writes everywhere else
    try:
        assert "没能写入" in await rig.onebot.ask(room, ADMIN, "/memory scope 密室")
    finally:
        file.rmdir()
        aside.rename(file)
    assert room.umo not in await mapped(rig)
    assert await added(rig, room, MEMBER, "这间屋子的钟慢五分钟") == {"public"}


async def test_ten_groups_are_mapped_while_the_panel_saves_and_none_leaks(
    rig: Rig, room: Place
) -> None:
    names = {group(room.number + 60_000 + number): f"小组{number}" for number in range(10)}

    async def maps(place: Place) -> str:
        return await rig.onebot.ask(place, ADMIN, f"/memory scope {names[place]}")

    saving = asyncio.create_task(rig.panel.save(auto_inject_topk=4))
    said = await asyncio.gather(*map(maps, names))
    await saving
    await rig.panel.ready()
    kept = await mapped(rig)
    on_disk = json.loads(rig.bot.plugin_config.read_text(encoding="utf-8-sig"))
    assert on_disk[KEY] == kept
    assert on_disk["auto_inject_topk"] == 4
    for (place, name), one in zip(names.items(), said, strict=True):
        if "好了" in one:
            scopes = await added(rig, place, MEMBER, f"{name}的暗号是月亮{place.number}")
            assert scopes == ({name} if place.umo in kept else set())
        if place.umo not in kept:
            assert "好了" in await maps(place)
            text = f"{name}的口令是星星{place.number}"
            assert await added(rig, place, MEMBER, text) == {name}


@through_a_kill
async def test_a_renamed_account_or_a_folder_without_map_and_state_publishes_nothing(
    rig: Rig,
) -> AsyncGenerator[Callable[[], object]]:
    settings = rig.bot.data / "cmd_config.json"

    def rename() -> None:
        """The owner gives the bot account another name, between two starts."""
        text = json.loads(settings.read_text(encoding="utf-8-sig"))
        text["platform"][0]["id"] = RENAMED
        settings.write_text(json.dumps(text, ensure_ascii=False), encoding="utf-8")

    text = "爷爷的降压药在床头柜"
    await rig.panel.map_scopes({WORK.umo: "公司", FAMILY.umo: "家人"})
    await rig.panel.ready()
    await rig.onebot.ask(WORK, ADMIN, "/memory scope confirm")  # what was mapped in chat is gone
    assert "会话表" not in await warnings(rig)
    yield rename
    for place in (FAMILY, WORK, CLUB):
        assert await added(rig, place, MEMBER, text) == set()
    told = await warnings(rig)
    lines = [line for line in told.split("\n") if line.startswith(f"{RENAMED}:") and "→" in line]
    repaired = dict(line.split(" → ") for line in lines)
    assert repaired == {
        f"{RENAMED}:GroupMessage:{FAMILY.number}": "家人",
        f"{RENAMED}:GroupMessage:{WORK.number}": "公司",
    }
    assert "图书馆" in await rig.onebot.ask(CLUB, MEMBER, "/memory search 图书馆 闭馆")
    await rig.panel.map_scopes(repaired)
    assert "会话表" not in await warnings(rig)
    assert await added(rig, FAMILY, MEMBER, text) == {"家人"}
    assert "花生" in await rig.onebot.ask(FAMILY, MEMBER, "/memory search 花生 过敏")

    # The folder comes to another machine.
    await asyncio.to_thread(rig.bot.sigterm)
    shutil.rmtree(rig.bot.plugin_data / "state")
    config = json.loads(rig.bot.plugin_config.read_text(encoding="utf-8-sig")) | {KEY: {}}
    rig.bot.plugin_config.write_text(json.dumps(config), encoding="utf-8")
    await rig.start()
    assert await added(rig, FAMILY, MEMBER, "叔叔下个月搬回老家住") == set()
    assert f"{RENAMED}:GroupMessage:{FAMILY.number} → 家人" in await warnings(rig)
    await rig.onebot.ask(CLUB, MEMBER, "/memory scope confirm")
    assert await added(rig, CLUB, MEMBER, "球馆周三停电检修") == set()
    await rig.onebot.ask(CLUB, ADMIN, "/memory scope confirm")
    assert "会话表" not in await warnings(rig)
    assert await added(rig, CLUB, MEMBER, "球馆周三停电检修") == {"public"}
