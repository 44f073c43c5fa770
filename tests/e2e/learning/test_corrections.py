"""What a person forgets while the turn that says it still waits to be read does not come back, and
what is purged is in no file."""

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, group, private
from astrbot_plugin_scoped_memory.harness.records import noted_turns, scopes_with
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.script import call
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.tests.e2e.cast import learned, memory_id, queued, slept
from astrbot_plugin_scoped_memory.tests.support.searched_files import files_holding

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

MOTHER, STRANGER = Person(2201, "妈妈"), Person(2999, "路人")
FAMILY, SQUARE = group(7771), group(999_100)


async def test_a_stranger_is_not_told_from_the_waiting_turn_what_was_forgotten(rig: Rig) -> None:
    said_there, text = "对了，我家住在幸福路88号三单元", "妈妈的家庭住址是幸福路88号三单元"
    rig.model.on(said_there, call("core_memory_remember", {"judgment": text}), then="好的。")
    await rig.turn(SQUARE, MOTHER, said_there)

    async def recalled() -> str:
        return await rig.recall(private(STRANGER), STRANGER, "幸福路")

    async def probe() -> bool:
        return said_there in await recalled()

    await until(probe, within=60, what="the waiting turn, recalled")
    one = memory_id(rig.memory, text)
    assert "已忘记" in await rig.onebot.ask(SQUARE, MOTHER, f"/memory forget {one}")
    assert "88号" not in await recalled()
    assert noted_turns(rig.bot.plugin_data, said_there) != [], "it has not been read yet"
    rig.model.on_reflection("幸福路", {"new_memories": [learned(text)]})
    await rig.onebot.ask(SQUARE, MOTHER, "/memory reflect")
    assert "public" not in scopes_with(rig.memory, text)


async def test_what_was_purged_is_in_no_file_after_the_next_nightly_run(rig: Rig) -> None:
    text = "妈妈的金镯子藏在米缸底下"
    await rig.remember(FAMILY, MOTHER, text)
    await rig.turn(FAMILY, MOTHER, f"{text}，这件事可别忘")
    await queued(rig, f"{text}，这件事")
    one = memory_id(rig.memory, text)
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
