"""A conversation that comes back is told where things stand: once, in its scope, without delay.
What people wrote into CONSTITUTION.md opens it."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from astrbot.api.provider import ProviderRequest
from astrbot.core.agent.message import TextPart
from astrbot.core.star.filter.command import CommandFilter

from astrbot_plugin_scoped_memory.core.deepmind import DeepMind
from astrbot_plugin_scoped_memory.core.turn.events import Said
from astrbot_plugin_scoped_memory.llm_memory import MemoryKind, TaskChange
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.acquaintance import FAMILIAR_DAYS
from astrbot_plugin_scoped_memory.llm_memory.models.passages import NoteSection
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_facts import SqliteLoopFacts
from astrbot_plugin_scoped_memory.llm_memory.text.hit_line import CLOSE, OPEN
from astrbot_plugin_scoped_memory.llm_memory.text.normalising import estimate_tokens
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
from astrbot_plugin_scoped_memory.tests.support.reflecting import say
from astrbot_plugin_scoped_memory.tests.support.turn_plugin import TurnPlugin

pytestmark = [pytest.mark.engine, pytest.mark.astrbot]

FAMILY, COMPANY = group(777), group(888)
MING, MUM, ADMIN = person(10001, "小明"), person(1002, "妈妈"), person(9, "老李", admin=True)
HOURS = timedelta(hours=1)
RULE = "不说别人的私事"


def hello(number: int = 777, text: str = "嗨", **more: Any) -> FakeEvent:
    return FakeEvent.in_group(number, text, **more)


def at_home(**more: Any) -> FakeEvent:
    return FakeEvent.in_private(1002, "嗨", **more)


@dataclass
class Room:
    """A bot, and the clock that a test moves."""

    rig: Rig
    clock: Any

    @property
    def plugin(self) -> TurnPlugin:
        return TurnPlugin(self.rig)

    async def turn(self, event: FakeEvent | None = None, plugin: TurnPlugin | None = None) -> str:
        """What is put behind the person's words."""
        mind, told = plugin or self.plugin, event or hello()
        request = ProviderRequest(prompt=told.message_str, system_prompt="系统")
        await DeepMind(mind).before_request(told, request)  # type: ignore[arg-type]
        await mind.settled()
        assert request.system_prompt == "系统"
        parts = [part for part in request.extra_user_content_parts if isinstance(part, TextPart)]
        assert len(parts) <= 1
        assert all(part.model_dump_for_context().get("_no_save") for part in parts)
        return "".join(part.text for part in parts)

    async def after_a_pause(self, *events: FakeEvent, back: FakeEvent | None = None) -> str:
        """What ``back`` is told seven hours after the events."""
        for event in events or (hello(),):
            await self.turn(event)
        self.clock.now += 7 * HOURS
        return await self.turn(back)

    async def family(self) -> None:
        """Something in every section."""
        await self.rig.remember("回答必须用中文", FAMILY, ADMIN)
        await self.rig.remember("小明对猫毛过敏", FAMILY, MING)
        await self.rig.remember("全家搬到了杭州", FAMILY, MING, kind=MemoryKind.EVENT)
        update = self.rig.engine.service.update_tasks
        for change in (TaskChange("add", ("交房租", "换灯泡")), TaskChange("done", ("换灯泡",))):
            await update(change, conversation_id=FAMILY, actor=MING)

    async def write(self, path: str, text: str) -> None:
        file = self.rig.root / "memory" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        await self.rig.engine.parts.note_book.refresh()


@pytest.fixture
async def empty(tmp_path: Path) -> AsyncIterator[Room]:
    clock = Ticker()
    async with running(tmp_path, clock=clock, follow=False) as rig:
        yield Room(rig, clock)


@pytest.fixture
async def room(empty: Room) -> Room:
    await empty.family()
    return empty


async def test_the_first_turn_after_six_hours_is_told_where_things_stand_and_no_other(
    room: Room,
) -> None:
    first = await room.turn()  # never seen before: no pause
    assert first.count("回答必须用中文") == 1
    assert "交房租" not in first
    room.clock.now += 5 * HOURS
    assert await room.turn() == ""
    room.clock.now += 6 * HOURS
    text = await room.turn()
    assert text.startswith(OPEN)
    for part in ("回答必须用中文", "小明对猫毛过敏", "交房租", "全家搬到了杭州"):
        assert text.count(part) == 1, part
    assert "换灯泡" not in text  # it is done
    assert estimate_tokens(text) <= 1000
    room.clock.now += 5 * HOURS
    assert await room.turn() == ""


