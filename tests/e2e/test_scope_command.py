"""`/memory scope 家人`, sent in chat, in a real AstrBot: saved in its configuration, at once."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from astrbot_plugin_scoped_memory.harness.places import Person, Place, group, private
from astrbot_plugin_scoped_memory.harness.records import scopes_with
from astrbot_plugin_scoped_memory.harness.rig import Rig

pytestmark = [
    pytest.mark.astrbot,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(300),
]

ADMIN, MEMBER = Person(9200, "管理员"), Person(8201, "阿家")
FAMILY, COUSINS, WORK = group(620_001), group(620_002), group(620_003)
KEY = "conversation_scope_map"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Rig]:
    """A bot of this file's own: nothing is mapped."""
    root = tmp_path_factory.mktemp("mapped-in-chat")
    async with Rig(root, admins=[ADMIN.user_id]) as rig:
        yield rig


async def add(rig: Rig, place: Place, text: str) -> set[str]:
    """Adds a memory by command; the scopes that have it then."""
    await rig.onebot.ask(place, MEMBER, f"/memory add {text}")
    return scopes_with(rig.memory, text)


async def test_two_groups_share_what_an_admin_mapped_in_chat(running: Rig) -> None:
    for place in (FAMILY, COUSINS):
        said = await running.onebot.ask(place, ADMIN, "/记忆 域 家人")
        assert "“家人”" in said
        assert "/记忆 域 取消" in said
    assert await add(running, FAMILY, "奶奶对花生过敏，别放坚果") == {"家人"}
    asked = await running.turn(COUSINS, MEMBER, "奶奶能吃花生吗")
    assert "花生过敏" in asked.injected
    elsewhere = await running.turn(WORK, MEMBER, "奶奶能吃花生吗")
    assert "过敏" not in elsewhere.first.everything
    shown = (await running.panel.config())[KEY]
    assert shown == {FAMILY.umo: "家人", COUSINS.umo: "家人"}


async def test_a_member_is_refused_in_words(running: Rig) -> None:
    before = (await running.panel.config())[KEY]
    said = await running.onebot.ask(WORK, MEMBER, "/memory scope 家人")
    assert "只有管理员" in said
    assert (await running.panel.config())[KEY] == before
    assert await add(running, WORK, "打印机的墨盒在前台柜子里") == {"public"}


async def test_a_turn_that_goes_on_meanwhile_is_answered(running: Rig) -> None:
    place, words = group(620_010), "今天的晚饭吃什么好呢"
    running.model.hold()
    try:
        await running.onebot.say(place, MEMBER, words)
        await running.model.was_asked(words)
        await running.onebot.say(place, ADMIN, "/memory scope 晚饭")
    finally:
        running.model.release()
    answers = [await running.onebot.reply(place) for _ in range(2)]
    assert len([one for one in answers if "“晚饭”" in one]) == 1
    assert await add(running, place, "晚饭轮到阿家做红烧肉") == {"晚饭"}


async def test_what_cannot_be_written_is_not_done(running: Rig) -> None:
    place, file = group(620_020), running.bot.plugin_config
    aside = file.with_name("aside.json")
    file.rename(aside)
    file.mkdir()  # whoever runs the tests may be root, who writes everywhere else
    try:
        said = await running.onebot.ask(place, ADMIN, "/memory scope 密室")
        assert "没能写入" in said
    finally:
        file.rmdir()
        aside.rename(file)
    assert place.umo not in (await running.panel.config())[KEY]
    assert await add(running, place, "这间屋子的钟慢五分钟") == {"public"}


async def test_ten_groups_are_mapped_while_the_panel_saves_and_none_leaks(running: Rig) -> None:
    places = [group(620_100 + number) for number in range(10)]
    names = {place: f"小组{place.number}" for place in places}

    async def mapped(place: Place) -> str:
        return await running.onebot.ask(place, ADMIN, f"/memory scope {names[place]}")

    saving = asyncio.create_task(running.panel.save(auto_inject_topk=4))
    said = await asyncio.gather(*map(mapped, places))
    await saving
    await running.panel.ready()
    kept = (await running.panel.config())[KEY]
    on_disk = json.loads(running.bot.plugin_config.read_text(encoding="utf-8-sig"))
    assert on_disk[KEY] == kept
    assert on_disk["auto_inject_topk"] == 4
    done = [place for place, one in zip(places, said, strict=True) if "好了" in one]
    for place in done:
        scopes = await add(running, place, f"{names[place]}的暗号是月亮{place.number}")
        assert scopes == ({names[place]} if place.umo in kept else set())
    again = [place for place in places if place.umo not in kept]
    for place in again:
        assert "好了" in await mapped(place)
        assert await add(running, place, f"{names[place]}的口令是星星{place.number}") == {
            names[place]
        }


async def test_it_holds_after_a_restart_and_is_taken_back(running: Rig) -> None:
    await running.restart()
    await running.panel.ready()
    assert await add(running, FAMILY, "备用钥匙在花盆下面压着") == {"家人"}
    chat = private(MEMBER)
    assert "“家人”" in await running.onebot.ask(private(ADMIN), ADMIN, "/memory scope 家人")
    assert await add(running, chat, "周末打算去爬香山看红叶") == {"public"}
    said = await running.onebot.ask(COUSINS, ADMIN, "/记忆 域 取消")
    assert "不再有本会话" in said
    assert await add(running, COUSINS, "堂弟的生日是六月初九那天") == {"public"}
    asked = await running.turn(COUSINS, MEMBER, "备用钥匙在哪里")
    assert "花盆" not in asked.first.everything
