"""A conversation that comes back is told where things stand: once, in its scope, without delay."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
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
from astrbot_plugin_scoped_memory.llm_memory import MemoryKind, TaskChange
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.acquaintance import FAMILIAR_DAYS
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_facts import SqliteLoopFacts
from astrbot_plugin_scoped_memory.llm_memory.text.hit_line import OPEN
from astrbot_plugin_scoped_memory.llm_memory.text.normalising import estimate_tokens
from astrbot_plugin_scoped_memory.llm_memory.vault.pages import PagesOnDisk
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
from astrbot_plugin_scoped_memory.tests.support.turn_plugin import TurnPlugin

pytestmark = [pytest.mark.engine, pytest.mark.astrbot]

FAMILY, COMPANY = group(777), group(888)
MING, ADMIN = person(10001, "小明"), person(9, "老李", admin=True)
HOURS = timedelta(hours=1)


async def a_family(rig: Rig) -> None:
    """Something in every section."""
    await rig.remember("回答必须用中文", FAMILY, ADMIN)
    await rig.remember("小明对猫毛过敏", FAMILY, MING)
    await rig.remember("全家搬到了杭州", FAMILY, MING, kind=MemoryKind.EVENT)
    change = TaskChange("add", ("交房租", "换灯泡"))
    await rig.engine.service.update_tasks(change, conversation_id=FAMILY, actor=MING)
    done = TaskChange("done", ("换灯泡",))
    await rig.engine.service.update_tasks(done, conversation_id=FAMILY, actor=MING)


async def turn(plugin: TurnPlugin, event: FakeEvent) -> str:
    """What is put behind the person's words."""
    request = ProviderRequest(prompt=event.message_str, system_prompt="系统")
    mind, told = plugin, event
    await DeepMind(mind).before_request(told, request)  # type: ignore[arg-type]
    await plugin.settled()
    assert request.system_prompt == "系统"
    parts = [part for part in request.extra_user_content_parts if isinstance(part, TextPart)]
    assert len(parts) <= 1
    assert all(part.model_dump_for_context().get("_no_save") for part in parts)
    return "".join(part.text for part in parts)


def hello(number: int = 777, text: str = "嗨", **more: Any) -> FakeEvent:
    return FakeEvent.in_group(number, text, **more)


def plugin_of(rig: Rig, hours: float = 6.0) -> TurnPlugin:
    plugin = TurnPlugin(rig)
    loop = replace(plugin.config.engine.loop, prime_after_hours=hours)
    plugin.config = replace(plugin.config, engine=replace(plugin.config.engine, loop=loop))
    return plugin


def with_hours(hours: float) -> Any:
    return replace(QUICK, loop=replace(QUICK.loop, prime_after_hours=hours))


@dataclass
class Room:
    """A bot, and the clock that a test moves."""

    rig: Rig
    plugin: TurnPlugin
    clock: Ticker

    async def after_a_pause(self, *events: FakeEvent, back: FakeEvent | None = None) -> str:
        """What ``back`` is told seven hours after the events."""
        for event in events or (hello(),):
            await turn(self.plugin, event)
        self.clock.now += 7 * HOURS
        return await turn(self.plugin, back or hello())


@pytest.fixture
async def empty(tmp_path: Path) -> AsyncIterator[Room]:
    """Nothing in it yet."""
    clock = Ticker()
    async with running(tmp_path, clock=clock, follow=False) as rig:
        yield Room(rig, plugin_of(rig), clock)


@pytest.fixture
async def room(empty: Room) -> Room:
    """With the family's memories."""
    await a_family(empty.rig)
    return empty


async def test_the_first_turn_after_six_hours_is_told_where_things_stand_and_no_other(
    room: Room,
) -> None:
    first = await turn(room.plugin, hello())  # never seen before: no pause
    assert first.count("回答必须用中文") == 1
    assert "交房租" not in first
    room.clock.now += 5 * HOURS
    assert await turn(room.plugin, hello()) == ""
    room.clock.now += 6 * HOURS
    text = await turn(room.plugin, hello())
    assert text.startswith(OPEN)
    for part in ("回答必须用中文", "小明对猫毛过敏", "交房租", "全家搬到了杭州"):
        assert text.count(part) == 1, part
    assert "换灯泡" not in text  # it is done
    assert estimate_tokens(text) <= 1000
    room.clock.now += 5 * HOURS
    assert await turn(room.plugin, hello()) == ""


