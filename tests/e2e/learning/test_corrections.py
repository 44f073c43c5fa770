"""What a person forgets, moves or deletes by hand while the turn that says it still waits to be
read does not come back; said anew, it is learned anew."""

from collections.abc import Awaitable, Callable

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, Place, group, private
from astrbot_plugin_scoped_memory.harness.records import files_with, noted_turns, scopes_with
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.script import call
from astrbot_plugin_scoped_memory.harness.waiting import until, until_true
from astrbot_plugin_scoped_memory.tests.e2e.cast import learned, memory_id, queued, slept
from astrbot_plugin_scoped_memory.tests.support.searched_files import files_holding

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

MOTHER, STRANGER = Person(2201, "妈妈"), Person(2999, "路人")
FAMILY, SQUARE = group(7771), group(999_100)


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
    await until_true(lambda: any("archive" in one.parts for one in files_with(rig.memory, text)))


async def by_move(rig: Rig, where: Place, memory_id: str, text: str) -> None:
    assert "老家" in await rig.onebot.ask(where, MOTHER, f"/memory move {memory_id} 老家")


type Correct = Callable[[Rig, Place, str, str], Awaitable[None]]


@pytest.mark.parametrize(
    ("correct", "where", "words", "text", "left", "home"),
    [
        (by_hand, FAMILY, "二胡", "妈妈的二胡放在阁楼西角", set(), "老家"),
        (by_move, SQUARE, "古筝", "妈妈的古筝放在阁楼北角", {"老家"}, "public"),
    ],
    ids=["deleted by hand", "moved out of public"],
)
async def test_a_turn_that_is_read_after_the_correction_does_not_undo_it(
    rig: Rig, correct: Correct, where: Place, words: str, text: str, left: set[str], home: str
) -> None:
    rig.model.readings.clear()
    await correct(rig, where, await said(rig, where, text), text)
    rig.model.on_reflection("这件事可别忘", {"new_memories": [learned(text)]})
    await rig.onebot.ask(where, MOTHER, "/memory reflect")
    assert scopes_with(rig.memory, text) == left
    assert all(words not in reading.everything for reading in rig.model.readings)

    await rig.turn(where, MOTHER, f"还是说一遍，{text}，记一下吧")
    await queued(rig, "记一下吧")
    rig.model.on_reflection("记一下吧", {"new_memories": [learned(text)]})
    await rig.onebot.ask(where, MOTHER, "/memory reflect")
    assert scopes_with(rig.memory, text) == left | {home}


async def test_a_stranger_is_not_told_from_the_waiting_turn_what_was_forgotten(rig: Rig) -> None:
    said_there, text = "对了，我家住在幸福路88号三单元", "妈妈的家庭住址是幸福路88号三单元"
    rig.model.on(said_there, call("core_memory_remember", {"judgment": text}), then="好的。")
    await rig.turn(SQUARE, MOTHER, said_there)

    async def recalled() -> str:
        return await rig.recall(private(STRANGER), STRANGER, "幸福路")

    async def probe() -> bool:
        return said_there in await recalled()

    await until(probe, within=60, what="the waiting turn, recalled")
    await by_command(rig, SQUARE, memory_id(rig.memory, text), text)
    assert "88号" not in await recalled()
    assert noted_turns(rig.bot.plugin_data, said_there) != [], "it has not been read yet"
    rig.model.on_reflection("幸福路", {"new_memories": [learned(text)]})
    await rig.onebot.ask(SQUARE, MOTHER, "/memory reflect")
    assert "public" not in scopes_with(rig.memory, text)


async def test_what_was_purged_is_in_no_file_after_the_next_nightly_run(rig: Rig) -> None:
    text = "妈妈的金镯子藏在米缸底下"
    one = await said(rig, FAMILY, text)
    rig.model.on_reflection("金镯子", {"new_memories": [learned(text)]})
    await rig.onebot.ask(FAMILY, MOTHER, "/memory reflect")
    await slept(rig, FAMILY, MOTHER)
    held = {name.partition("/")[0] for name in files_holding(rig.bot.plugin_data, text)}
    assert held == {"memory", "state", "backups"}
    told = await rig.onebot.ask(FAMILY, MOTHER, f"/memory forget {one} 彻底")
    assert "记忆和存档里已经没有" in told
    await slept(rig, FAMILY, MOTHER)
    assert files_holding(rig.bot.plugin_data, text) == set()
    assert "没有" in await rig.onebot.ask(FAMILY, MOTHER, f"/memory undo {one}")
