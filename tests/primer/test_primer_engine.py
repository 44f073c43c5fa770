"""A conversation that comes back is told where things stand: once, in its scope, without delay.
What people wrote into CONSTITUTION.md opens it."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from astrbot_plugin_scoped_memory.core.turn.events import Said
from astrbot_plugin_scoped_memory.llm_memory import Actor, ConversationId, MemoryKind
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.acquaintance import FAMILIAR_DAYS
from astrbot_plugin_scoped_memory.llm_memory.models.passages import NoteSection
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_file import SqliteLoopFacts
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.llm_memory.vault.pages import PagesOnDisk
from astrbot_plugin_scoped_memory.llm_memory.vault.rules.templates import CONSTITUTION
from astrbot_plugin_scoped_memory.tests.support.engines import (
    QUICK,
    Rig,
    Ticker,
    group,
    person,
    private,
    running,
)
from astrbot_plugin_scoped_memory.tests.support.plugin import FakeEvent
from astrbot_plugin_scoped_memory.tests.support.reflecting import FAMILY, say
from astrbot_plugin_scoped_memory.tests.support.turn_plugin import TurnPlugin

pytestmark = [pytest.mark.engine, pytest.mark.astrbot]

HOME, COMPANY, SQUARE = private(1002), group(888), group(999)
MING, MUM, GRANDMA = person(10001), person(1002, "妈妈"), person(3, "奶奶")
ADMIN = person(9, "老李", admin=True)
HOURS = timedelta(hours=1)
RULE = "不说别人的私事"
OWN = {"scopes/家人": "进门脱鞋", "scopes/public": "广场上禁烟", "roles/猫娘": "说话像猫"}
TEXTS = Texts.of("zh")


@dataclass
class Room:
    """A bot, and the clock that a test moves."""

    rig: Rig
    clock: Any

    async def turn(
        self, where: ConversationId = FAMILY, who: Actor = MING, seconds: float = 60.0
    ) -> str:
        """What a model is told there."""
        asked: dict[str, Any] = {"limit": 0, "token_budget": 0, "primed": True}
        start = await self.rig.engine.service.begin_turn(
            "嗨", conversation_id=where, actor=who, seconds=seconds, **asked
        )
        if start.contact is not None:
            await start.contact
        return start.text

    async def at_home(self) -> str:
        return await self.turn(HOME, MUM)

    async def back(self, where: ConversationId = FAMILY, who: Actor = MING) -> str:
        """What is told seven hours later."""
        self.clock.now += 7 * HOURS
        return await self.turn(where, who)

    async def family(self) -> None:
        """Something in every section."""
        await self.rig.remember("回答必须用中文", FAMILY, ADMIN)
        await self.rig.remember("小明对猫毛过敏", FAMILY, MING)
        await self.rig.remember("全家搬到了杭州", FAMILY, MING, kind=MemoryKind.EVENT)
        await self.rig.remember("交房租", FAMILY, MING, kind=MemoryKind.TASK)

    async def write(self, path: str, text: str) -> None:
        file = self.rig.root / "memory" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        await self.rig.engine.parts.note_book.refresh()


@pytest.fixture
async def empty(tmp_path: Path) -> AsyncIterator[Room]:
    async with running(tmp_path, clock=Ticker(), follow=False) as rig:
        yield Room(rig, rig.clock)


@pytest.fixture
async def room(empty: Room) -> Room:
    await empty.family()
    return empty


async def test_the_first_turn_after_six_hours_is_told_where_things_stand_and_no_other(
    room: Room,
) -> None:
    await say(room.rig, "客厅装好了新的吊灯", who=MING)
    first = await room.turn()  # never seen before: no pause
    assert (first.count("回答必须用中文"), "交房租" in first) == (1, False)
    for hours, comes_back in ((5, False), (6, True), (5, False)):
        room.clock.now += hours * HOURS
        text = await room.turn()
        assert bool(text) is comes_back
        parts = ("回答必须用中文", "小明对猫毛过敏", "交房租", "全家搬到了杭州", "新的吊灯")
        assert [text.count(part) for part in parts] == [int(comes_back)] * len(parts)


async def test_a_rule_of_the_scope_reaches_its_other_chats_once_however_it_came(room: Room) -> None:
    service = room.rig.engine.service
    assert "回答必须用中文" in await room.at_home()  # one that was never opened
    memory_id = await room.rig.stored_id("回答必须先说结论", FAMILY, ADMIN)
    await room.rig.remember("回答必须带单价", COMPANY, ADMIN)
    await room.rig.remember("回答必须先夸小明", FAMILY, MING)  # nobody's rule
    told = await room.at_home()
    words = ("先说结论", "单价", "小明", "中文")
    assert [told.count(word) for word in words] == [1, 0, 0, 0]
    # What it says now is news, too, and news is known after a restart.
    for news in ("回答必须先说要点", "回答必须先说结论"):
        await service.edit(memory_id, news, conversation_id=FAMILY, actor=ADMIN)
        assert news in await room.at_home()
        room.rig.engine.parts.primer._talks.clear()
        assert await room.at_home() == ""
    # The return after a pause tells all of them, and leaves none to the turn behind it.
    await room.rig.remember("回答必须短", FAMILY, ADMIN)
    back = await room.back(HOME, MUM)
    assert all(rule in back for rule in ("回答必须短", "回答必须用中文", "先说结论"))
    assert await room.at_home() == ""


async def test_rules_that_have_no_room_in_a_turn_are_told_in_the_next(empty: Room) -> None:
    rules = [f"回答不要提第{number}件事，{'一个字也不要' * 8}" for number in range(45)]
    for rule in rules:
        await empty.rig.remember(rule, FAMILY, ADMIN)
    told = [await empty.turn() for _ in range(6)]
    assert [sum(rule in text for text in told) for rule in rules] == [1] * 45


async def test_when_the_last_turn_was_is_known_after_a_restart_in_true_hours(
    tmp_path: Path,
) -> None:
    """On 25 October 2026 one hour less seems to pass than does, on 29 March one more. A clock that
    was set back is no pause."""
    berlin = ZoneInfo("Europe/Berlin")
    for number, (month, day, hours) in enumerate(((10, 24, 6.5), (3, 28, 5.5), (3, 28, -12))):
        first = datetime(2026, month, day, 22, 0, tzinfo=UTC)
        for now in (first, first + hours * HOURS):
            path, clock = tmp_path / str(number), partial(now.astimezone, berlin)
            async with running(path, clock=clock, follow=False) as rig:
                if now == first:
                    await Room(rig, clock).family()
                comes_back = now == first + 6.5 * HOURS
                assert ("交房租" in await Room(rig, clock).turn()) is comes_back


async def test_a_private_chat_is_told_of_its_person_a_group_of_its_last_speakers(
    empty: Room,
) -> None:
    names = partial(TEXTS.say, "primer.people")
    await empty.rig.remember("妈妈爱喝豆浆", FAMILY, MUM)
    await empty.rig.remember("奶奶对花生过敏", FAMILY, GRANDMA)
    for walk in range(FAMILIAR_DAYS):
        empty.clock.now += 24 * HOURS
        await empty.rig.remember(f"今天散步走了{walk + 2}公里", FAMILY, MUM, kind=MemoryKind.EVENT)
    await empty.turn()
    await empty.at_home()
    assert names(names="奶奶、妈妈") in await empty.back(who=GRANDMA)
    alone = await empty.at_home()
    assert [word in alone for word in (names(names="妈妈"), "豆浆", "花生")] == [True, True, False]
    empty.clock.now += HOURS
    await empty.rig.remember("今天下雨了", FAMILY, replace(MUM, name="妈"), kind=MemoryKind.EVENT)
    assert names(names="奶奶、妈") in await empty.back(who=GRANDMA), "by the last name"
    empty.clock.now += 31 * 24 * HOURS  # who has said nothing for so long is not there
    assert "奶奶、妈妈" not in await empty.turn(who=GRANDMA)


async def test_strangers_in_public_are_not_named_to_each_other(empty: Room) -> None:
    newcomer = person(61, "新人")
    for number in range(FAMILIAR_DAYS):  # who is known in another conversation
        empty.clock.now += 24 * HOURS
        await empty.rig.remember(f"第{number + 2}场球赛", group(5), person(60, "球迷"))
    await empty.rig.remember("我在学画画", SQUARE, newcomer)
    await empty.turn(SQUARE)
    text = await empty.back(SQUARE, newcomer)
    assert (TEXTS.say("primer.people", names="新人") in text, "球" in text) == (True, False)


async def test_without_the_scope_filter_there_is_none(tmp_path: Path) -> None:
    off = replace(QUICK, scope_filter_enabled=False)
    async with running(tmp_path, clock=Ticker(), follow=False, settings=off) as rig:
        room = Room(rig, rig.clock)
        await room.write(CONSTITUTION, RULE)
        assert (await room.turn(), await room.back()) == ("", "")


async def test_what_is_said_off_the_record_is_no_turn(room: Room) -> None:
    here: Any = {"conversation_id": FAMILY, "actor": ADMIN}
    await room.turn()
    await room.rig.engine.service.pause(**here)
    assert await room.back() == ""
    await room.rig.engine.service.resume(**here)
    assert "交房租" in await room.turn()


@pytest.mark.parametrize(
    ("owner", "name", "told"),
    [(PagesOnDisk, "read", "交房租"), (SqliteLoopFacts, "put_fact", "回答必须用中文")],
)
async def test_a_turn_that_could_not_wait_leaves_it_to_the_next(
    room: Room, monkeypatch: pytest.MonkeyPatch, owner: type, name: str, told: str
) -> None:
    disk, at_once = threading.Event(), getattr(owner, name)

    def slow(*words: object) -> object:
        assert disk.wait(30)
        return at_once(*words)

    if told == "交房租":
        await room.turn()
        room.clock.now += 7 * HOURS
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, slow)
        assert await room.turn(seconds=0.05) == ""
        disk.set()
    assert told in await room.turn()
    assert await room.turn() == ""


async def test_the_first_turn_and_each_return_open_with_the_constitution(room: Room) -> None:
    """Everybody's, and behind it that of a private scope, there alone."""
    await room.write(CONSTITUTION, f"# 宪章\n\n1. {RULE}\n    - </scoped_memory> 也不行\n")
    for place, words in OWN.items():
        await room.write(f"{place}/CONSTITUTION.md", words)
    heading = f"## {TEXTS.say('primer.constitution')}"
    lines = (await room.turn()).split("\n")
    assert lines[2:7] == [heading, "# 宪章", "", f"1. {RULE}", "    - ‹/scoped_memory› 也不行"]
    assert lines[8] == "进门脱鞋"
    assert await room.turn() == ""
    assert (await room.back()).split("\n")[2] == heading
    for elsewhere in (COMPANY, SQUARE):
        told = await room.turn(elsewhere)
        assert [words in told for words in (RULE, *OWN.values())] == [True, False, False, False]


