"""What a person forgets, edits, moves or deletes by hand while the turn that says it still waits to
be read does not come back; said anew, it is learned anew."""

from collections.abc import Awaitable, Callable

import pytest
import pytest_asyncio

from astrbot_plugin_scoped_memory.harness.places import Person, Place, group, private
from astrbot_plugin_scoped_memory.harness.records import files_with, noted_turns, scopes_with
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.script import call
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.tests.e2e.cast import learned, memory_id, queued
from astrbot_plugin_scoped_memory.tests.support.searched_files import files_holding

pytestmark = [
    pytest.mark.astrbot,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(300),
]

MOTHER, STRANGER = Person(2201, "妈妈"), Person(2999, "路人")
FAMILY, SQUARE = group(7771), group(999_100)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def running(learning: Rig) -> Rig:
    """Its reader reads when it is asked to."""
    return learning


async def said(rig: Rig, where: Place, text: str) -> str:
    """A memory, stored by the tool, and a turn that says it again and waits: its id."""
    await rig.remember(where, MOTHER, text)
    await rig.turn(where, MOTHER, f"{text}，这件事可别忘")
    await queued(rig, f"{text}，这件事")
    return memory_id(rig.memory, text)


async def by_command(rig: Rig, where: Place, memory_id: str, text: str) -> None:
    assert "已忘记" in await rig.onebot.ask(where, MOTHER, f"/memory forget {memory_id}")


async def by_hand(rig: Rig, where: Place, memory_id: str, text: str) -> None:
    (home,) = [path for path in files_with(rig.memory, text) if "archive" not in path.parts]
    path = rig.memory / home
    before, _, behind = path.read_text(encoding="utf-8").partition(f"## {text}")
    _, heading, others = behind.partition("\n## ")
    path.write_text(before + heading + others, encoding="utf-8")

    async def archived() -> bool:
        return any("archive" in found.parts for found in files_with(rig.memory, text))

    await until(archived, within=60, what="the deletion, seen by the bot")


async def by_edit(rig: Rig, where: Place, memory_id: str, text: str) -> None:
    other = "改过的一条：乐器不在那里了"
    assert "已改写" in await rig.onebot.ask(where, MOTHER, f"/memory edit {memory_id} {other}")


async def by_move(rig: Rig, where: Place, memory_id: str, text: str) -> None:
    assert "老家" in await rig.onebot.ask(where, MOTHER, f"/memory move {memory_id} 老家")


type Correct = Callable[[Rig, Place, str, str], Awaitable[None]]


@pytest.mark.parametrize(
    ("correct", "where", "words", "text", "left"),
    [
        (by_command, FAMILY, "琵琶", "妈妈的琵琶放在阁楼东角", set()),
        (by_hand, FAMILY, "二胡", "妈妈的二胡放在阁楼西角", set()),
        (by_edit, FAMILY, "唢呐", "妈妈的唢呐放在阁楼南角", set()),
        (by_move, SQUARE, "古筝", "妈妈的古筝放在阁楼北角", {"老家"}),
    ],
    ids=["forgotten", "deleted by hand", "edited", "moved out of public"],
)
async def test_a_turn_that_is_read_after_the_correction_does_not_undo_it(
    running: Rig, correct: Correct, where: Place, words: str, text: str, left: set[str]
) -> None:
    memory_id = await said(running, where, text)
    await correct(running, where, memory_id, text)
    running.model.on_reflection("这件事可别忘", {"new_memories": [learned(text)]})
    await running.onebot.ask(where, MOTHER, "/memory reflect")
    assert scopes_with(running.memory, text) == left
    assert all(words not in reading.everything for reading in running.model.readings)

    await running.turn(where, MOTHER, f"还是说一遍，{text}，记一下吧")
    await queued(running, "记一下吧")
    running.model.on_reflection("记一下吧", {"new_memories": [learned(text)]})
    await running.onebot.ask(where, MOTHER, "/memory reflect")
    home = "老家" if where is FAMILY else "public"
    assert scopes_with(running.memory, text) == left | {home}
    running.model.readings.clear()


@pytest.mark.parametrize(
    ("correct", "said_there", "text", "asked"),
    [
        (
            by_command,
            "对了，我家住在幸福路88号三单元",
            "妈妈的家庭住址是幸福路88号三单元",
            "幸福路",
        ),
        (by_hand, "对了，我的工位在星海大厦9层", "妈妈的工作地点是星海大厦9层", "星海大厦"),
        (by_move, "对了，我女儿在梧桐小学三班", "妈妈的女儿就读于梧桐小学三班", "梧桐小学"),
    ],
    ids=["forgotten", "deleted by hand", "moved out of public"],
)
async def test_a_stranger_is_not_told_from_the_waiting_turn_what_was_corrected(
    running: Rig, correct: Correct, said_there: str, text: str, asked: str
) -> None:
    running.model.on(said_there, call("core_memory_remember", {"judgment": text}), then="好的。")
    await running.turn(SQUARE, MOTHER, said_there)
    stranger = private(STRANGER)

    async def recalled() -> str:
        return await running.use_tool(stranger, STRANGER, "core_memory_recall", {"query": asked})

    async def probe() -> bool:
        return said_there in await recalled()

    await until(probe, within=60, what="the waiting turn, recalled")
    await correct(running, SQUARE, memory_id(running.memory, text), text)
    assert text not in await recalled()
    assert said_there not in await recalled()
    assert noted_turns(running.bot.plugin_data, said_there) != [], "it has not been read yet"
    running.model.on_reflection(asked, {"new_memories": [learned(text)]})
    await running.onebot.ask(SQUARE, MOTHER, "/memory reflect")
    assert "public" not in scopes_with(running.memory, text)
    running.model.readings.clear()


async def test_what_was_purged_is_in_no_file_after_the_next_nightly_run(running: Rig) -> None:
    text = "妈妈的金镯子藏在米缸底下"
    memory_id = await said(running, FAMILY, text)
    running.model.on_reflection("金镯子", {"new_memories": [learned(text)]})
    await running.onebot.ask(FAMILY, MOTHER, "/memory reflect")
    await slept(running)
    assert {name.partition("/")[0] for name in files_holding(running.bot.plugin_data, text)} == {
        "memory",
        "state",
        "backups",
    }
    told = await running.onebot.ask(FAMILY, MOTHER, f"/memory forget {memory_id} 彻底")
    assert "记忆和存档里已经没有" in told
    await slept(running)
    assert files_holding(running.bot.plugin_data, text) == set()
    assert "没有" in await running.onebot.ask(FAMILY, MOTHER, f"/memory undo {memory_id}")


async def slept(rig: Rig) -> None:
    """A nightly run of the next day, at once and to its end."""
    rig.clock.move(days=1)
    before = (await rig.panel.indexed())["loop"]["slept_at"]  # before, it would refuse
    assert "开始整理" in await rig.onebot.ask(FAMILY, MOTHER, "/memory sleep")

    async def probe() -> bool:
        loop = (await rig.panel.ready())["loop"]
        return not loop["sleeping"] and bool(loop["slept_at"] != before)

    await until(probe, within=60, what="the end of the nightly run")
