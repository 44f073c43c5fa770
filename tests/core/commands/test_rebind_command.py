"""``/memory scope rebind``: a chat or an account goes on under another name, with all it had."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from astrbot_plugin_scoped_memory.core.deepmind import DeepMind
from astrbot_plugin_scoped_memory.llm_memory import (
    ConversationId,
    GroupScope,
    ReadPublicOnly,
    Turn,
)
from astrbot_plugin_scoped_memory.llm_memory.errors import VaultWriteFailed
from astrbot_plugin_scoped_memory.llm_memory.models.rebinding import Rebinding
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope
from astrbot_plugin_scoped_memory.llm_memory.models.settings import DmScope
from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES
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
from astrbot_plugin_scoped_memory.tests.support.plugin import (
    FakePlugin,
    ask_in_group,
)

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

ADMIN = person(9, "管理员", admin=True)
OLD, NEW = f"{ADAPTER}:GroupMessage:777", f"{ADAPTER}:GroupMessage:7770"
QUESTION, ANSWER = "王姐下周做什么", "王姐下周去医院做手术"


def on(account: str, where: ConversationId) -> ConversationId:
    """The same conversation of another bot account."""
    return replace(where, umo=f"{account}:{where.umo.partition(':')[2]}", account=account)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("words", [f"rebind {OLD} {NEW}", f"改绑 {OLD} → {NEW}", "rebind " + OLD])
async def test_a_chat_keeps_under_its_new_id_what_it_had(
    tmp_path: Path, words: str, language: str
) -> None:
    panel = Panel(dict(MAP))
    async with running(tmp_path, follow=False) as rig:
        await rig.remember(ANSWER, group(777))
        assert not await rig.texts(QUESTION, group(7770))
        said = await ask_in_group(rig, panel, f"scope {words}", 7770, admin=True, language=language)
        assert OLD in said
        assert NEW in said
        assert await rig.texts(QUESTION, group(7770))
        assert await rig.texts(QUESTION, group(777))  # what still comes under the former id
        assert not await rig.texts(QUESTION, group(999))
    assert panel[KEY] == {NEW: "家人"} | {key: MAP[key] for key in MAP if key != OLD}
    async with running(tmp_path, panel[KEY], follow=False) as rig:
        assert await rig.texts(QUESTION, group(7770))
        stored = await rig.remember("手术在市一院", group(777))
        assert stored.memory.scope.name == "家人"
        undone = await ask_in_group(rig, panel, "scope rebind undo", admin=True, language=language)
        assert OLD in undone
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
    places = {ANSWER: group(777), "合同在保险柜里": group(888), "帐篷在阁楼里": group(555)}
    said_alone = {"存折在花盆下面": private(31)}
    async with running(tmp_path, settings=settings, follow=False) as rig:
        for text, place in (places | said_alone).items():
            await rig.engine.service.conversations.meet(place, person(31))
            await rig.remember(text, place, person(31))
        await rig.engine.service.pause(conversation_id=group(888), actor=ADMIN)
    async with running(tmp_path, settings=settings, follow=False, accounts=renamed) as rig:
        said = await ask_in_group(rig, panel, f"scope rebind {ADAPTER} qq2", admin=True)
        assert "qq2" in said
        for text, place in (places | said_alone).items():
            where = on("qq2", place)
            if place == group(888):
                assert rig.engine.service.conversations.paused_since(where)
            else:
                assert await rig.texts(text, where), text
            assert not await rig.texts(text, on("qq2", group(4321)))
            assert not await rig.texts(text, on("qq2", private(4321)))
    assert panel[KEY] == {key.replace(ADAPTER, "qq2", 1): scope for key, scope in MAP.items()}
    after = {"qq2": "per-account-channel-peer"}
    assert panel["advanced"] == {"dm_scope_by_account": after, "other": 1}
    settings = replace(settings, dm_scope_by_account={"qq2": DmScope.PER_ACCOUNT_CHANNEL_PEER})
    both = renamed | {ADAPTER}
    async with running(tmp_path, panel[KEY], settings=settings, follow=False, accounts=both) as rig:
        for text, place in (places | said_alone).items():
            if place != group(888):
                assert await rig.texts(text, on("qq2", place)), text
        await ask_in_group(rig, panel, "scope rebind 撤销", admin=True)
        assert (panel[KEY], panel["advanced"]["dm_scope_by_account"]) == (MAP, policies)
        for text, place in (places | said_alone).items():
            if place != group(888):
                assert await rig.texts(text, place), text
                assert not await rig.texts(text, on("qq2", place)), text


@pytest.mark.parametrize(
    ("words", "key"),
    [
        ("", "usage"),
        ("a b c", "usage"),
        (f"{ADAPTER} qq2", "old_lives"),
        (f"gone:GroupMessage:1 {NEW}", "nothing"),
        (f"{OLD} {ADAPTER}:FriendMessage:5", "form"),
        (f"{OLD} qq2", "form"),
        (f"{OLD} {OLD}", "same"),
        (f"{OLD} gone:GroupMessage:1", "no_account"),
        (f"{OLD} {ADAPTER}:GroupMessage:888", "taken"),
        ("undo", "nothing_to_undo"),
    ],
)
async def test_what_cannot_be_rebound_is_refused_in_words(
    tmp_path: Path, words: str, key: str
) -> None:
    panel, there = Panel(dict(MAP)), frozenset({ADAPTER, "qq2"})
    async with running(tmp_path, follow=False, accounts=there) as rig:
        said = await ask_in_group(rig, panel, f"scope rebind {words}", admin=True)
        names = dict(zip(("old", "new"), [*words.split(), "", ""], strict=False))
        assert said == FakePlugin(rig).texts.say(f"rebind.{key}", **names)
        assert (panel.saved, panel[KEY]) == ([], MAP)


async def test_what_the_platform_moved_is_held_until_the_map_could_be_saved(tmp_path: Path) -> None:
    panel = Panel(dict(MAP), full=True)
    async with running(tmp_path, follow=False) as rig:
        plugin = FakePlugin(rig, panel=panel)
        DeepMind(cast("Any", plugin)).chat_moved(OLD, NEW)
        report = await rig.engine.service.describe(conversation_id=group(7770))
        assert isinstance(report.resolution, ReadPublicOnly)
        await plugin.settled()
        told = plugin.texts.say("notice.successor", key=NEW, former=OLD)
        assert told not in await ask_in_group(rig, panel, "scope", 999)
        assert told in await ask_in_group(rig, panel, "scope", 999, admin=True)
        assert told not in await ask_in_group(rig, panel, "scope", 999, admin=True)
    panel.full = False
    async with running(tmp_path, panel[KEY], follow=False) as rig:
        report = await rig.engine.service.describe(conversation_id=group("7770#5"))
        assert isinstance(report.resolution, ReadPublicOnly)
        status = await rig.engine.status()
        plugin = FakePlugin(rig, panel=panel)
        assert any(NEW in text and OLD in text for text in plugin.warnings(status))
        await ask_in_group(rig, panel, f"scope rebind {OLD}", 7770, admin=True)
        assert (await rig.remember(ANSWER, group(7770))).memory.scope.name == "家人"
        assert not plugin.warnings(await rig.engine.status())


async def test_a_chat_that_the_platform_moved_stays_paused_and_is_moved_once(
    tmp_path: Path,
) -> None:
    panel = Panel(dict(MAP))
    async with running(tmp_path, follow=False) as rig:
        await rig.engine.service.pause(conversation_id=group(777), actor=ADMIN)
        for old, new in ((OLD, NEW), (OLD, NEW), (f"{ADAPTER}:GroupMessage:1", NEW + "1")):
            plugin = FakePlugin(rig, panel=panel)
            DeepMind(cast("Any", plugin)).chat_moved(old, new)
            await plugin.settled()
        service = rig.engine.service
        assert service.conversations.paused_since(group(7770))
        assert len(panel.saved) == 1
        await service.resume(conversation_id=group(7770), actor=ADMIN)
        assert (await rig.remember(ANSWER, group(7770))).memory.scope.name == "家人"
        stranger = await rig.remember("别的群在聊天气", group(77701))
        assert stranger.memory.scope.name == "public"


async def test_a_chat_that_a_policy_isolates_takes_its_scope_and_its_turns_along(
    tmp_path: Path,
) -> None:
    settings, panel = replace(QUICK, group_scope=GroupScope.PER_GROUP), Panel({})
    async with running(tmp_path, {}, settings=settings, follow=False) as rig:
        service = rig.engine.service
        await service.conversations.meet(group(777), person(1))
        await rig.remember(ANSWER, group(777))
        turn = Turn(person(1), "手术安排在市一院三楼", "记下了")
        await service.observe(turn, conversation_id=group(777))
        said = await ask_in_group(rig, panel, f"scope rebind {OLD} {NEW}", admin=True)
        assert FakePlugin(rig).texts.say("rebind.brought", count=1, turns=1) in said
        assert len(await rig.texts(QUESTION, group(7770))) == 1
        assert not await rig.texts(QUESTION, group(778))
        assert panel.saved == []
        await ask_in_group(rig, panel, "scope rebind undo", admin=True)
        assert not await rig.texts(QUESTION, group(7770))
        assert len(await rig.texts(QUESTION, group(777))) == 1


@pytest.mark.parametrize("restarted", [False, True])
async def test_what_failed_on_its_way_goes_on_when_it_is_asked_for_again(
    tmp_path: Path, restarted: bool
) -> None:
    """It is done once, and undone as a whole."""
    settings, panel = replace(QUICK, group_scope=GroupScope.PER_GROUP), Panel({})
    again = f"scope rebind {OLD} {NEW}"
    async with running(tmp_path, {}, settings=settings, follow=False) as rig:
        await rig.engine.service.conversations.meet(group(777), person(1))
        await rig.remember(ANSWER, group(777))
        await rig.engine.service.pause(conversation_id=group(777), actor=ADMIN)
        vault = rig.engine.parts.vault

        def refuse(scope: Scope) -> None:
            del vault.ensure  # type: ignore[method-assign]
            raise VaultWriteFailed("no space left on device")

        vault.ensure = refuse  # type: ignore[method-assign, assignment]
        failed = await ask_in_group(rig, panel, again, admin=True)
        assert NEW not in failed
        if not restarted:
            await told_that_it_goes_on(rig, panel, again)
    if restarted:
        async with running(tmp_path, {}, settings=settings, follow=False) as rig:
            await told_that_it_goes_on(rig, panel, again)


async def told_that_it_goes_on(rig: Rig, panel: Panel, again: str) -> None:
    say = FakePlugin(rig).texts.say
    service = rig.engine.service
    assert service.conversations.paused_since(group(7770))
    await service.resume(conversation_id=group(7770), actor=ADMIN)
    assert say("rebind.brought", count=1, turns=0) in await ask_in_group(
        rig, panel, again, admin=True
    )
    assert await rig.texts(QUESTION, group(7770))
    assert not service.conversations.paused_since(group(7770))
    nothing = say("rebind.nothing", old=OLD, new=NEW)
    assert await ask_in_group(rig, panel, again, admin=True) == nothing
    await service.resume(conversation_id=group(777), actor=ADMIN)
    await ask_in_group(rig, panel, "scope rebind undo", admin=True)
    assert not await rig.texts(QUESTION, group(7770))
    assert await rig.texts(QUESTION, group(777))
    nothing = say("rebind.nothing_to_undo")
    assert await ask_in_group(rig, panel, "scope rebind undo", admin=True) == nothing


async def test_killed_before_the_map_was_saved_it_goes_on_and_is_undone_once(
    tmp_path: Path,
) -> None:
    panel = Panel(dict(MAP))
    async with running(tmp_path, follow=False) as rig:
        await rig.remember(ANSWER, group(777))
        rebinds = rig.engine.service.admin.rebinds
        plan = await rebinds.plan(dict(MAP), OLD, NEW)
        assert isinstance(plan, Rebinding)
        await rebinds.begin(plan)
    async with running(tmp_path, follow=False) as rig:
        await ask_in_group(rig, panel, f"scope rebind {OLD} {NEW}", admin=True)
        assert panel[KEY][NEW] == "家人"
        assert await rig.texts(QUESTION, group(7770))
        await ask_in_group(rig, panel, "scope rebind undo", admin=True)
        assert panel[KEY] == MAP
        nothing = FakePlugin(rig).texts.say("rebind.nothing_to_undo")
        assert await ask_in_group(rig, panel, "scope rebind undo", admin=True) == nothing