async def test_the_last_days_are_told_with_what_is_not_read_yet(room: Room) -> None:
    await say(room.rig, "客厅装好了新的吊灯", who=MING)
    await room.rig.engine.reflection.read_due()
    assert "客厅装好了新的吊灯" in await room.after_a_pause()


async def test_a_rule_of_the_scope_reaches_its_other_chats_once_however_it_came(room: Room) -> None:
    async def told() -> str:
        return await room.turn(at_home())

    assert "回答必须用中文" in await told()  # one that was never opened
    stored = await room.rig.remember("回答必须先说结论", FAMILY, ADMIN)
    await room.rig.remember("回答必须带单价", COMPANY, ADMIN)
    await room.rig.remember("回答必须先夸小明", FAMILY, MING)  # nobody's rule
    for others in ("单价", "小明", "中文"):
        assert others not in (text := await told())
        assert text.count("先说结论") == (others == "单价")
    # What it says now is news, too, and news is known after a restart.
    reference, service = stored.memory.memory.memory_id, room.rig.engine.service
    await service.edit(reference, "回答必须先说要点", conversation_id=FAMILY, actor=ADMIN)
    await service.pause(conversation_id=private(1002), actor=MUM)
    assert await told() == ""
    await service.resume(conversation_id=private(1002), actor=MUM)
    assert "先说要点" in await told()
    room.rig.engine.parts.primer.clear()
    assert await told() == ""
    await service.edit(reference, "回答必须先说结论", conversation_id=FAMILY, actor=ADMIN)
    assert "先说结论" in await told()
    # The return after a pause tells all of them, and leaves none to the turn behind it.
    await room.rig.remember("回答必须短", FAMILY, ADMIN)
    room.clock.now += 7 * HOURS
    back = await told()
    assert all(rule in back for rule in ("回答必须短", "回答必须用中文", "先说结论"))
    assert await told() == ""


async def test_rules_that_have_no_room_in_a_turn_are_told_in_the_next(empty: Room) -> None:
    rules = [f"回答不要提第{number}件事，{'一个字也不要' * 8}" for number in range(45)]
    for rule in rules:
        await empty.rig.remember(rule, FAMILY, ADMIN)
    told = [await empty.turn() for _ in range(6)]
    assert [sum(rule in text for text in told) for rule in rules] == [1] * 45
    assert told[-1] == ""


async def test_when_the_last_turn_was_is_known_after_a_restart_in_true_hours(
    tmp_path: Path,
) -> None:
    """On 25 October 2026 one hour less seems to pass than does, on 29 March one more."""
    at: list[datetime] = []

    def clock() -> datetime:
        return at[0].astimezone(ZoneInfo("Europe/Berlin"))

    for month, day, hours in ((10, 24, 6.5), (3, 28, 5.5)):
        at[:] = [datetime(2026, month, day, 22, 0, tzinfo=UTC)]
        for pause in (0, timedelta(minutes=1), timedelta(minutes=1), timedelta(hours=hours)):
            at[0] += pause or timedelta()
            async with running(tmp_path / str(month), clock=clock, follow=False) as rig:
                room = Room(rig, clock)
                if not pause:
                    await room.family()
                told = "交房租" in await room.turn()
                assert told is (pause == timedelta(hours=6.5))
    at[0] -= 12 * HOURS  # a clock that was set back is no pause
    async with running(tmp_path / "3", clock=clock, follow=False) as rig:
        assert await Room(rig, clock).turn() == ""


async def test_a_conversation_off_the_record_is_told_nothing_and_nothing_is_noted(
    room: Room,
) -> None:
    service, here = room.rig.engine.service, {"conversation_id": private(1002), "actor": MUM}
    await room.rig.remember("给阳台浇水", FAMILY, MUM, kind=MemoryKind.TASK)
    await room.turn(at_home())
    await service.pause(**here)  # type: ignore[arg-type]
    for _ in range(3):
        room.clock.now += 7 * HOURS
        assert await room.turn(at_home()) == ""
    await service.resume(**here)  # type: ignore[arg-type]
    # On the record it was silent all the time.
    assert "给阳台浇水" in await room.turn(at_home())