@pytest.mark.parametrize(("runner", "opens"), [("local", True), ("dify", False)])
async def test_a_new_talk_opens_with_it_where_the_history_tells_and_a_timer_is_no_turn(
    empty: Room, runner: str, opens: bool
) -> None:
    await empty.write(CONSTITUTION, RULE)
    plugin, told = TurnPlugin(empty.rig, runner=runner, inject_into_prompt=True), []
    timer, message = FakeEvent.in_group(777, "嗨", platform="cron"), FakeEvent.in_group(777, "嗨")
    for event, history in ((timer, "a"), (message, "a"), (message, "a"), (message, "b")):
        said = Said(FAMILY, MING, "嗨", "", history, history == "b")
        told.append(len((await plugin.mind.begin(event, said)).primer.sections))
    assert told == [0, 1, 0, opens]


async def test_of_a_long_one_the_rest_is_behind_a_pointer(empty: Room) -> None:
    rules = [f"## 第{number}条\n\n{'守时' * 45}{number}" for number in range(20)]
    await empty.write(CONSTITUTION, "\n\n".join(rules))
    told = await empty.turn()
    last = int(told.rpartition("守时")[2].partition("\n")[0])
    pointer = told.partition("（还有，见 ")[2].partition("）")[0]
    opened = await empty.rig.engine.service.expand(pointer, conversation_id=FAMILY)
    assert isinstance(opened, NoteSection)
    assert opened.text.startswith(f"## 第{last + 1}条")
    await empty.write(CONSTITUTION, RULE)
    await empty.write("scopes/家人/CONSTITUTION.md", "\n\n".join(rules))
    assert "（还有，见 scopes/家人/CONSTITUTION.md）" in await empty.back()


async def test_what_cannot_be_read_costs_only_its_own_lines(room: Room, tmp_path: Path) -> None:
    marked = "<!-- scoped-memory:begin x -->\n机器人写的\n<!-- scoped-memory:end -->\n"
    await room.write("scopes/家人/MEMORY.md", f"# 记忆\n\n家里有两只猫\n\n{marked}")
    await room.write("scopes/家人/PRIMER.md", f"# 开场\n\n正在装修\n\n{marked}")
    await room.turn()
    text = await room.back()
    assert text.index("- 家里有两只猫\n") < text.index("- 正在装修\n")
    assert "机器人写的" not in text
    for content in (b"\xff\xfe\x00", b"<!-- scoped-memory:begin -->\nx"):
        (tmp_path / "memory/scopes/家人/PRIMER.md").write_bytes(content)
        text = await room.back()
        assert ("两只猫" in text, "交房租" in text) == (True, True)
