"""What a bot needs most, in the oldest AstrBot that is supported: the story of the demo, the hour
after an upload, a memory's talk, and a timer."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from astrbot_plugin_scoped_memory.harness.places import Person, Place, group
from astrbot_plugin_scoped_memory.harness.records import scopes_with
from astrbot_plugin_scoped_memory.harness.release import CHECKOUT
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.script import call
from astrbot_plugin_scoped_memory.harness.story import Story
from astrbot_plugin_scoped_memory.harness.story_steps import MOTHER, STEPS, rehearse
from astrbot_plugin_scoped_memory.tests.e2e import timers, transcript
from astrbot_plugin_scoped_memory.tests.house.source import script

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

OWNER, SON = Person(9300, "房主"), Person(8302, "儿子")
HOME, COUSINS, WORK = group(630_001), group(630_002), group(630_003)
FACT, QUESTION = "外公对海虾过敏", "外公能吃海虾吗"


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
    admins = [MOTHER.user_id, OWNER.user_id]
    config = {"reflection_provider": "auto"}
    async with Rig(root, python=python, admins=admins, future_tasks=True, config=config) as running:
        assert "AstrBot v4.28" in await running.bot.logged("AstrBot v")
        yield running


async def first_hour(rig: Rig, zips: Path) -> None:
    """Upload, two scopes, remember, ask, forget, ask again. No panel but for the upload."""
    await rig.panel.install(script("make_zip").make_zip(zips, slim=True))
    await rig.panel.activated()
    await rig.panel.ready()
    for place in (HOME, COUSINS):
        assert "好了" in await rig.onebot.ask(place, OWNER, "/记忆 域 亲戚")
    rig.model.on("记住，外公", call("core_memory_remember", {"judgment": FACT}), then="记住了。")
    assert "记住了" in await rig.onebot.ask(HOME, MOTHER, f"记住，{FACT}")
    assert scopes_with(rig.memory, FACT) == {"亲戚"}

    async def told(place: Place) -> bool:
        turn = await rig.turn(place, SON, QUESTION)
        return "海虾过敏" in turn.first.everything

    assert (await told(COUSINS), await told(WORK)) == (True, False)
    assert FACT in await rig.onebot.ask(COUSINS, MOTHER, "/记忆 忘记 海虾")
    assert not await told(COUSINS)


async def test_an_owners_first_days_hold(rig: Rig, tmp_path: Path) -> None:
    story = Story(rig, print)
    rehearse(story)
    outcomes = await story.play(STEPS)
    assert [outcome for outcome in outcomes if outcome.problems] == []
    assert len(outcomes) == len(STEPS)
    await first_hour(rig, tmp_path)
    await transcript.play(rig, OWNER, resets=False)
    await timers.a_timer(rig, HOME, OWNER, "亲戚")
