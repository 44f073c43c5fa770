"""The scope map: short and mistyped keys in the panel, and `/memory scope 家人` in chat."""

import asyncio
import json

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, Place, group
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.tests.e2e.cast import ADMIN, MEMBER, SHORT, UNREADABLE, added

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

KEY = "conversation_scope_map"


async def mapped(rig: Rig) -> dict[str, str]:
    """The map as the panel shows it."""
    shown: dict[str, str] = (await rig.panel.config())[KEY]
    return shown


async def test_short_keys_are_understood_and_an_unreadable_one_publishes_nothing(
    rig: Rig, room: Place
) -> None:
    assert await added(rig, SHORT, MEMBER, "奶奶对花生过敏，别放坚果") == {"家人"}
    assert await added(rig, UNREADABLE, MEMBER, "报表每周五下午四点交") == set()
    said = await rig.onebot.ask(UNREADABLE, MEMBER, "/memory scope")
    assert "只能读公共记忆" in said
    assert str(UNREADABLE.number) in said
    warnings = "\n".join((await rig.panel.ready())["warnings"])
    assert f"{UNREADABLE.umo} → 公司" in warnings
    assert await added(rig, room, MEMBER, "图书馆每周一闭馆") == {"public"}


async def test_two_groups_share_what_an_admin_mapped_in_chat_and_a_member_cannot(
    rig: Rig, room: Place, person: Person
) -> None:
    """While a turn goes on there; it is answered."""
    cousins, elsewhere = group(room.number + 50_000), group(room.number + 51_000)
    words = "今天的晚饭吃什么好呢"
    rig.model.hold()
    try:
        await rig.onebot.say(room, person, words)
        await rig.model.was_asked(words)
        await rig.onebot.say(room, ADMIN, "/记忆 域 亲戚")
    finally:
        rig.model.release()
    answers = [await rig.onebot.reply(room) for _ in range(2)]
    assert len([one for one in answers if "“亲戚”" in one]) == 1
    assert "好了" in await rig.onebot.ask(cousins, ADMIN, "/记忆 域 亲戚")
    assert await added(rig, room, person, "爷爷的假牙泡在蓝杯子里") == {"亲戚"}
    asked = await rig.turn(cousins, person, "爷爷的假牙在哪里")
    assert "蓝杯子" in asked.injected
    asked = await rig.turn(elsewhere, person, "爷爷的假牙在哪里")
    assert "蓝杯子" not in asked.first.everything
    shown = await mapped(rig)
    assert shown[room.umo] == shown[cousins.umo] == "亲戚"
    assert "只有管理员" in await rig.onebot.ask(elsewhere, person, "/memory scope 亲戚")
    assert await mapped(rig) == shown
    assert "不再写在会话表里" in await rig.onebot.ask(cousins, ADMIN, "/记忆 域 取消")
    assert await added(rig, cousins, person, "堂弟的生日是六月初九那天") == {"public"}
    asked = await rig.turn(cousins, person, "那么爷爷的假牙在哪里")
    assert "蓝杯子" not in asked.injected


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
    assert (on_disk[KEY], on_disk["auto_inject_topk"]) == (kept, 4)
    for (place, name), one in zip(names.items(), said, strict=True):
        if "好了" in one:
            scopes = await added(rig, place, MEMBER, f"{name}的暗号是月亮{place.number}")
            assert scopes == ({name} if place.umo in kept else set())
        if place.umo not in kept:
            assert "好了" in await maps(place)
            text = f"{name}的口令是星星{place.number}"
            assert await added(rig, place, MEMBER, text) == {name}