async def test_a_rule_of_the_scope_reaches_its_other_chats_once_however_it_came(room: Room) -> None:
    async def told() -> str:
        return await turn(room.plugin, FakeEvent.in_private(1002, "嗨"))

    assert "回答必须用中文" in await told()  # one that was never opened
    stored = await room.rig.remember("回答必须先说结论", FAMILY, ADMIN)
    await room.rig.remember("回答必须带单价", COMPANY, ADMIN)
    await room.rig.remember("回答必须先夸小明", FAMILY, MING)  # nobody's rule
    for others in ("单价", "小明", "中文"):
        assert others not in (text := await told())
        assert text.count("先说结论") == (others == "单价")
    # What it says now is news, too, and news is known after a restart.
    reference = stored.memory.memory.memory_id
    service, where = room.rig.engine.service, {"conversation_id": FAMILY, "actor": ADMIN}
    await service.edit(reference, "回答必须先说要点", **where)
    mum = person(1002, "妈妈")
    await service.pause(conversation_id=private(1002), actor=mum)
    assert await told() == ""
    await service.resume(conversation_id=private(1002), actor=mum)
    assert "先说要点" in await told()
    room.rig.engine.parts.primer.clear()
    assert await told() == ""
    # The return after a pause tells all of them, and leaves none to the turn behind it.
    await room.rig.remember("回答必须短", FAMILY, ADMIN)
    room.clock.now += 7 * HOURS
    back = await told()
    assert all(rule in back for rule in ("回答必须短", "回答必须用中文", "先说要点"))
    assert await told() == ""


async def test_when_the_last_turn_was_is_known_after_a_restart(tmp_path: Path) -> None:
    clock = Ticker()
    async with running(tmp_path, clock=clock, follow=False) as rig:
        await a_family(rig)
        await turn(plugin_of(rig), hello())
    clock.now += 5 * HOURS
    async with running(tmp_path, clock=clock, follow=False) as rig:
        assert await turn(plugin_of(rig), hello()) == ""
    clock.now += 7 * HOURS
    async with running(tmp_path, clock=clock, follow=False) as rig:
        assert "交房租" in await turn(plugin_of(rig), hello())


async def test_what_the_question_recalls_stands_beside_it_and_is_not_told_twice(
    room: Room,
) -> None:
    await room.rig.remember("房东姓王，住在楼下", FAMILY, MING)
    text = await room.after_a_pause(back=hello(text="房东姓什么，住在哪里"))
    assert text.count(OPEN) == 1
    assert text.count("房东姓王") == 1
    assert text.count("交房租") == 1
    assert room.plugin.texts.say("primer.recalled") in text


async def test_a_conversation_off_the_record_is_told_nothing_and_nothing_is_noted(
    room: Room,
) -> None:
    here = FakeEvent.in_private(1002, "嗨")
    service, owner = room.rig.engine.service, person(1002, "妈妈")
    await room.rig.remember("给阳台浇水", FAMILY, owner, kind=MemoryKind.TASK)
    await turn(room.plugin, here)
    await service.pause(conversation_id=private(1002), actor=owner)
    for _ in range(3):
        room.clock.now += 7 * HOURS
        assert await turn(room.plugin, FakeEvent.in_private(1002, "嗨")) == ""
    await service.resume(conversation_id=private(1002), actor=owner)
    # On the record it was silent all the time.
    assert "给阳台浇水" in await turn(room.plugin, FakeEvent.in_private(1002, "嗨"))


async def test_a_private_chat_is_told_of_its_person_a_group_of_its_last_speakers(
    empty: Room,
) -> None:
    mum = person(1002, "妈妈")
    await empty.rig.remember("妈妈爱喝豆浆", FAMILY, mum)
    await empty.rig.remember("奶奶对花生过敏", FAMILY, person(3, "奶奶"))
    for walk in range(FAMILIAR_DAYS):
        empty.clock.now += 24 * HOURS
        await empty.rig.remember(f"今天散步走了{walk + 2}公里", FAMILY, mum, kind=MemoryKind.EVENT)
    grandma, mother = hello(sender="3", name="奶奶"), FakeEvent.in_private(1002, "嗨", name="妈妈")
    both = await empty.after_a_pause(grandma, mother, back=hello(sender="3", name="奶奶"))
    assert empty.plugin.texts.say("primer.people", names="奶奶、妈妈") in both
    alone = await turn(empty.plugin, FakeEvent.in_private(1002, "嗨", name="妈妈"))
    assert empty.plugin.texts.say("primer.people", names="妈妈") in alone
    assert "豆浆" in alone
    assert "花生" not in alone


async def test_strangers_in_public_are_not_named_to_each_other(tmp_path: Path) -> None:
    clock = Ticker()
    async with running(tmp_path, {}, clock=clock, follow=False) as rig:
        await rig.remember("楼下开了一家面馆", group(5), person(50, "路人"))
        await rig.remember("周末有球赛", group(6), person(60, "球迷"))
        await rig.remember("我在学画画", group(6), person(61, "新人"))
        plugin = plugin_of(rig)
        await turn(plugin, hello(6, sender="61", name="新人"))
        clock.now += 7 * HOURS
        text = await turn(plugin, hello(6, sender="61", name="新人"))
        assert plugin.texts.say("primer.people", names="新人") in text
        assert "球" not in text


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"<!-- scoped-memory:begin -->\nx"])
async def test_a_primer_md_that_cannot_be_read_costs_only_its_own_lines(
    room: Room, content: bytes
) -> None:
    (room.rig.root / "memory" / "scopes" / "家人" / "PRIMER.md").write_bytes(content)
    assert "交房租" in await room.after_a_pause()


