"""Days of a bot whose owner has installed the plugin and set nothing, in Chinese; and then its
language, in English. And what happens to the plugin there: uploads, an uninstall, a kill.

Recall has its 800 ms, the bundled model makes the vectors, and turns are read when it is time.
"""

import zipfile
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.logs import plugin_lines
from astrbot_plugin_scoped_memory.harness.panel import PanelError
from astrbot_plugin_scoped_memory.harness.places import Person, Place, group
from astrbot_plugin_scoped_memory.harness.records import files_with, scopes_with
from astrbot_plugin_scoped_memory.harness.release import PLUGIN
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.script import call
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.tests.e2e.bots import bot, through_a_kill
from astrbot_plugin_scoped_memory.tests.e2e.cast import ABSENT, stored, warned
from astrbot_plugin_scoped_memory.tests.house.source import script

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

rig = bot("shipped")
OWNER = Person(9400, "房主")
HAN = range(0x4E00, 0xA000)


@dataclass(frozen=True)
class Day:
    """Who talks where, and in which words."""

    rooms: tuple[Place, Place, Place]
    """At home, with the cousins, at work."""
    mother: Person
    son: Person
    scope: str
    map_here: str
    wish: str
    fact: str
    question: str
    word: str
    """Of the fact, and in no question."""
    small_talk: str
    in_passing: str
    learned: str
    paraphrase: str
    forget: str
    restore: str
    status: tuple[str, str]
    """The command, and what its answer has in it."""


CHINESE = Day(
    rooms=(group(660_001), group(660_002), group(660_003)),
    mother=Person(8501, "妈妈"),
    son=Person(8502, "儿子"),
    scope="家人",
    map_here="/记忆 域 家人",
    wish="记住，奶奶对花生过敏",
    fact="奶奶对花生过敏",
    question="奶奶能吃花生吗",
    word="过敏",
    small_talk="今天的晚霞真好看，第{}次说",
    in_passing="排队排得我直喝燕麦奶，别的奶我都喝不惯",
    learned="妈妈只喝得惯燕麦奶",
    paraphrase="妈妈喝得惯什么奶",
    forget="/记忆 忘记 花生",
    restore="/记忆 恢复",
    status=("/记忆 状态", "本会话可见"),
)
ENGLISH = Day(
    rooms=(group(660_011), group(660_012), group(660_013)),
    mother=Person(8511, "Anna"),
    son=Person(8512, "Ben"),
    scope="family",
    map_here="/memory scope family",
    wish="Remember that grandma is allergic to walnuts",
    fact="Grandma is allergic to walnuts",
    question="May grandma eat walnuts in her salad",
    word="allergic",
    small_talk="What a lovely evening it is, number {}",
    in_passing="I waited so long that I drank two cups of chamomile tea, as I do each night",
    learned="Anna drinks chamomile tea each night",
    paraphrase="Which tea does Anna drink at night",
    forget="/memory forget walnuts",
    restore="/memory undo",
    status=("/memory status", "this conversation sees"),
)


async def in_step(rig: Rig) -> None:
    """The index has caught up, by the bundled model."""

    async def probe() -> bool:
        status = await rig.panel.ready()
        return (status["embedder"], status["index"], status["backlog"]) == ("bundled", "ready", 0)

    await until(probe, within=120, what="an index by the bundled model")


