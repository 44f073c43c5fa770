"""What an admin is told once in chat: another time if it could not be said, and never again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from astrbot_plugin_scoped_memory.core.turn.first_message import warn_admin
from astrbot_plugin_scoped_memory.tests.support.engines import person, private, running
from astrbot_plugin_scoped_memory.tests.support.plugin import FakePlugin

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

STRANGERS = "dm_scope"


@pytest.mark.parametrize("end", ["refused", "raised", "closed", "said"])
async def test_what_is_told_once_is_told_until_it_was_said(tmp_path: Path, end: str) -> None:
    """While it is on its way another admin writes; then it fails, or the plugin ends."""
    told: list[str] = []
    for start in range(3):
        async with running(tmp_path, {}, follow=False) as rig:
            plugin, answer = FakePlugin(rig), asyncio.Event()

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
            await rig.engine.service.conversations.meet(private(5), person(5))
            writing = [
                asyncio.create_task(
                    warn_admin(cast("Any", plugin), private(n), person(n, admin=True))
                )
                for n in (9, 8)
            ]
            _, telling = await asyncio.wait(writing, return_when=asyncio.FIRST_COMPLETED)
            for one in telling if end == "closed" and not start else ():
                one.cancel()
            answer.set()
            await asyncio.wait(writing)
    assert [STRANGERS in text for text in told] == [True]
