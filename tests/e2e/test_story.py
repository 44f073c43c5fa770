"""The story of the family and the company."""

from functools import partial
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.script import JsonObject
from astrbot_plugin_scoped_memory.harness.story import Story
from astrbot_plugin_scoped_memory.harness.story_steps import CONFIG, MOTHER, STEPS, rehearse
from astrbot_plugin_scoped_memory.harness.waiting import until

pytestmark = [
    pytest.mark.astrbot,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(300),
]


async def has_model(rig: Rig) -> bool:
    """What an owner has who has set nothing: the bundled model, and an index."""
    status = await rig.panel.status()
    return (status["embedder"], status["index"], status["backlog"]) == ("bundled", "ready", 0)


async def play(
    root: Path, python: Path | None, config: JsonObject = CONFIG
) -> tuple[str, list[str]]:
    """Plays the story; gives AstrBot's version line and every problem."""
    async with Rig(root, python=python, admins=[MOTHER.user_id], config=config) as rig:
        story = Story(rig, print)
        rehearse(story)
        outcomes = await story.play(STEPS)
        problems = [f"{o.title}: {problem}" for o in outcomes for problem in o.problems]
        if config["embedding"] == "auto":
            await until(partial(has_model, rig), within=90, what="an index by the bundled model")
        if len(outcomes) < len(STEPS):
            problems.append(f"only {len(outcomes)} of {len(STEPS)} steps were played")
        return await rig.bot.logged("AstrBot v"), problems


async def test_the_story_holds_in_the_newest_astrbot(tmp_path: Path) -> None:
    version, problems = await play(tmp_path / "bot", None)
    assert problems == [], version