async def a_day(rig: Rig, day: Day) -> str:
    """From the map to what was learned in passing; all that the bot has said by itself."""
    (home, cousins, work), mother = day.rooms, day.mother
    said = [await rig.onebot.ask(place, OWNER, day.map_here) for place in (home, cousins)]
    mapped = (await rig.panel.config())["conversation_scope_map"]
    assert {mapped[home.umo], mapped[cousins.umo]} == {day.scope}

    remember = call("core_memory_remember", {"judgment": day.fact})
    rig.model.on(day.wish, remember, then="好。")
    said += (await rig.turn(home, mother, day.wish)).tool_results
    assert scopes_with(rig.memory, day.fact) == {day.scope}
    await in_step(rig)
    turns = [await rig.turn(cousins, day.son, day.question) for _ in range(20)]
    in_time = [turn for turn in turns if day.fact in turn.injected]
    assert len(in_time) >= 19, "within the shipped deadline; none is asked again"
    elsewhere = await rig.turn(work, day.son, day.question)
    assert day.word not in elsewhere.first.everything

    learned = {"judgment": day.learned, "kind": "knowledge", "turn": 1, "who": "s1"}
    rig.model.on_reflection(day.in_passing, {"new_memories": [learned]})
    await rig.turn(home, mother, day.in_passing)
    for number in range(9):
        await rig.turn(home, mother, day.small_talk.format(number))

    async def read() -> bool:
        return scopes_with(rig.memory, day.learned) == {day.scope}

    await until(read, within=120, what="the memory of what was said in passing")
    await in_step(rig)
    assert day.learned in await rig.recall(cousins, day.son, day.paraphrase)
    assert files_with(rig.memory / "scopes" / "public", day.learned) == []

    for command, scopes in ((day.forget, set()), (day.restore, {day.scope})):
        said.append(await rig.onebot.ask(home, mother, command))
        assert day.fact in said[-1]
        assert scopes_with(rig.memory, day.fact) == scopes
    command, words = day.status
    said.append(await rig.onebot.ask(home, OWNER, command))
    assert words in said[-1]
    assert (await rig.panel.ready())["warnings"] == []
    return "\n".join(said)


@through_a_kill
async def test_a_day_in_chinese_and_one_in_english_and_all_is_known_after_a_kill(
    rig: Rig,
) -> AsyncGenerator[None]:
    await a_day(rig, CHINESE)
    start = len(rig.bot.logs())
    await rig.panel.save(language="en-US")
    await rig.panel.ready()
    said = (await a_day(rig, ENGLISH)).splitlines()
    said += plugin_lines(rig.bot.logs()[start:].replace(CHINESE.scope, ""))
    assert [line for line in said if any(ord(one) in HAN for one in line)] == []
    yield
    await rig.panel.indexed()
    for day in (CHINESE, ENGLISH):
        assert day.fact in await rig.recall(day.rooms[1], day.son, day.question)


def with_more(archive: Path, ending: str, more: str) -> Path:
    """The zip, with ``more`` behind the file that ends so."""
    with zipfile.ZipFile(archive) as old:
        files = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(archive, "w") as new:
        for name, content in files.items():
            new.writestr(name, content + more.encode() if name.endswith(ending) else content)
    return archive


@through_a_kill
async def test_uploads_and_uninstalls_lose_nothing_and_what_could_not_be_installed_loads_later(
    rig: Rig, room: Place, person: Person, tmp_path: Path
) -> AsyncGenerator[None]:
    """An upload replaces what is there, and the slim one asks for nothing more; an uninstall keeps
    the data; and behind an upload whose packages failed the next start loads the plugin."""
    await stored(rig, room, person, "备用钥匙在门口第三个花盆底下")
    installed = rig.bot.plugins / PLUGIN
    (installed / "core" / "of_an_older_version.py").touch()
    before = len(rig.bot.logs())
    slim = script("make_zip").make_zip(tmp_path, slim=True)
    await rig.panel.install(slim)
    await rig.panel.activated()
    status = await rig.panel.ready()
    assert not (installed / "core" / "of_an_older_version.py").exists()
    said = rig.bot.logs()[before:] + "".join(status["warnings"])
    assert [words for words in ("缺少依赖", "sentence-transformers") if words in said] == []

    await rig.panel.uninstall(config=False, data=False)
    assert not installed.exists()
    with pytest.raises(PanelError):
        await rig.panel.install(with_more(slim, "/requirements.txt", f"{ABSENT}>=1\n"))
    yield
    assert "第三个花盆底下" in await rig.recall(room, person, "备用钥匙在门口哪里")
    await stored(rig, room, person, "雨伞在门口的铁桶里")
    await warned(rig, ABSENT)