async def test_zero_hours_means_never_and_notes_nothing(tmp_path: Path) -> None:
    clock = Ticker()
    async with running(tmp_path, clock=clock, follow=False, settings=with_hours(0)) as rig:
        await a_family(rig)
        plugin = plugin_of(rig, 0)
        for _ in range(2):
            assert await turn(plugin, hello()) == ""
            clock.now += 100 * HOURS
        seen = rig.engine.parts.loop_book.see
        assert await asyncio.to_thread(seen, FAMILY.umo, "家人", at=clock()) is None


async def test_a_command_is_no_turn(room: Room) -> None:
    await turn(room.plugin, hello())
    room.clock.now += 5 * HOURS
    command: Any = CommandFilter("memory")
    event = hello()
    event.set_extra("activated_handlers", [SimpleNamespace(event_filters=[command])])
    assert await turn(room.plugin, event) == ""
    room.clock.now += 5 * HOURS
    assert "交房租" in await turn(room.plugin, hello())


async def test_a_timers_request_does_not_count_as_a_return_after_a_pause(room: Room) -> None:
    await turn(room.plugin, hello())
    for _ in range(4):
        room.clock.now += 2 * HOURS
        reminded = await turn(room.plugin, hello(text="该给绿萝浇水了", platform="cron"))
        assert "交房租" not in reminded
    assert "交房租" in await turn(room.plugin, hello())


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
    disk = threading.Event()
    at_once = getattr(owner, name)

    def slow(*words: object) -> object:
        assert disk.wait(30)
        return at_once(*words)

    if away:
        await turn(room.plugin, hello())
        room.clock.now += 7 * HOURS
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, slow)
        hurried = plugin_of(room.rig)
        hurried.config = replace(hurried.config, recall_deadline_ms=50)
        assert await turn(hurried, hello()) == ""
        disk.set()
    assert told in await turn(room.plugin, hello())
    assert await turn(room.plugin, hello()) == ""


async def test_with_the_filter_switched_off_there_is_no_primer(tmp_path: Path) -> None:
    clock = Ticker()
    async with running(tmp_path, clock=clock, follow=False) as rig:
        await a_family(rig)
        await turn(plugin_of(rig), hello(999))
    clock.now += 7 * HOURS
    off = replace(QUICK, scope_filter_enabled=False)
    async with running(tmp_path, clock=clock, follow=False, settings=off) as rig:
        assert await turn(plugin_of(rig), hello(999)) == ""


async def test_whatever_goes_wrong_with_it_the_turn_keeps_its_memories(tmp_path: Path) -> None:
    async with running(tmp_path, follow=False) as rig:
        await rig.remember("奶奶对花生过敏", FAMILY, MING)
        plugin = plugin_of(rig)

        async def hang(*_: Any, **__: Any) -> None:
            await asyncio.Event().wait()

        async def fail(*_: Any, **__: Any) -> None:
            raise OSError("no disk")

        assert "奶奶对花生过敏" in await _with_prime(rig, fail, plugin)
        # The recall has the same deadline: a short one is over soon, a long one is enough for it.
        for deadline_ms in (500, 4_000, 30_000):
            plugin.config = replace(plugin.config, recall_deadline_ms=deadline_ms)
            text = await _with_prime(rig, hang, plugin)
            if text:
                break
        assert "奶奶对花生过敏" in text


async def _with_prime(rig: Rig, broken: Callable[..., Any], plugin: TurnPlugin) -> str:
    primers: Any = rig.engine.parts.primer
    primers.prime = broken
    try:
        return await turn(plugin, hello(text="奶奶对花生过敏吗"))
    finally:
        del primers.prime


async def test_a_pause_is_counted_in_true_hours_whatever_the_clocks_do(tmp_path: Path) -> None:
    berlin = ZoneInfo("Europe/Berlin")
    at: list[datetime] = []

    def clock() -> datetime:
        return at[0].astimezone(berlin)

    # On 25 October 2026 one hour less seems to pass than does, on 29 March one more.
    for month, day, hours in ((10, 24, 6.5), (3, 28, 5.5)):
        evening = datetime(2026, month, day, 22, 0, tzinfo=UTC)
        at[:] = [evening]
        root = tmp_path / str(month)
        async with running(root, clock=clock, follow=False) as rig:
            await a_family(rig)
            plugin = plugin_of(rig)
            for minutes in (0, 1, 2):
                at[0] = evening + timedelta(minutes=minutes)
                await turn(plugin, hello())
            at[0] += timedelta(hours=hours)
            assert ("交房租" in await turn(plugin, hello())) is (hours > 6)
    # A clock that was set back is no pause.
    at[0] = evening - HOURS
    async with running(root, clock=clock, follow=False) as rig:
        assert await turn(plugin_of(rig), hello()) == ""
