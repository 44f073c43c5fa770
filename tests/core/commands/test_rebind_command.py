"""``/memory scope rebind``: a chat or an account goes on under another name, with all it had."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from astrbot_plugin_scoped_memory.core.deepmind import DeepMind
from astrbot_plugin_scoped_memory.llm_memory import ConversationId, GroupScope
from astrbot_plugin_scoped_memory.llm_memory.models.resolution import Rebinding
from astrbot_plugin_scoped_memory.llm_memory.models.settings import DmScope
from astrbot_plugin_scoped_memory.tests.support.engines import (
    ADAPTER,
    MAP,
    QUICK,
    Rig,
    group,
    person,
    private,
    running,
)
from astrbot_plugin_scoped_memory.tests.support.panel import KEY, Panel
from astrbot_plugin_scoped_memory.tests.support.plugin import Desk, FakePlugin

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

ADMIN = person(9, "管理员", admin=True)
OLD, NEW = f"{ADAPTER}:GroupMessage:777", f"{ADAPTER}:GroupMessage:7770"
HERS = private(5)
QUESTION, ANSWER = "王姐下周做什么", "王姐下周去医院做手术"


async def told_in(rig: Rig, *numbers: int) -> list[int]:
    return [one for one in numbers if await rig.texts(QUESTION, group(one))]


def paused(rig: Rig, *numbers: int) -> list[int]:
    pause_of = rig.engine.service.pause_of
    return [number for number in numbers if pause_of(group(number))]


async def moved(rig: Rig, panel: Panel, old: str, new: str) -> None:
    plugin = FakePlugin(rig, panel=panel)
    DeepMind(cast("Any", plugin)).chat_moved(old, new)
    at_once = await rig.engine.service.describe(conversation_id=ConversationId.parse(new))
    assert at_once.resolution.scope
    await plugin.settled()


@pytest.mark.parametrize("words", [f"rebind {OLD} {NEW}", f"改绑 {OLD} → {NEW}", "rebind " + OLD])
async def test_a_chat_keeps_under_its_new_id_what_it_had(tmp_path: Path, words: str) -> None:
    panel = Panel(dict(MAP))
    async with running(tmp_path, follow=False) as rig:
        await rig.remember(ANSWER, group(777))
        assert await told_in(rig, 777, 7770) == [777]
        await Desk(rig, panel=panel)(f"scope {words}", 7770)
        assert await told_in(rig, 777, 7770, 999) == [777, 7770]
    assert panel[KEY] == {NEW: "家人"} | {key: MAP[key] for key in MAP if key != OLD}
    async with running(tmp_path, panel[KEY], follow=False) as rig:
        stored = await rig.remember("手术在市一院", group(777))
        assert (await told_in(rig, 7770), stored.memory.scope.name) == ([7770], "家人")
        await Desk(rig, panel=panel)(f"scope rebind {NEW} {OLD}")
        assert panel[KEY] == MAP
        assert await told_in(rig, 777, 7770) == [777]


def on(account: str, where: ConversationId = HERS) -> ConversationId:
    return replace(where, umo=f"{account}:{where.umo.partition(':')[2]}", account=account)


async def test_a_renamed_account_takes_all_its_conversations_along(tmp_path: Path) -> None:
    """What the map names and what a policy derived, pauses and the policy of the account."""
    each = DmScope.PER_ACCOUNT_CHANNEL_PEER
    settings = replace(QUICK, group_scope=GroupScope.PER_GROUP, dm_scope_by_account={ADAPTER: each})
    open_ = partial(running, tmp_path, follow=False, settings=settings)
    panel, said = Panel(dict(MAP)), {ANSWER: group(777), "存折在花盆下面": private(31)}
    async with open_() as rig:
        for text, place in said.items():
            await rig.engine.service.meet(place, person(31))
            await rig.remember(text, place, person(31))
        await rig.engine.service.pause(conversation_id=group(888), actor=ADMIN)
    async with open_(accounts=frozenset({"qq2"})) as rig:
        await Desk(rig, panel=panel)(f"scope rebind {ADAPTER} qq2")
        assert rig.engine.service.pause_of(on("qq2", group(888)))
        for text, place in said.items():
            for where in (place, group(4321), private(4321)):
                assert bool(await rig.texts(text, on("qq2", where))) is (where is place), text
    assert panel[KEY] == {key.replace(ADAPTER, "qq2", 1): scope for key, scope in MAP.items()}
    async with open_(panel[KEY], accounts=frozenset({"qq2", ADAPTER})) as rig:
        await Desk(rig, panel=panel)(f"scope rebind qq2 {ADAPTER}")
        for text, place in said.items():
            assert await rig.texts(text, place), text
            assert not await rig.texts(text, on("qq2", place)), text
    assert panel[KEY] == MAP


@pytest.mark.parametrize(
    ("before", "spoken", "after"),
    [
        ("", "a", ["a b", "c b"]),  # two accounts became one
        ("a b", "b", ["b a"]),
        ("a b", "a", ["b a"]),
        ("a b,b c", "c", ["a b"]),  # it is said again
    ],
)
async def test_what_is_paused_stays_so_under_each_name_it_ever_had(
    tmp_path: Path, before: str, spoken: str, after: list[str]
) -> None:
    panel = Panel({})
    async with running(tmp_path, {}, follow=False) as rig:
        service, desk = rig.engine.service, Desk(rig, panel=panel)
        for account in "abc":
            await service.meet(on(account), person(5, admin=True))
        for names in (*filter(None, before.split(",")), "", *after):
            panel[KEY] = {"a:GroupMessage:1": "家人"}  # the owner has put it back
            if names:
                assert desk.say("rebind.done", old=names[0], new=names[2]) in await desk(
                    f"scope rebind {names}"
                )
            else:
                await service.pause(conversation_id=on(spoken), actor=ADMIN)
        there = sorted({*before, *"".join(after)} - {" ", ","})
        assert [one for one in there if not service.pause_of(on(one))] == []
        assert not service.pause_of(on("a", private(6)))


async def test_a_pause_that_is_said_again_under_the_new_name_has_its_end(tmp_path: Path) -> None:
    end = datetime.now(UTC) + timedelta(minutes=10)
    async with running(tmp_path, follow=False) as rig:
        service = rig.engine.service
        await service.pause(conversation_id=group(777), actor=ADMIN)
        await Desk(rig, panel=Panel(dict(MAP)))(f"scope rebind {OLD} {NEW}")
        await service.pause(conversation_id=group(7770), actor=ADMIN, until=end)
        for number in (777, 7770):
            assert (pause := service.pause_of(group(number)))
            assert pause.until == end
        assert (await rig.engine.status()).loop.paused == 1


async def test_no_account_is_rebound_to_one_that_the_policies_do_not_name(tmp_path: Path) -> None:
    """A former version moved the account's policy to its new name."""
    settings = replace(QUICK, dm_scope_by_account={"qq2": DmScope.PER_PEER})
    async with running(tmp_path, {}, follow=False, settings=settings) as rig:
        await rig.engine.service.meet(private(31), person(31))
        desk, book = Desk(rig, panel=Panel({})), rig.engine.parts.book
        await book.rebind([Rebinding(ADAPTER, "qq2")])
        refused = desk.say("reject.no_policy", detail=ADAPTER)
        assert refused in await desk(f"scope rebind qq2 {ADAPTER}")
        assert not book.resolve(private(31)).scope.is_public


