"""What a bot needs most, in the oldest AstrBot that is supported."""

import os
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.release import CHECKOUT
from astrbot_plugin_scoped_memory.harness.rig import WORDS_ALONE, Rig
from astrbot_plugin_scoped_memory.harness.story_steps import CONFIG
from astrbot_plugin_scoped_memory.tests.e2e import test_story as story
from astrbot_plugin_scoped_memory.tests.e2e import test_timers as timers
from astrbot_plugin_scoped_memory.tests.e2e import test_transcript as transcript
from astrbot_plugin_scoped_memory.tests.e2e.cast import ADMIN
from astrbot_plugin_scoped_memory.tests.e2e.first_hour import first_hour
from astrbot_plugin_scoped_memory.tests.e2e.shared_bots import ADMINS
from astrbot_plugin_scoped_memory.tests.e2e.test_uploads import upload_without_packages

pytestmark = [
    pytest.mark.astrbot,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(300),
]


@pytest.fixture
def oldest() -> Path:
    """The interpreter of the oldest AstrBot; without it the test is skipped, or fails on demand."""
    stated = os.environ.get("SCOPED_MEMORY_OLDEST_PYTHON")
    python = Path(stated) if stated else CHECKOUT / ".venv-oldest" / "bin" / "python"
    if python.exists():
        return python
    if os.environ.get("CI") or os.environ.get("SCOPED_MEMORY_REQUIRE_OLDEST") == "1":
        pytest.fail(f"no interpreter with the oldest AstrBot at {python}")
    pytest.skip(f"no interpreter with the oldest AstrBot at {python}")


async def test_an_owners_first_days_hold(oldest: Path, tmp_path: Path) -> None:
    """The story, the first hour, and an upload whose packages failed."""
    admins = ADMINS["owners"]
    async with Rig(
        tmp_path / "bot", python=oldest, admins=admins, config=CONFIG | WORDS_ALONE
    ) as rig:
        assert "AstrBot v4.28" in await rig.bot.logged("AstrBot v")
        assert await story.play(rig, bundled=False) == []
        await first_hour(rig, tmp_path)
        await upload_without_packages(rig, tmp_path)


async def test_a_timer_acts_in_its_own_scope(oldest: Path, tmp_path: Path) -> None:
    async with timers.split(tmp_path / "bot", oldest) as rig:
        assert "AstrBot v4.28" in await rig.bot.logged("AstrBot v")
        await timers.play(rig)


async def test_a_memory_leads_to_its_talk(oldest: Path, tmp_path: Path) -> None:
    async with Rig(tmp_path / "bot", python=oldest, admins=[ADMIN.user_id]) as rig:
        assert "AstrBot v4.28" in await rig.bot.logged("AstrBot v")
        await transcript.play(rig, ADMIN, resets=False)
