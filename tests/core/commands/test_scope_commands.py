"""``/memory scope``: a conversation gets its scope in chat, for good, and nothing leaks."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from astrbot_plugin_scoped_memory.core.commands.commands import Commands
from astrbot_plugin_scoped_memory.llm_memory import (
    CognitiveService,
    MemoryDraft,
    NoticeCode,
    Rejected,
)
from astrbot_plugin_scoped_memory.tests.support.engines import (
    MAP,
    Rig,
    group,
    person,
    private,
    running,
)
from astrbot_plugin_scoped_memory.tests.support.panel import KEY, Panel
from astrbot_plugin_scoped_memory.tests.support.plugin import (
    FakeEvent,
    FakePlugin,
    ask_in_group,
)

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

HERE = "aiocqhttp:GroupMessage:555"


async def test_an_admin_maps_a_conversation_for_good_and_at_once(tmp_path: Path) -> None:
    panel = Panel(dict(MAP))
    async with running(tmp_path, follow=False) as rig:
        await rig.remember("早先在这里说的话", group(555))
        said = await ask_in_group(rig, panel, "scope 家人", admin=True)
        assert "“家人”" in said
        assert "留在公共域" in said
        assert "/记忆 域 取消" in said
        assert panel.saved[-1] == {**MAP, HERE: "家人"}
        await rig.remember("钥匙在花盆下面", group(555))
        assert await rig.texts("钥匙在哪", group(777))
        assert not await rig.texts("钥匙在哪", group(888))
        assert not await rig.texts("钥匙在哪", group(999))
        assert await rig.texts("早先在这里说的什么话", group(999))
    async with running(tmp_path, panel[KEY], follow=False) as rig:
        assert await rig.texts("钥匙在哪", group(555))
        assert not await rig.texts("钥匙在哪", group(999))


async def test_a_change_that_is_made_is_told_though_the_engine_closes_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, asked = CognitiveService.describe, []

    async def closed_afterwards(service: CognitiveService, **named: Any) -> Any:
        asked.append(named)
        if len(asked) > 1:
            await rig.engine.life.close()
        return await real(service, **named)

    monkeypatch.setattr(CognitiveService, "describe", closed_afterwards)
    async with running(tmp_path, follow=False) as rig:
        said = await ask_in_group(rig, Panel(dict(MAP)), "scope 家人", admin=True)
    assert len(asked) > 1
    assert "“家人”" in said
    assert "/记忆 域 取消" in said


async def test_public_and_off_are_words_of_their_own(tmp_path: Path) -> None:
    panel = Panel(dict(MAP))
    async with running(tmp_path, follow=False) as rig:
        await rig.remember("家里的事在这里说", group(777))
        said = await ask_in_group(rig, panel, "scope public", 777, admin=True)
        assert "所有会话都看得到" in said
        assert "“家人”" in said
        assert "/记忆 域 家人" in said
        assert panel[KEY]["aiocqhttp:GroupMessage:777"] == "public"
        assert not await rig.texts("家里的事", group(777))  # it stays where it was
        await ask_in_group(rig, panel, "scope 家人", 777, admin=True)
        assert await rig.texts("家里的事", group(777))
        said = await ask_in_group(rig, panel, "scope 取消", 777, admin=True)
        assert "aiocqhttp:GroupMessage:777" not in panel[KEY]
        assert not await rig.texts("家里的事", group(777))
        assert "本来就没有" in await ask_in_group(rig, panel, "scope off", 777, admin=True)


async def test_the_last_private_entry_goes_when_an_admin_says_so(tmp_path: Path) -> None:
    only = {"aiocqhttp:GroupMessage:777": "家人"}
    panel = Panel(dict(only))
    async with running(tmp_path, only, follow=False) as rig:
        await ask_in_group(rig, panel, "scope off", 777, admin=True)
        assert "不再有本会话" not in await ask_in_group(rig, panel, "scope", 777)
        report = await rig.engine.service.describe(conversation_id=group(777))
        assert report.damaged is False
    async with running(tmp_path, {}, follow=False) as rig:
        report = await rig.engine.service.describe(conversation_id=group(777))
        assert report.damaged is False


@pytest.mark.parametrize("name", ["家 人", "a/b", "dm-1", "con", "长" * 65, "😀"])
async def test_an_illegal_name_changes_nothing_and_says_why(tmp_path: Path, name: str) -> None:
    panel = Panel(dict(MAP))
    async with running(tmp_path, follow=False) as rig:
        said = await ask_in_group(rig, panel, f"scope {name}", admin=True)
        assert "不能当域名" in said
        assert (panel.saved, panel[KEY]) == ([], MAP)


async def test_what_cannot_be_saved_is_not_done(tmp_path: Path) -> None:
    panel = Panel(dict(MAP), full=True)
    async with running(tmp_path, follow=False) as rig:
        said = await ask_in_group(rig, panel, "scope 家人", admin=True)
        assert "Read-only" in said
        assert panel[KEY] == MAP
        await rig.remember("这句话归公共", group(555))
        assert await rig.texts("哪句话归公共", group(999))
        panel.full, panel.overtaken = False, True
        assert "再发一次" in await ask_in_group(rig, panel, "scope 家人", admin=True)
        assert "public" in await ask_in_group(rig, panel, "scope")


async def test_ten_conversations_are_mapped_at_once_and_none_is_lost(tmp_path: Path) -> None:
    panel = Panel(dict(MAP))
    numbers = range(600, 610)
    async with running(tmp_path, follow=False) as rig:
        plugin = FakePlugin(rig, panel=panel)
        commands = Commands(cast("Any", plugin))

        async def mapped(number: int) -> str:
            event = FakeEvent.in_group(number, f"memory scope 域{number}", admin=True)
            return await commands.answer(cast("Any", event), commands.scope)

        said = await asyncio.gather(*map(mapped, numbers))
        assert all(f"域{number}" in one for number, one in zip(numbers, said, strict=True))
        written = {f"aiocqhttp:GroupMessage:{number}": f"域{number}" for number in numbers}
        assert panel[KEY] == MAP | written
        await asyncio.gather(*(rig.remember(f"第{n}处的暗号", group(n)) for n in numbers))
        for number in numbers:
            listed = await rig.engine.service.newest(conversation_id=group(number))
            assert [one.memory.judgment for one in listed] == [f"第{number}处的暗号"]


async def test_a_page_opened_before_that_writes_the_map_over_publishes_nothing(
    tmp_path: Path,
) -> None:
    panel = Panel(dict(MAP))
    async with running(tmp_path, follow=False) as rig:
        await ask_in_group(rig, panel, "scope 家人", admin=True)
        await rig.remember("门闩在花盆下面", group(555))
    for _ in range(2):  # once more, for it must stand across starts
        async with running(tmp_path, MAP, follow=False) as rig:
            codes = {notice.code for notice in (await rig.engine.status()).notices}
            assert NoticeCode.MAP_WRITTEN_OVER in codes
            assert NoticeCode.MAP_DAMAGED not in codes
            assert "只能读公共记忆" in await ask_in_group(rig, panel, "scope")
            assert await rig.texts("门闩在哪里", group(777)) == ["门闩在花盆下面"]
            for number in (555, 999):
                assert await rig.texts("门闩在哪里", group(number)) == []
            draft = MemoryDraft("灯绳在门后面", actor=person(10001))
            outcome = await rig.engine.service.remember(draft, conversation_id=group(555))
            assert isinstance(outcome, Rejected)
    async with running(tmp_path, MAP, follow=False) as rig:
        panel = Panel(dict(MAP))
        await ask_in_group(rig, panel, "scope 家人", admin=True)
        codes = {notice.code for notice in (await rig.engine.status()).notices}
        assert NoticeCode.MAP_WRITTEN_OVER not in codes
        await rig.remember("钥匙在花盆下面", group(555))
        assert await rig.texts("钥匙在哪", group(777))


async def test_a_key_that_the_panel_has_shown_since_may_be_taken_out_there(tmp_path: Path) -> None:
    panel = Panel(dict(MAP))
    async with running(tmp_path, follow=False) as rig:
        await ask_in_group(rig, panel, "scope 家人", admin=True)
    async with running(tmp_path, panel[KEY], follow=False):
        pass
    async with running(tmp_path, MAP, follow=False) as rig:
        codes = {notice.code for notice in (await rig.engine.status()).notices}
        assert NoticeCode.MAP_WRITTEN_OVER not in codes
        assert "public" in await ask_in_group(rig, panel, "scope")


async def test_an_admin_confirms_that_it_is_not_wanted_any_more(tmp_path: Path) -> None:
    panel = Panel(dict(MAP))
    async with running(tmp_path, follow=False) as rig:
        await ask_in_group(rig, panel, "scope 家人", admin=True)
    async with running(tmp_path, MAP, follow=False) as rig:
        await ask_in_group(rig, panel, "scope confirm", admin=True)
        assert "public" in await ask_in_group(rig, panel, "scope")
    async with running(tmp_path, MAP, follow=False) as rig:
        assert "public" in await ask_in_group(rig, panel, "scope")


async def test_a_key_that_is_nearly_this_one_is_named_here_to_admins(tmp_path: Path) -> None:
    near = {"aiocqhttp:GroupMessage:5555": "读书会", **MAP}
    async with running(tmp_path, near, follow=False) as rig:
        told = await ask_in_group(rig, Panel(near), "scope", admin=True)
        assert "GroupMessage:5555" in told
        assert "读书会" in told
        assert "5555" not in await ask_in_group(rig, Panel(near), "scope")


async def test_a_private_chat_is_mapped_too(tmp_path: Path) -> None:
    panel = Panel(dict(MAP))
    async with running(tmp_path, follow=False) as rig:
        plugin = FakePlugin(rig, panel=panel)
        commands = Commands(cast("Any", plugin))
        event = FakeEvent.in_private(4242, "memory scope 家人", admin=True)
        assert "家人" in await commands.answer(cast("Any", event), commands.scope)
        assert panel[KEY]["aiocqhttp:FriendMessage:4242"] == "家人"
        await rig.remember("钥匙在花盆下面", private(4242))
        assert await rig.texts("钥匙在哪", group(777))


async def test_without_a_configuration_that_says_so(rig: Rig) -> None:
    assert "没有改动" in await ask_in_group(rig, cast("Any", None), "scope 家人", admin=True)