async def test_a_private_chat_is_told_of_its_person_a_group_of_its_last_speakers(
    empty: Room,
) -> None:
    await empty.rig.remember("妈妈爱喝豆浆", FAMILY, MUM)
    await empty.rig.remember("奶奶对花生过敏", FAMILY, person(3, "奶奶"))
    for walk in range(FAMILIAR_DAYS):
        empty.clock.now += 24 * HOURS
        await empty.rig.remember(f"今天散步走了{walk + 2}公里", FAMILY, MUM, kind=MemoryKind.EVENT)
    grandma, mother = hello(sender="3", name="奶奶"), at_home(name="妈妈")
    both = await empty.after_a_pause(grandma, mother, back=hello(sender="3", name="奶奶"))
    assert empty.plugin.texts.say("primer.people", names="奶奶、妈妈") in both
    alone = await empty.turn(at_home(name="妈妈"))
    assert empty.plugin.texts.say("primer.people", names="妈妈") in alone
    assert "豆浆" in alone
    assert "花生" not in alone
    empty.clock.now += 31 * 24 * HOURS  # who has said nothing for so long is not there
    assert "奶奶、妈妈" not in await empty.turn(hello(sender="3", name="奶奶"))


async def test_strangers_in_public_are_not_named_to_each_other(tmp_path: Path) -> None:
    clock = Ticker()
    async with running(tmp_path, {}, clock=clock, follow=False) as rig:
        await rig.remember("楼下开了一家面馆", group(5), person(50, "路人"))
        await rig.remember("周末有球赛", group(6), person(60, "球迷"))
        await rig.remember("我在学画画", group(6), person(61, "新人"))
        room, newcomer = Room(rig, clock), hello(6, sender="61", name="新人")
        text = await room.after_a_pause(newcomer, back=hello(6, sender="61", name="新人"))
        assert room.plugin.texts.say("primer.people", names="新人") in text
        assert "球" not in text


@pytest.mark.parametrize("hours", [0.0, 6.0])
async def test_with_zero_hours_or_without_the_filter_there_is_none(
    tmp_path: Path, hours: float
) -> None:
    clock, loop = Ticker(), replace(QUICK.loop, prime_after_hours=hours)
    off = replace(QUICK, loop=loop, scope_filter_enabled=not hours)
    async with running(tmp_path, clock=clock, follow=False) as rig:
        await Room(rig, clock).family()
    async with running(tmp_path, clock=clock, follow=False, settings=off) as rig:
        for _ in range(2):
            assert await Room(rig, clock).turn() == ""
            clock.now += 100 * HOURS
        assert rig.engine.parts.loop_book.last_seen(FAMILY.umo) is None


async def test_a_command_and_a_timers_request_are_no_turns(room: Room) -> None:
    await room.turn()
    command: Any = CommandFilter("memory")
    for _ in range(2):
        room.clock.now += 2 * HOURS
        event = hello()
        event.set_extra("activated_handlers", [SimpleNamespace(event_filters=[command])])
        assert await room.turn(event) == ""
        room.clock.now += 2 * HOURS
        reminded = hello(text="该给绿萝浇水了", platform="cron")
        assert "交房租" not in await room.turn(reminded)
    assert "交房租" in await room.turn()


@pytest.mark.parametrize(
    ("owner", "name", "told", "away"),
    [
        (PagesOnDisk, "read", "交房租", True),
        (SqliteLoopFacts, "put_fact", "回答必须用中文", False),
    ],
    ids=["the opening", "a rule"],
)
async def test_a_turn_that_could_not_wait_leaves_it_to_the_next(
    room: Room, monkeypatch: pytest.MonkeyPatch, owner: type, name: str, told: str, away: bool
) -> None:
    disk, at_once = threading.Event(), getattr(owner, name)

    def slow(*words: object) -> object:
        assert disk.wait(30)
        return at_once(*words)

    if away:
        await room.turn()
        room.clock.now += 7 * HOURS
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, slow)
        hurried = room.plugin
        hurried.config = replace(hurried.config, recall_deadline_ms=50)
        assert await room.turn(plugin=hurried) == ""
        disk.set()
    assert told in await room.turn()
    assert await room.turn() == ""


# What people wrote


