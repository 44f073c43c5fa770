"""SOUL's laws in a real bot under ``auto``, whose model says whatever it is told to say."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from string import ascii_lowercase

import pytest
import pytest_asyncio

from astrbot_plugin_scoped_memory.harness.places import Person, Place, group
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.script import JsonObject, ModelRequest
from astrbot_plugin_scoped_memory.llm_memory.consolidation.rules import questions
from astrbot_plugin_scoped_memory.llm_memory.models.soul import Axis, Direction
from astrbot_plugin_scoped_memory.llm_memory.reflection.rules import prompt as reading
from astrbot_plugin_scoped_memory.llm_memory.soul.rules.vocabulary import line_of
from astrbot_plugin_scoped_memory.llm_memory.soul.rules.wording import worded
from astrbot_plugin_scoped_memory.tests.e2e.cast import ADMIN, MEMBER, answers_as, plays, queued
from astrbot_plugin_scoped_memory.tests.e2e.soul_bot import Mind, night, page, soul, system
from astrbot_plugin_scoped_memory.tests.soul.rules.wishes import BENIGN, HOSTILE
from astrbot_plugin_scoped_memory.tests.soul.test_canary_law import (
    CANARY,
    CITED,
    SAID,
    SMUGGLED,
    STYLE_ITEMS,
    WISHES,
    Smuggler,
)
from astrbot_plugin_scoped_memory.tests.support.soul_models import WORDERS

pytestmark = [
    pytest.mark.astrbot,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(300),
]

MAPLE, BAMBOO, OPEN = group(6201), group(6202), group(6203)
"""Of two private scopes and the public one."""
MAPLE_TOO, BAMBOO_TOO, OPEN_TOO = group(6211), group(6212), group(6213)
CONFIG: JsonObject = {
    "conversation_scope_map": {
        **{place.umo: "枫林" for place in (MAPLE, MAPLE_TOO)},
        **{place.umo: "竹海" for place in (BAMBOO, BAMBOO_TOO)},
    },
    "soul_evolution": "auto",
    "reflection_provider": "auto",
    # Turns are read when an admin asks for it.
    "advanced": {"reflect_after_turns": 40, "reflect_idle_minutes": 1440, "prime_after_hours": 0},
}
ROOMS = {"a": (MAPLE, "枫林"), "b": (BAMBOO, "竹海")}
"""By the letter of a scope's words: where they are said, and the scope."""
GENTLE, BRIEF = "说话温和一点。", "句子短一点。"
LEARNED = "\n# 学到的说话习惯\n"
NONE = "[%None]"
"""AstrBot's word for no persona."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def rig(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Rig]:
    root = tmp_path_factory.mktemp("laws-bot")
    async with Rig(root, admins=[ADMIN.user_id], config=CONFIG, moved_clock=True) as running:
        running.model.script = Mind()
        running.clock.set_to(10, days=1)  # no midnight comes by itself
        yield running


@pytest.fixture
def mind(rig: Rig) -> Mind:
    assert isinstance(rig.model.script, Mind)
    return rig.model.script


async def test_only_what_passed_is_in_force_and_veto_and_rollback_give_the_bytes_back(
    rig: Rig, room: Place, mind: Mind
) -> None:
    """Else a prompt would end with a rule under which a safety probe fails, or SOUL.md and the
    prompt would be others after a veto, or a rollback, than before."""
    await plays(rig, "岚", room)
    bare = await system(rig, room)
    await soul(rig, room, "退回")  # any command of an admin's begins a soul
    seed = page(rig, "岚").read_bytes()

    mind.passes(GENTLE, fails=frozenset({"harm"}))
    assert "提议 1" in await soul(rig, room, f"提议 {GENTLE}")
    await night(rig, room)
    assert "没有通过" in await soul(rig, room, "生效 1")
    assert (await system(rig, room), page(rig, "岚").read_bytes()) == (bare, seed)

    mind.passes(BRIEF)
    assert "提议 2" in await soul(rig, room, f"提议 {BRIEF}")
    assert await system(rig, room) == bare
    await night(rig, room)
    brief = page(rig, "岚").read_bytes()
    assert await system(rig, room) == f"{bare}{LEARNED}- {BRIEF}\n"
    assert brief.decode() == worded(seed.decode(), BRIEF)
    await soul(rig, room, "否决 2")
    assert (await system(rig, room), page(rig, "岚").read_bytes()) == (bare, seed)
    assert "没有可以退回的版本" in await soul(rig, room, "退回 2")

    rig.clock.move(days=1)
    mind.passes(GENTLE)
    assert "提议 3" in await soul(rig, room, f"提议 {GENTLE}")
    assert "用第 4 版" in await soul(rig, room, "生效 3")
    gentle = page(rig, "岚").read_bytes()
    assert await system(rig, room) == f"{bare}{LEARNED}- {GENTLE}\n"
    await soul(rig, room, "退回 1")
    assert (await system(rig, room), page(rig, "岚").read_bytes()) == (bare, seed)
    await soul(rig, room, "退回 4")
    assert await system(rig, room) == f"{bare}{LEARNED}- {GENTLE}\n"
    assert page(rig, "岚").read_bytes() == gentle


async def test_verify_names_the_first_wrong_line(rig: Rig, room: Place) -> None:
    """Else a line that was changed, swapped, or cut off would be said to be right."""
    await plays(rig, "溪", room)
    await soul(rig, room, "退回")  # any command of an admin's begins a soul
    for number in (1, 2):
        await soul(rig, room, f"提议 {GENTLE}")
        await soul(rig, room, f"否决 {number}")
    folder = rig.memory / "soul" / "溪"
    first, chain = folder / "versions" / "0001.md", folder / "chain.jsonl"
    whole, lines = chain.read_bytes(), chain.read_bytes().splitlines(keepends=True)
    for path, raw, wrong in (
        (
            chain,
            b"".join([lines[0], lines[1].replace(b'"proposed"', b'"proposee"'), *lines[2:]]),
            2,
        ),
        (chain, b"".join([lines[0], lines[2], lines[1], *lines[3:]]), 2),
        (chain, b"".join(lines[:-1]), 5),
        (first, first.read_bytes().replace(b"S", b"s", 1), 1),
    ):
        right = path.read_bytes()
        assert raw != right
        path.write_bytes(raw)
        assert f"第 {wrong} 行起对不上" in await soul(rig, room, "核对")
        path.write_bytes(right)
    assert chain.read_bytes() == whole
    assert await soul(rig, room, "核对") == "5 行都对得上"


async def killed(rig: Rig, happens: Callable[[], bool]) -> None:
    """kill -9 as soon as it happens, and a new start."""

    def watch() -> None:
        end = time.monotonic() + 60
        while not happens() and time.monotonic() < end:
            time.sleep(0.0002)
        rig.bot.kill9()

    await asyncio.to_thread(watch)
    assert happens()
    await rig.start()


async def test_a_bot_killed_in_an_apply_has_the_old_manner_or_the_new_one(
    rig: Rig, room: Place, mind: Mind
) -> None:
    """Else SOUL.md would be neither the old file nor the new one after kill -9, or the prompt
    another one than SOUL.md says."""
    await plays(rig, "川", room)
    bare = await system(rig, room)
    await soul(rig, room, "退回")  # any command of an admin's begins a soul
    file, folder = page(rig, "川"), rig.memory / "soul" / "川"
    seed = file.read_bytes()
    new = worded(seed.decode(), GENTLE).encode()
    told = {seed: bare, new: f"{bare}{LEARNED}- {GENTLE}\n"}
    mind.passes(GENTLE)

    def versions() -> int:
        return len(list((folder / "versions").glob("*.md")))

    def is_new() -> int:
        return file.read_bytes() != seed

    for count in (versions, is_new):
        rig.clock.move(days=1)
        assert "记下了" in await soul(rig, room, f"提议 {GENTLE}")
        before = count()
        await rig.onebot.say(room, ADMIN, "/记忆 人格 生效")
        await killed(rig, lambda count=count, before=before: count() > before)
        assert file.read_bytes() in told
        prompt = await system(rig, room)
        assert prompt == told[file.read_bytes()]
        assert "行都对得上" in await soul(rig, room, "核对")
        await soul(rig, room, "否决" if prompt == bare else "退回 1")
        assert (await system(rig, room), file.read_bytes()) == (bare, seed)


def words_of(letter: str) -> Iterator[str]:
    """Words that say of which scope they are; see ``CANARY``."""
    return (f"zqk{letter}{one}{two}x" for one in ascii_lowercase for two in ascii_lowercase)


def is_of_none(request: ModelRequest) -> bool:
    """Whether it is asked for an evaluation, which is of no scope. Who words a wish is told what
    an admin has typed."""
    of_one = (reading.SYSTEM, questions.SYSTEM, *WORDERS)
    return not request.tool_names and not request.system.startswith(of_one)


def unleaked(rig: Rig) -> None:
    """The law, over all that the bot has written and asked so far but for turns."""
    for path in (one for top in ("roles", "soul") for one in (rig.memory / top).rglob("*")):
        text = str(path) + (path.read_bytes().decode() if path.is_file() else "")
        assert CANARY.search(text) is None, path
        assert SMUGGLED not in text, path
    for request in (*rig.model.requests, *rig.model.readings):
        scopes = {found[1] for found in CANARY.finditer(request.everything)}
        assert len(scopes) <= (0 if is_of_none(request) else 1), request.everything
        assert SMUGGLED not in request.everything or is_of_none(request)


async def plant(rig: Rig, mind: Smuggler, letter: str, turn: int, words: Iterator[str]) -> None:
    """A sample of the ways in which people plant words of their scope."""
    place, scope = ROOMS[letter]
    people = [Person(6300 + 10 * ord(letter) + number, f"友{number}") for number in range(3)]
    for number, template in enumerate(SAID[turn::6]):
        word = next(words)
        mind.items[word] = STYLE_ITEMS[number % len(STYLE_ITEMS)]
        said = await rig.turn(place, people[number % 3], template.format(word))
        assert {found[1] for found in CANARY.finditer(said.first.everything)} == {letter}
    await rig.turn(place, replace(people[2], nickname=next(words)), "你今天真棒，谢谢你陪我")
    await rig.remember(place, people[0], f"家里都管它叫 {next(words)} 的")
    tasks = {"action": "add", "tasks": [f"给{next(words)}打电话"]}
    await rig.use_tool(place, people[1], "update_tasks", tasks)
    journal = rig.memory / "scopes" / scope / "journal" / f"2026-11-0{turn + 1}.md"
    journal.parent.mkdir(parents=True, exist_ok=True)
    journal.write_text(f"- 今天见了{next(words)}\n", "utf-8")
    await queued(rig, "谢谢你陪我")


async def test_no_word_of_a_private_scope_comes_into_a_soul_or_another_scopes_prompt(
    rig: Rig, mind: Mind
) -> None:
    """Else a word that begins with ``zqk`` would stand in a file of a soul, in what is asked for an
    evaluation, or in a prompt of another scope; or ``zqm``, what the model remembers of other
    calls, would come out of an evaluation."""
    await plays(rig, "沐", MAPLE, BAMBOO, OPEN)
    mind.model = smuggler = Smuggler({})
    words = {letter: words_of(letter) for letter in ROOMS}
    rules = []
    for turn, manner in enumerate(((Axis.LENGTH, Direction.LESS), (Axis.EMOJI, Direction.LESS))):
        for letter in ROOMS:
            await plant(rig, smuggler, letter, turn, words[letter])
        for template in (*WISHES[turn::10], *CITED[turn::4]):
            cited, word = template in CITED, next(words["a"])
            if cited:
                await rig.remember(MAPLE, MEMBER, f"家里都管它叫 {word} 的")
            told = await soul(rig, BAMBOO, f"提议 {template.replace('{}', word)}")
            assert told.startswith("没有通过"), template
        smuggler.wants = [*manner]
        smuggler.smuggles()
        for place, _ in ROOMS.values():
            await rig.onebot.ask(place, ADMIN, "/memory reflect")
        await night(rig, OPEN)
        unleaked(rig)
        rules.append(line_of(*manner, "zh"))
        smuggler.passes(rules[-1])
        await night(rig, OPEN)
        unleaked(rig)
        for letter, (place, _) in {**ROOMS, "": (OPEN, "")}.items():
            said = (await rig.turn(place, MEMBER, f"第{turn}次问：大家都怎么说话")).first
            assert said.system.endswith(rules[-1] + "\n")
            assert {found[1] for found in CANARY.finditer(said.everything)} <= {letter}
            assert SMUGGLED not in said.everything
    read = "".join(request.everything for request in rig.model.readings)
    assert len(set(CANARY.findall(read))) == len(ROOMS)


async def test_no_hostile_wish_comes_into_force_and_harmless_ones_do(
    rig: Rig, room: Place, mind: Mind
) -> None:
    """Else a hostile rule would stand at the end of a prompt, or no rule ever would."""
    await plays(rig, "桥", room)
    bare = await system(rig, room)
    await soul(rig, room, "退回")  # any command of an admin's begins a soul
    file = page(rig, "桥")
    seed = file.read_bytes()
    mind.passes(LEARNED)
    for wish in HOSTILE[:: len(HOSTILE) // 20]:
        assert (await soul(rig, room, f"提议 {wish}")).startswith("没有通过"), wish
    await night(rig, room)
    assert (await system(rig, room), file.read_bytes()) == (bare, seed)
    for wish in HOSTILE[:: len(HOSTILE) // 4]:
        file.write_text(worded(seed.decode(), wish), "utf-8")
        assert (await soul(rig, room, "收下")).startswith("没有通过"), wish
        assert await system(rig, room) == bare
        await soul(rig, room, "丢弃")
        assert file.read_bytes() == seed
    learned = 0
    for wish in BENIGN[:: len(BENIGN) // 6]:
        if "记下了" not in await soul(rig, room, f"提议 {wish}"):
            continue
        await night(rig, room)
        assert file.read_text("utf-8") == worded(seed.decode(), wish)
        assert (await system(rig, room)).startswith(bare + LEARNED)
        await soul(rig, room, "退回 1")
        learned += 1
    assert learned >= 4


async def test_a_change_of_one_persona_shows_in_no_other_and_without_one_there_is_an_own(
    rig: Rig, mind: Mind
) -> None:
    """Else a rule of one persona would stand in a prompt of another, or of a conversation that has
    none, in whatever scope."""
    await plays(rig, "猫娘", MAPLE, BAMBOO)
    await plays(rig, "犬娘", MAPLE_TOO, OPEN)
    for place in (BAMBOO_TOO, OPEN_TOO):
        await answers_as(rig, NONE, place)
    rooms = {"猫娘": (MAPLE, BAMBOO), "犬娘": (MAPLE_TOO, OPEN), "": (BAMBOO_TOO, OPEN_TOO)}
    every = [place for places in rooms.values() for place in places]
    bare = {place: await system(rig, place) for place in every}
    rules = dict.fromkeys(rooms, "")
    for persona, rule in (("猫娘", GENTLE), ("", BRIEF), ("犬娘", "多用短句。")):
        rig.clock.move(days=1)
        mind.passes(rule)
        assert "记下了" in await soul(rig, rooms[persona][0], f"提议 {rule}")
        assert "生效了" in await soul(rig, rooms[persona][1], "生效")
        rules[persona] = f"{LEARNED}- {rule}\n"
        for one, places in rooms.items():
            for place in places:
                assert await system(rig, place) == bare[place] + rules[one]
    await soul(rig, rooms[""][0], "退回")
    rules[""] = ""
    for one, places in rooms.items():
        for place in places:
            assert await system(rig, place) == bare[place] + rules[one]
