"""An owner's first days: the story of the demo, and the hour after an upload."""

from __future__ import annotations

from pathlib import Path

from astrbot_plugin_scoped_memory.harness.places import Person, Place, group
from astrbot_plugin_scoped_memory.harness.records import scopes_with
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.script import call
from astrbot_plugin_scoped_memory.harness.story import Story
from astrbot_plugin_scoped_memory.harness.story_steps import STEPS, rehearse
from astrbot_plugin_scoped_memory.tests.house.source import script

OWNER, MOTHER, SON = Person(9300, "房主"), Person(8301, "妈妈"), Person(8302, "儿子")
HOME, COUSINS, WORK = group(630_001), group(630_002), group(630_003)
FACT, QUESTION = "外公对海虾过敏", "外公能吃海虾吗"


async def play(rig: Rig) -> list[str]:
    """Plays the story; gives every problem."""
    story = Story(rig, print)
    rehearse(story)
    outcomes = await story.play(STEPS)
    problems = [f"{o.title}: {problem}" for o in outcomes for problem in o.problems]
    if len(outcomes) < len(STEPS):
        problems.append(f"only {len(outcomes)} of {len(STEPS)} steps were played")
    return problems


async def first_hour(rig: Rig, zips: Path) -> None:
    """Upload, two scopes, remember, ask, forget by number, ask again, status. No panel but for the
    upload, and nobody types an id."""
    await rig.panel.install(script("make_zip").make_zip(zips, slim=True))
    await rig.panel.activated()
    await rig.panel.ready()
    said: list[str] = []

    async def ask(place: Place, person: Person, words: str) -> str:
        said.append(words)
        return await rig.onebot.ask(place, person, words)

    async def told(place: Place, person: Person, words: str) -> str:
        said.append(words)
        return (await rig.turn(place, person, words)).first.everything.replace(words, "")

    for place in (HOME, COUSINS):
        assert "好了" in await ask(place, OWNER, "/记忆 域 亲戚")
    rig.model.on("记住，外公", call("core_memory_remember", {"judgment": FACT}), then="记住了。")
    assert "记住了" in await ask(HOME, MOTHER, f"记住，{FACT}")
    assert scopes_with(rig.memory, FACT) == {"亲戚"}
    assert "海虾过敏" in await told(COUSINS, SON, QUESTION)
    assert "海虾过敏" not in await told(WORK, SON, QUESTION)
    assert FACT in (await ask(COUSINS, MOTHER, "/记忆 列表 我")).split("\n")[1]
    assert FACT in await ask(COUSINS, MOTHER, "/记忆 忘记 1")
    assert "海虾过敏" not in await told(COUSINS, SON, QUESTION)
    assert FACT in await ask(COUSINS, MOTHER, "/记忆 恢复")
    assert "本会话可见" in await ask(HOME, OWNER, "/记忆 状态")
    assert "列表" in await ask(HOME, SON, "/记忆")
    assert len(said) <= 12
    assert not any("m-" in words for words in said)
