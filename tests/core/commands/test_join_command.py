"""Another conversation gets its scope by name, or by a wish that an admin grants. Nobody is let in
by a name that anybody can take."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.core.commands import call, scope_commands
from astrbot_plugin_scoped_memory.llm_memory import ConversationId
from astrbot_plugin_scoped_memory.tests.support.engines import (
    MAP,
    Rig,
    group,
    person,
    private,
    running,
)
from astrbot_plugin_scoped_memory.tests.support.panel import KEY, Panel
from astrbot_plugin_scoped_memory.tests.support.plugin import Desk, FakeEvent

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

SECRET, QUESTION = "保险箱密码在相册里", "保险箱密码在哪"
MOTHER = "aiocqhttp:FriendMessage:2"


class Family(Desk):
    """The owner (9) and the mother (2) write in the family's group, and both in private. ``told``:
    what was said where nobody had asked, by conversation."""

    def __init__(self, rig: Rig, panel: Panel) -> None:
        super().__init__(rig, panel=panel)
        self.rig, self.panel = rig, panel
        self.unasked: dict[str, str] = {}
        self.plugin.astrbot.get_config = lambda: {"admins_id": ["9"]}
        self.plugin.astrbot.send_message = self._tell

    async def _tell(self, umo: str, chain: Any) -> bool:
        self.unasked[umo] = chain.get_plain_text()
        return True

    async def met(self, number: int, name: str, *places: ConversationId) -> None:
        for place in places or (private(number),):
            await self.rig.engine.service.meet(place, person(number, name))

    async def member(self, words: str, number: int = 2, name: str = "小红") -> str:
        return await self.told(FakeEvent.in_private(number, f"memory {words}", name=name))

    async def owner(self, words: str) -> str:
        event = FakeEvent.in_private(9, f"memory {words}", name="站长", admin=True)
        return await self.told(event)

    @property
    def map(self) -> Any:
        return self.panel[KEY]


@pytest.fixture
async def family(tmp_path: Path) -> AsyncIterator[Family]:
    async with running(tmp_path, follow=False) as rig:
        await rig.remember(SECRET, group(777))
        desk = Family(rig, Panel(dict(MAP)))
        await desk.met(9, "站长", group(777), private(9))
        await desk.met(2, "妈妈", group(777))
        await desk.met(2, "小红")
        yield desk


@pytest.mark.parametrize("who", ["妈妈", "小红", "2", "aiocqhttp:2", MOTHER])
async def test_an_admin_places_a_private_chat_and_its_person_is_told(
    family: Family, who: str
) -> None:
    await family(f"scope 家人 {who}", 888)
    if who in ("妈妈", "小红"):  # anybody can take a name
        assert (family.map, family.unasked) == (MAP, {})
        await family("yes", 888)
    assert family.map == {**MAP, MOTHER: "家人"}
    assert list(family.unasked) == [MOTHER]
    assert await family.rig.texts(QUESTION, private(2)) == [SECRET]
    assert await family.rig.texts(QUESTION, group(888)) == []
    await family(f"scope 取消 {who}", 888)
    assert family.map == MAP
    assert await family.member(f"scope 家人 {who}") == family.say("outcome.admins_only")
    assert family.map == MAP


async def test_a_name_that_two_have_or_a_stranger_may_have_taken_lets_nobody_in(
    family: Family,
) -> None:
    """A stranger calls himself as the aunt, who has written in the group alone; then as nobody."""
    await family.met(7, "小姨", group(777))
    for words in ("小姨", "没人", "公 司", "家人", ""):
        await family(f"scope 家人 {words}")
    for name in ("小姨", "小红", "大伯"):
        await family.met(6660, name)
        assert "6660" in await family(f"scope 家人 {name}")
        assert family.map == MAP
    assert await family("scope con 大伯") == family.say("scope.illegal", name="con")
    await family("scope 家人 大伯")
    assert "大伯" in await family("yes")
    assert family.map == {**MAP, "aiocqhttp:FriendMessage:6660": "家人"}


async def test_a_group_is_placed_by_its_title(family: Family) -> None:
    for number, title, who in ((5550, "老友记", 9), (5551, "书友会", 8)):
        split = replace(group(f"9_{number}"), group=str(number), title=title)
        await family.met(who, "站长", split)
    await family("scope 家人 老友记", 888)
    await family("yes", 888)
    assert family.map == {**MAP, "aiocqhttp:GroupMessage:5550": "家人"}
    assert "5551" in await family("scope 家人 书友会", 888)
    assert len(family.map) == len(MAP) + 1
    await family("scope 家人 5551", 888)
    await family("yes", 888)
    assert family.map["aiocqhttp:GroupMessage:5551"] == "家人"


@pytest.mark.parametrize(("word", "scope"), [("家人", "家人"), ("家入", "家人"), ("邻居", "邻居")])
async def test_a_member_asks_and_is_in_once_an_admin_says_yes_in_private(
    family: Family, word: str, scope: str
) -> None:
    assert await family.member(f"join {word}") == family.say("join.asked")
    assert list(family.unasked) == ["aiocqhttp:FriendMessage:9"]
    assert MOTHER in family.unasked.pop("aiocqhttp:FriendMessage:9")
    assert await family.member(f"join {word}") == family.say("join.waiting")
    for said in (await family.member("yes"), await family("yes", 888)):
        assert said.startswith((family.say("outcome.admins_only"), family.say("asked.nothing")))
    assert (family.map, family.unasked) == (MAP, {})
    await family.owner("yes")
    assert family.map == {**MAP, MOTHER: scope}
    assert scope in family.unasked[MOTHER]
    assert await family.owner("yes") == family.say("asked.nothing")


async def test_a_no_tells_the_member_and_a_yes_that_means_something_else_lets_nobody_in(
    family: Family, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    for module in (call, scope_commands):
        monkeypatch.setattr(module, "monotonic", lambda: now)
    for words in ("no", "list", ""):
        await family.member("join 家人")
        if words:
            await family.owner(words)
        refused = family.unasked.pop(MOTHER, "") == family.say("join.refused")
        assert refused is (words == "no")
        now += 600.0
        await family.owner("yes")
        assert family.map == MAP


async def test_a_wish_takes_the_place_of_no_other_question_and_shows_who_has_the_same_name(
    family: Family,
) -> None:
    await family.owner("decide 定 买蓝的")
    await family.member("join 家人", 6660, "妈妈")
    assert family.say("join.namesake") in family.unasked["aiocqhttp:FriendMessage:9"]
    assert "D-0001" in await family.owner("yes")
    assert family.map == MAP


async def test_without_an_admin_in_private_the_member_is_told_what_an_admin_sends(
    family: Family,
) -> None:
    family.plugin.astrbot.get_config = lambda: {"admins_id": ["1"]}
    for _ in range(2):  # nobody was told: there is nothing to wait for
        assert MOTHER in await family.member("join 家人")
    for wrong in ("", "家人 妈妈", "家 人", "a/b", "dm-x"):
        assert await family.member(f"join {wrong}", 3) != family.say("join.asked")
    assert (family.map, family.unasked) == (MAP, {})