@pytest.mark.parametrize("full", [True, False])
async def test_a_chat_that_the_platform_moved_keeps_its_scope_and_its_pause(
    tmp_path: Path, full: bool
) -> None:
    """Also where the map cannot be saved; and it is moved once."""
    panel = Panel(dict(MAP), full=full)
    async with running(tmp_path, follow=False) as rig:
        await rig.engine.service.pause(conversation_id=group(777), actor=ADMIN)
        for old, new in ((OLD, NEW), (OLD, NEW), (f"{ADAPTER}:GroupMessage:1", NEW + "1")):
            await moved(rig, panel, old, new)
        assert paused(rig, 7770) == [7770]
        assert full or len(panel.saved) == 1
        await rig.engine.service.resume(conversation_id=group(7770), actor=ADMIN)
    async with running(tmp_path, panel[KEY], follow=False) as rig:
        for number, scope in ((7770, "家人"), ("7770#5", "家人"), (77701, "public")):
            stored = await rig.remember(f"{number}在聊天气", group(number))
            assert stored.memory.scope.name == scope
        assert (await rig.engine.status()).notices == ()


@pytest.mark.parametrize("saved", [True, False])
@pytest.mark.parametrize("by_platform", [True, False])
async def test_cut_off_at_any_moment_a_paused_chat_is_off_the_record_under_both_names(
    tmp_path: Path, saved: bool, by_platform: bool
) -> None:
    """As the map is being saved, or has just been; then it is asked for again, and undone."""
    panel, again = Panel(dict(MAP)), f"scope rebind {OLD} {NEW}"

    class Killed(BaseException):
        pass

    async def killed() -> bool:
        if saved:
            await keep()
        raise Killed

    async with running(tmp_path, follow=False) as rig:
        await rig.remember(ANSWER, group(777))
        await rig.engine.service.pause(conversation_id=group(777), actor=ADMIN)
        before, keep = dict(panel[KEY]), panel.save_config_async
        panel.save_config_async = killed  # type: ignore[method-assign]
        with suppress(Killed):
            await (moved(rig, panel, OLD, NEW) if by_platform else Desk(rig, panel=panel)(again))
        panel.save_config_async = keep  # type: ignore[method-assign]
        panel[KEY] = panel.saved[-1] if saved else before
    async with running(tmp_path, panel[KEY], follow=False) as rig:
        desk = Desk(rig, panel=panel)
        assert paused(rig, 777, 7770)[saved:] == [777, 7770][saved:]
        for _ in range(2):
            await desk(again)
            assert paused(rig, 7770) == [7770]
        await rig.engine.service.resume(conversation_id=group(7770), actor=ADMIN)
        assert paused(rig, 777, 7770) == []
        assert await told_in(rig, 777, 7770) == [777, 7770]
        assert await desk(again) == desk.say("reject.never_met", detail=OLD)
        await desk(f"scope rebind {NEW} {OLD}")
        assert await told_in(rig, 777, 7770) == [777]
