"""A question is embedded while AstrBot gets the request ready, once, where that costs nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from astrbot.core.provider.entities import ProviderRequest

from astrbot_plugin_scoped_memory.tests.fakes.embedder import FakeEmbedder
from astrbot_plugin_scoped_memory.tests.support.engines import group, person, running
from astrbot_plugin_scoped_memory.tests.support.plugin import FakeEvent
from astrbot_plugin_scoped_memory.tests.support.turn_plugin import TurnPlugin

pytestmark = [pytest.mark.astrbot, pytest.mark.engine]

QUESTION = "奶奶對花生過敏嗎"


@pytest.mark.parametrize(
    ("label", "paused", "ahead"),
    [
        ("bundled", False, 1),
        ("local:small", False, 1),
        ("provider:1", False, 0),
        ("bundled", True, 0),
    ],
)
async def test_a_question_is_embedded_once_and_ahead_where_that_costs_nothing(
    tmp_path: Path, label: str, paused: bool, ahead: int
) -> None:
    embedder = FakeEmbedder(label)
    async with running(tmp_path, embedder=embedder) as rig:
        await rig.remember("奶奶对花生过敏", group(777))
        await rig.until_indexed()
        if paused:
            admin = person(1, admin=True)
            await rig.engine.service.pause(conversation_id=group(777), actor=admin)
        plugin, event = TurnPlugin(rig), FakeEvent.in_group(777, QUESTION)
        known = embedder.calls
        plugin.mind.announced(event)
        while rig.engine.parts.indexing._ahead and embedder.calls == known:
            await rig.engine.parts.indexing._ahead.copy().popitem()[1]
        assert embedder.calls == known + ahead
        request: Any = ProviderRequest(prompt=QUESTION)
        await plugin.mind.before_request(event, request)
        assert embedder.calls == known + (not paused)


async def test_what_is_never_asked_is_let_go_of(tmp_path: Path) -> None:
    async with running(tmp_path, embedder=FakeEmbedder("bundled")) as rig:
        await rig.until_indexed()
        for number in range(9):
            rig.engine.service.announce(f"第{number}个问题", conversation_id=group(777))
        assert len(rig.engine.parts.indexing._ahead) == 4
