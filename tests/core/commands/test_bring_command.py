"""``/memory scope bring``, in two languages: who is told what, and who may bring it along."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from astrbot_plugin_scoped_memory.core.host.web_api import status_json
from astrbot_plugin_scoped_memory.llm_memory import DmScope
from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES
from astrbot_plugin_scoped_memory.tests.support.engines import QUICK, Rig, person, private, running
from astrbot_plugin_scoped_memory.tests.support.plugin import (
    FakeEvent,
    FakePlugin,
    answered,
)

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

PER_PEER = replace(QUICK, dm_scope=DmScope.PER_PEER)
LINKED = replace(PER_PEER, identity_links={"aiocqhttp:1": "小明"})
PUBLIC = replace(QUICK, dm_scope=DmScope.PUBLIC)


async def ask(
    rig: Rig, words: str, number: int = 1, *, admin: bool = False, language: str = "zh-CN"
) -> str:
    """What the plugin answers to ``memory …`` in a private chat."""
    event = FakeEvent.in_private(number, f"memory {words}", admin=admin)
    return await answered(rig, event, language) or ""


async def left_behind(root: Path) -> str:
    """Two memories in a scope of ``per-peer``; its name."""
    async with running(root, {}, settings=PER_PEER, follow=False) as rig:
        await rig.engine.service.conversations.meet(private(1), person(1))
        for text in ("存折放在饼干盒里", "备用钥匙在花盆下面"):
            stored = await rig.remember(text, private(1), person(1))
        return stored.memory.scope.name


@pytest.mark.parametrize("language", LANGUAGES)
async def test_its_person_is_told_an_admin_brings_and_undoes(tmp_path: Path, language: str) -> None:
    former = await left_behind(tmp_path)
    async with running(tmp_path, {}, settings=LINKED, follow=False) as rig:
        told = await ask(rig, "scope", language=language)
        assert former in told
        assert " 2 " in told
        bring = "/记忆 域 带来" if language == "zh-CN" else "/memory scope bring"
        assert f"{bring} {former}" in told
        assert former not in await ask(rig, "scope", 2, language=language)
        assert former not in await ask(rig, "status", language=language)
        assert former in await ask(rig, "status", 9, admin=True, language=language)
        refused = await ask(rig, "scope bring", language=language)
        assert former not in refused
        assert former in await ask(rig, "scope", language=language)
        nothing = await ask(rig, "scope bring", 9, admin=True, language=language)
        assert former not in nothing
        words = f"scope 带来 {former}"
        brought = await ask(rig, words, 9, admin=True, language=language)
        assert former in brought
        assert ("/记忆 撤销" if language == "zh-CN" else "/memory undo") in brought
        assert "饼干盒" in await ask(rig, "list", language=language)
        assert former not in await ask(rig, "scope", language=language)
        assert former in await ask(rig, "undo", 9, admin=True, language=language)
        assert former in await ask(rig, "scope", language=language)
        assert "饼干盒" not in await ask(rig, "list", language=language)


async def test_public_has_to_be_named(tmp_path: Path) -> None:
    former = await left_behind(tmp_path)
    async with running(tmp_path, {}, settings=PUBLIC, follow=False) as rig:
        asked = await ask(rig, "scope bring", admin=True)
        assert f"/记忆 域 带来 {former} public" in asked
        assert "饼干盒" not in await ask(rig, "list", 2)
        assert "别处" in await ask(rig, f"scope bring {former} 别处", admin=True)
        await ask(rig, f"scope bring {former} public", admin=True)
        assert "饼干盒" in await ask(rig, "list", 2)


async def test_the_status_route_names_what_is_left_behind(tmp_path: Path) -> None:
    former = await left_behind(tmp_path)
    async with running(tmp_path, {}, settings=PUBLIC, follow=False) as rig:
        payload = await status_json(cast("Any", FakePlugin(rig)))
    assert payload["left_behind"] == [
        {"scope": former, "belongs_to": "public", "memories": 2, "turns": 0}
    ]
