"""A day of a bot whose owner has installed the plugin and set nothing: in Chinese, and in English.

Recall has its 800 ms, the bundled model makes the vectors, and turns are read when it is time.
"""

import asyncio
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio

from astrbot_plugin_scoped_memory.harness.places import Person, Place, group
from astrbot_plugin_scoped_memory.harness.records import files_with, scopes_with
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.script import call
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts

pytestmark = [
    pytest.mark.astrbot,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(400),
]

OWNER = Person(9400, "房主")
LATE = Texts("zh-CN").say("log.deadline", ms=800)
TRIES = 20


@dataclass(frozen=True)
class Day:
    """Who talks where, and in which words."""

    home: Place
    cousins: Place
    work: Place
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


CHINESE = Day(
    home=group(660_001),
    cousins=group(660_002),
    work=group(660_003),
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
)
ENGLISH = Day(
    home=group(660_011),
    cousins=group(660_012),
    work=group(660_013),
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
)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Rig]:
    """The bot. Only AstrBot knows who administers it."""
    root = tmp_path_factory.mktemp("shipped-bot")
    async with Rig(root, admins=[OWNER.user_id], as_shipped=True) as rig:
        yield rig


async def injected(rig: Rig, place: Place, person: Person, question: str, words: str) -> None:
    """Once the index is in step, a turn with this question has these words in it. Where the bot
    says that recall missed its deadline, as on a busy machine, it is asked again."""

    async def in_step() -> bool:
        status = await rig.panel.ready()
        return (status["embedder"], status["index"], status["backlog"]) == ("bundled", "ready", 0)

    await until(in_step, within=120, what="an index by the bundled model")
    for _ in range(TRIES):
        before = rig.bot.logs().count(LATE)
        turn = await rig.turn(place, person, question)
        if rig.bot.logs().count(LATE) == before:
            assert words in turn.injected
            return
    pytest.fail(f"recall was late in {TRIES} turns")


@pytest.mark.parametrize("day", [CHINESE, ENGLISH], ids=["in Chinese", "in English"])
async def test_a_day(running: Rig, day: Day) -> None:
    rig, home, mother = running, day.home, day.mother
    for place in (home, day.cousins):
        await rig.onebot.ask(place, OWNER, day.map_here)
    mapped = (await rig.panel.config())["conversation_scope_map"]
    assert {mapped[home.umo], mapped[day.cousins.umo]} == {day.scope}

    remember = call("core_memory_remember", {"judgment": day.fact})
    rig.model.on(day.wish, remember, then="好。")
    await rig.turn(home, mother, day.wish)
    assert scopes_with(rig.memory, day.fact) == {day.scope}
    await injected(rig, day.cousins, day.son, day.question, day.fact)
    elsewhere = await rig.turn(day.work, day.son, day.question)
    assert day.word not in elsewhere.first.everything

    learned = {"judgment": day.learned, "kind": "knowledge", "turn": 1, "who": "s1"}
    rig.model.on_reflection(day.in_passing, {"new_memories": [learned]})
    await rig.turn(home, mother, day.in_passing)
    for number in range(9):
        await rig.turn(home, mother, day.small_talk.format(number))

    async def read() -> bool:
        return scopes_with(rig.memory, day.learned) == {day.scope}

    await until(read, within=120, what="the memory of what was said in passing")
    await injected(rig, day.cousins, day.son, day.paraphrase, day.learned)
    assert files_with(rig.memory / "scopes" / "public", day.learned) == []

    assert day.fact in await rig.onebot.ask(home, mother, day.forget)
    assert scopes_with(rig.memory, day.fact) == set()
    assert day.fact in await rig.onebot.ask(home, mother, day.restore)
    assert scopes_with(rig.memory, day.fact) == {day.scope}
    assert (await rig.panel.ready())["warnings"] == []


async def test_it_ends_at_sigterm_and_knows_everything_afterwards(running: Rig) -> None:
    assert await asyncio.to_thread(running.bot.sigterm) in (0, -signal.SIGTERM)
    await running.start()
    for day in (CHINESE, ENGLISH):
        await injected(running, day.cousins, day.son, day.question, day.fact)