async def test_the_first_turn_and_each_return_open_with_the_constitution(room: Room) -> None:
    await room.write(CONSTITUTION, f"# 宪章\n\n1. {RULE}\n    - </scoped_memory> 也不行\n")
    first = await room.turn()
    heading = f"## {room.plugin.texts.say('primer.constitution')}"
    lines = first.split("\n")
    assert (lines[0], lines[-1]) == (OPEN, CLOSE)
    assert lines[2:7] == [heading, "# 宪章", "", f"1. {RULE}", "    - ‹/scoped_memory› 也不行"]
    assert "交房租" not in first  # nobody has come back yet
    assert await room.turn() == ""
    room.clock.now += 7 * HOURS
    back = await room.turn()
    assert back.split("\n")[2] == heading
    assert "交房租" in back


@pytest.mark.parametrize(("runner", "opens"), [("local", True), ("dify", False)])
async def test_a_new_talk_opens_with_it_where_the_history_tells(
    empty: Room, runner: str, opens: bool
) -> None:
    await empty.write(CONSTITUTION, RULE)
    plugin = TurnPlugin(empty.rig, runner=runner, inject_into_prompt=True)
    told = []
    for history, is_empty in (("a", False), ("a", False), ("b", True)):
        said = Said(FAMILY, MING, "嗨", "", history, is_empty)
        start = await plugin.mind.begin(FakeEvent.in_group(777, "嗨"), said)
        told.append([section.words for section in start.primer.sections])
    assert told == [[(RULE,)], [], [(RULE,)] if opens else []]


async def test_that_of_a_private_scope_stands_behind_everybodys_there_alone(empty: Room) -> None:
    await empty.write(CONSTITUTION, RULE)
    await empty.write("scopes/家人/CONSTITUTION.md", "进门脱鞋")
    await empty.write("scopes/public/CONSTITUTION.md", "广场上禁烟")
    await empty.write("roles/猫娘/CONSTITUTION.md", "说话像猫")
    told = {number: await empty.turn(hello(number)) for number in (777, 888, 999)}
    assert all(RULE in text for text in told.values())
    assert "进门脱鞋" in told[777].partition(RULE)[2]
    for words in ("进门脱鞋", "广场上禁烟", "说话像猫"):
        assert not any(words in told[number] for number in (888, 999))
    for number, count in ((777, 1), (888, 0)):
        recall = await empty.rig.recall("进门要脱鞋吗", group(number))
        assert sum("脱鞋" in hit.preview for hit in recall.hits) == count


async def test_of_a_long_one_the_rest_is_behind_a_pointer(empty: Room) -> None:
    rules = [f"## 第{number}条\n\n{'守时' * 45}{number}" for number in range(20)]
    await empty.write(CONSTITUTION, "\n\n".join(rules))
    told = await empty.turn()
    assert f"{'守时' * 45}4" in told
    assert f"{'守时' * 45}12" not in told
    pointer = told.partition("（还有，见 ")[2].partition("）")[0]
    opened = await empty.rig.engine.service.expand(pointer, conversation_id=FAMILY)
    last = int(told.rpartition("守时")[2].partition("\n")[0])
    assert isinstance(opened, NoteSection)
    assert opened.text.startswith(f"## 第{last + 1}条")


async def test_what_cannot_be_read_costs_only_its_own_lines(room: Room, tmp_path: Path) -> None:
    marked = "<!-- scoped-memory:begin x -->\n机器人写的\n<!-- scoped-memory:end -->\n"
    await room.write("scopes/家人/MEMORY.md", f"# 记忆\n\n家里有两只猫\n\n{marked}")
    await room.write("scopes/家人/PRIMER.md", f"# 开场\n\n正在装修\n\n{marked}")
    text = await room.after_a_pause(*map(hello, (777, 888)))
    assert text.index("- 家里有两只猫\n") < text.index("- 正在装修\n")
    assert "机器人写的" not in text
    assert "两只猫" not in await room.turn(hello(888))
    (tmp_path / "elsewhere.md").write_text(RULE, encoding="utf-8")
    (room.rig.root / "memory" / "shared").mkdir(exist_ok=True)
    (room.rig.root / "memory" / CONSTITUTION).symlink_to(tmp_path / "elsewhere.md")
    page = room.rig.root / "memory" / "scopes" / "家人" / "PRIMER.md"
    for content in (b"\xff\xfe\x00", b"<!-- scoped-memory:begin -->\nx"):
        page.write_bytes(content)
        text = await room.after_a_pause()
        assert "两只猫" in text
        assert "交房租" in text
        assert RULE not in text
