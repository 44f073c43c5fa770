"""``/memory scope rebind``: a chat or an account goes on under another name, with all it had."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from astrbot_plugin_scoped_memory.core.deepmind import DeepMind
from astrbot_plugin_scoped_memory.llm_memory import (
    ConversationId,
    GroupScope,
    Usable,
)
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
QUESTION, ANSWER = "王姐下周做什么", "王姐下周去医院做手术"


def on(account: str, where: ConversationId) -> ConversationId:
    """The same conversation of another bot account."""
    return replace(where, umo=f"{account}:{where.umo.partition(':')[2]}", account=account)


@pytest.mark.parametrize("words", [f"rebind {OLD} {NEW}", f"改绑 {OLD} → {NEW}", "rebind " + OLD])
async def test_a_chat_keeps_under_its_new_id_what_it_had(tmp_path: Path, words: str) -> None:
    panel = Panel(dict(MAP))
    async with running(tmp_path, follow=False) as rig:
        await rig.remember(ANSWER, group(777))
        assert not await rig.texts(QUESTION, group(7770))
        await Desk(rig, panel=panel)(f"scope {words}", 7770)
        assert await rig.texts(QUESTION, group(7770))
        assert await rig.texts(QUESTION, group(777))  # what still comes under the former id
        assert not await rig.texts(QUESTION, group(999))
    assert panel[KEY] == {NEW: "家人"} | {key: MAP[key] for key in MAP if key != OLD}
    async with running(tmp_path, panel[KEY], follow=False) as rig:
        assert await rig.texts(QUESTION, group(7770))
        stored = await rig.remember("手术在市一院", group(777))
        assert stored.memory.scope.name == "家人"
        await Desk(rig, panel=panel)("scope rebind undo")
        assert panel[KEY] == MAP
        assert not await rig.texts(QUESTION, group(7770))
        assert await rig.texts(QUESTION, group(777))


async def test_a_renamed_account_takes_all_its_conversations_along(tmp_path: Path) -> None:
    """What the map names and what a policy derived, pauses and the policy of the account."""
    renamed = frozenset({"qq2"})
    settings = replace(
        QUICK,
        group_scope=GroupScope.PER_GROUP,
        dm_scope=DmScope.PUBLIC,
        dm_scope_by_account={ADAPTER: DmScope.PER_ACCOUNT_CHANNEL_PEER},
    )
    policies = {ADAPTER: "per-account-channel-peer"}
    panel = Panel(dict(MAP))
    panel["advanced"] = {"dm_scope_by_account": policies, "other": 1}
    said = {ANSWER: group(777), "帐篷在阁楼里": group(555), "存折在花盆下面": private(31)}
    async with running(tmp_path, settings=settings, follow=False) as rig:
        for text, place in said.items():
            await rig.engine.service.conversations.meet(place, person(31))
            await rig.remember(text, place, person(31))
        await rig.engine.service.pause(conversation_id=group(888), actor=ADMIN)
    async with running(tmp_path, settings=settings, follow=False, accounts=renamed) as rig:
        await Desk(rig, panel=panel)(f"scope rebind {ADAPTER} qq2")
        assert rig.engine.service.conversations.pause_of(on("qq2", group(888)))
        for text, place in said.items():
            for where in (place, group(4321), private(4321)):
                assert bool(await rig.texts(text, on("qq2", where))) is (where is place), text
    assert panel[KEY] == {key.replace(ADAPTER, "qq2", 1): scope for key, scope in MAP.items()}
    after = {"qq2": "per-account-channel-peer"}
    assert panel["advanced"] == {"dm_scope_by_account": after, "other": 1}
    settings = replace(settings, dm_scope_by_account={"qq2": DmScope.PER_ACCOUNT_CHANNEL_PEER})
    both = renamed | {ADAPTER}
    async with running(tmp_path, panel[KEY], settings=settings, follow=False, accounts=both) as rig:
        for account in ("qq2", ADAPTER):
            for text, place in said.items():
                assert await rig.texts(text, on(account, place)), text
                if account == ADAPTER:
                    assert not await rig.texts(text, on("qq2", place)), text
            if account == "qq2":
                await Desk(rig, panel=panel)("scope rebind 撤销")
        assert (panel[KEY], panel["advanced"]["dm_scope_by_account"]) == (MAP, policies)


async def test_what_cannot_be_rebound_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    panel, there = Panel(dict(MAP)), frozenset({ADAPTER, "qq2"})
    async with running(tmp_path, follow=False, accounts=there) as rig:
        desk = Desk(rig, panel=panel)
        for words, key in (
            ("a b c", "usage"),
            (f"gone:GroupMessage:1 {NEW}", "never_met"),
            (f"{OLD} {ADAPTER}:FriendMessage:5", "not_alike"),
            (f"{OLD} gone:GroupMessage:1", "no_account"),
        ):
            said = await desk(f"scope rebind {words}")
            named = "gone:GroupMessage:1"
            group_of = "rebind" if key == "usage" else "reject"
            assert said == desk.say(f"{group_of}.{key}", detail=named)
        assert (panel.saved, panel[KEY]) == ([], MAP)


async def moved(rig: Rig, panel: Panel, old: str, new: str) -> None:
    """The platform says so."""
    plugin = FakePlugin(rig, panel=panel)
    DeepMind(cast("Any", plugin)).chat_moved(old, new)
    at_once = await rig.engine.service.describe(conversation_id=ConversationId.parse(new))
    assert isinstance(at_once.resolution, Usable)
    await plugin.settled()


async def test_what_the_platform_moved_keeps_its_scope_though_the_map_cannot_be_saved(
    tmp_path: Path,
) -> None:
    panel = Panel(dict(MAP), full=True)
    async with running(tmp_path, follow=False) as rig:
        await moved(rig, panel, OLD, NEW)
    async with running(tmp_path, panel[KEY], follow=False) as rig:
        for where in (group(7770), group("7770#5")):
            report = await rig.engine.service.describe(conversation_id=where)
            assert isinstance(report.resolution, Usable)
            assert report.resolution.scope.name == "家人"
        assert (await rig.engine.status()).notices == ()


async def test_a_chat_that_the_platform_moved_stays_paused_and_is_moved_once(
    tmp_path: Path,
) -> None:
    panel = Panel(dict(MAP))
    async with running(tmp_path, follow=False) as rig:
        await rig.engine.service.pause(conversation_id=group(777), actor=ADMIN)
        for old, new in ((OLD, NEW), (OLD, NEW), (f"{ADAPTER}:GroupMessage:1", NEW + "1")):
            await moved(rig, panel, old, new)
        service = rig.engine.service
        assert service.conversations.pause_of(group(7770))
        assert len(panel.saved) == 1
        await service.resume(conversation_id=group(7770), actor=ADMIN)
        assert (await rig.remember(ANSWER, group(7770))).memory.scope.name == "家人"
        stranger = await rig.remember("别的群在聊天气", group(77701))
        assert stranger.memory.scope.name == "public"


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
        desk, service = Desk(rig, panel=panel), rig.engine.service
        assert all(service.conversations.pause_of(group(n)) for n in (777, 7770)[saved:])
        for _ in range(2):
            await desk(again)
            assert service.conversations.pause_of(group(7770))
        for number in (777, 7770):
            await service.resume(conversation_id=group(number), actor=ADMIN)
            assert await rig.texts(QUESTION, group(number))
        assert await desk(again) == desk.say("reject.never_met", detail=OLD)
        await desk("scope rebind undo")
        assert not await rig.texts(QUESTION, group(7770))
        assert await rig.texts(QUESTION, group(777))
        assert await desk("scope rebind undo") == desk.say("rebind.nothing_to_undo")
