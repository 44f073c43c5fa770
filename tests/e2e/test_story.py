"""The story of the family and the company."""

from functools import partial
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.story import Story
from astrbot_plugin_scoped_memory.harness.story_steps import STEPS, rehearse
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.tests.e2e.first_hour import first_hour

pytestmark = [
    pytest.mark.astrbot,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(300),
]


async def has_model(rig: Rig) -> bool:
    """What an owner has who has set nothing: the bundled model, and an index."""
    status = await rig.panel.status()
    return (status["embedder"], status["index"], status["backlog"]) == ("bundled", "ready", 0)


async def play(rig: Rig, *, bundled: bool) -> list[str]:
    """Plays the story; gives every problem."""
    story = Story(rig, print)
    rehearse(story)
    outcomes = await story.play(STEPS)
    problems = [f"{o.title}: {problem}" for o in outcomes for problem in o.problems]
    if bundled:
        await until(partial(has_model, rig), within=90, what="an index by the bundled model")
    if len(outcomes) < len(STEPS):
        problems.append(f"only {len(outcomes)} of {len(STEPS)} steps were played")
    return problems


async def test_the_story_holds_in_the_newest_astrbot(owners: Rig) -> None:
    assert await play(owners, bundled=True) == [], await owners.bot.logged("AstrBot v")


async def test_the_first_hour_goes_well(owners: Rig, tmp_path: Path) -> None:
    await first_hour(owners, tmp_path)
