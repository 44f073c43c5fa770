"""What an admin is told once in chat: another time if it could not be said, and never again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.tests.support.engines import person, private, running
from astrbot_plugin_scoped_memory.tests.support.plugin import FakeEvent
from astrbot_plugin_scoped_memory.tests.support.turn_plugin import TurnPlugin

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

STRANGERS = "dm_scope"


@pytest.mark.parametrize("end", ["refused", "raised", "closed", "said"])
async def test_what_is_told_once_is_told_until_it_was_said(tmp_path: Path, end: str) -> None:
    """While it is on its way another admin writes; then it fails, or the plugin ends. Nobody else
    is told, and nobody in a group."""
    told: list[str] = []
    for start in range(3):
        async with running(tmp_path, {}, follow=False) as rig:
            plugin, answer = TurnPlugin(rig), asyncio.Event()

            async def send(
                _: str, chain: Any, start: int = start, answer: asyncio.Event = answer
            ) -> bool:
                if not start:
                    await answer.wait()
                    if end == "raised":
                        raise OSError("gone")
                if start or end == "said":
                    told.append(chain.get_plain_text())
                return bool(start) or end == "said"

            plugin.astrbot.send_message = send
            await rig.engine.service.meet(private(5), person(5))
            for event in (FakeEvent.in_private(5), FakeEvent.in_group(777, admin=True)):
                await plugin.mind.sent(event)
            writing = [
                asyncio.create_task(plugin.mind.sent(FakeEvent.in_private(n, admin=True)))
                for n in (9, 8)
            ]
            _, telling = await asyncio.wait(writing, return_when=asyncio.FIRST_COMPLETED)
            for one in telling if end == "closed" and not start else ():
                one.cancel()
            answer.set()
            await asyncio.wait(writing)
    assert [STRANGERS in text for text in told] == [True]
