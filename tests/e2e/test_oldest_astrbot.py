"""What a bot needs most, in the oldest AstrBot that is supported."""

import os
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.release import CHECKOUT
from astrbot_plugin_scoped_memory.harness.rig import WORDS_ALONE
from astrbot_plugin_scoped_memory.harness.story_steps import CONFIG
from astrbot_plugin_scoped_memory.tests.e2e import test_story as story
from astrbot_plugin_scoped_memory.tests.e2e import test_timers as timers
from astrbot_plugin_scoped_memory.tests.e2e.test_first_hour import first_hour
from astrbot_plugin_scoped_memory.tests.e2e.test_missing_packages import upload_without_packages

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


async def test_the_story_holds(oldest: Path, tmp_path: Path) -> None:
    version, problems = await story.play(tmp_path / "bot", oldest, CONFIG | WORDS_ALONE)
    assert "AstrBot v4.28" in version
    assert problems == []


async def test_the_first_hour_goes_well(oldest: Path, tmp_path: Path) -> None:
    assert "AstrBot v4.28" in await first_hour(tmp_path / "bot", oldest, tmp_path)


async def test_a_timer_acts_in_its_own_scope(
    oldest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "AstrBot v4.28" in await timers.play(tmp_path / "bot", oldest)


async def test_an_upload_whose_packages_failed_is_loaded_by_the_next_start(
    oldest: Path, tmp_path: Path
) -> None:
    await upload_without_packages(tmp_path, oldest)
