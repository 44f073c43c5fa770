"""What a bot needs most, in the oldest AstrBot that is supported."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from astrbot_plugin_scoped_memory.harness.release import CHECKOUT
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.story_steps import MOTHER
from astrbot_plugin_scoped_memory.tests.e2e import story, timers, transcript
from astrbot_plugin_scoped_memory.tests.e2e.cast import saves

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]


def interpreter() -> Path:
    """That of the oldest AstrBot; without it the test is skipped, or fails on demand."""
    stated = os.environ.get("SCOPED_MEMORY_OLDEST_PYTHON")
    python = Path(stated) if stated else CHECKOUT / ".venv-oldest" / "bin" / "python"
    if python.exists():
        return python
    if os.environ.get("CI") or os.environ.get("SCOPED_MEMORY_REQUIRE_OLDEST") == "1":
        pytest.fail(f"no interpreter with the oldest AstrBot at {python}")
    pytest.skip(f"no interpreter with the oldest AstrBot at {python}")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def rig(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Rig]:
    root, python = tmp_path_factory.mktemp("oldest-bot"), interpreter()
    admins = [MOTHER.user_id, story.OWNER.user_id, timers.ADMIN.user_id]
    config = {"reflection_provider": "auto"}
    async with Rig(root, python=python, admins=admins, future_tasks=True, config=config) as running:
        assert "AstrBot v4.28" in await running.bot.logged("AstrBot v")
        yield running


async def test_an_owners_first_days_hold(rig: Rig, tmp_path: Path) -> None:
    """The story, the first hour, a memory's talk, and timers."""
    assert await story.play(rig) == []
    await story.first_hour(rig, tmp_path)
    await transcript.play(rig, story.OWNER, resets=False)
    held = (await rig.panel.config())["conversation_scope_map"]
    await saves(
        rig,
        dm_scope="per-peer",
        group_scope="per-group",
        conversation_scope_map=held | {timers.ROOM.umo: "租客"},
    )
    await timers.play(rig)
