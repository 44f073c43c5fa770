"""What a bot with default settings hears in a private chat stays with whoever said it."""

import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from astrbot_plugin_scoped_memory.harness.places import Person, group, private
from astrbot_plugin_scoped_memory.harness.records import files_with, noted_turns, scopes_with
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.script import JsonObject, call
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.tests.e2e.cast import learned

pytestmark = [
    pytest.mark.astrbot,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(300),
]

OWNER, MING, HONG = Person(9100, "房主"), Person(5101, "小明"), Person(5102, "小红")
OWNERS_CHAT, MINGS_CHAT, HONGS_CHAT = private(OWNER), private(MING), private(HONG)
ROOM = group(7101)
CONFIDENCE = "别告诉别人：我打算年底搬出去"
HEARD = "小明最近在学吹萨克斯"
QUESTION = "小明最近在学什么"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Rig]:
    """A bot of this file's own, with default scopes: nothing is mapped."""
    config = {"reflection_provider": "auto", "advanced": {"reflect_after_turns": 1}}
    root = tmp_path_factory.mktemp("discreet-bot")
    async with Rig(root, admins=[OWNER.user_id], config=config, moved_clock=True) as rig:
        yield rig


async def test_what_is_heard_in_a_private_chat_is_its_speakers_alone(running: Rig) -> None:
    running.model.on_reflection("萨克斯", {"new_memories": [learned(HEARD)]})
    await running.turn(MINGS_CHAT, MING, "我最近在学吹萨克斯，邻居都受不了了")
    await running.onebot.ask(OWNERS_CHAT, OWNER, "/memory reflect")
    running.clock.move(minutes=40)
    await running.turn(OWNERS_CHAT, OWNER, "在吗，今天天气不错")

    async def read() -> bool:
        return bool(files_with(running.memory, HEARD))

    await until(read, within=60, what="the memory of what was heard")
    assert scopes_with(running.memory, HEARD) == {"public"}
    own = await running.turn(MINGS_CHAT, MING, QUESTION)
    assert HEARD in own.injected
    running.clock.move(hours=8)
    for place, who in ((ROOM, HONG), (ROOM, MING), (HONGS_CHAT, HONG), (OWNERS_CHAT, OWNER)):
        asked = await running.turn(place, who, QUESTION)
        assert "萨克斯" not in asked.first.everything.replace(QUESTION, "")
        found = await running.recall(place, who, QUESTION)
        assert "萨克斯" not in found
        listed = await running.onebot.ask(place, who, "/memory list")
        assert "萨克斯" not in listed
    await running.onebot.ask(OWNERS_CHAT, OWNER, "/memory export")
    (exported,) = (running.bot.plugin_data / "exports").glob("*.jsonl")
    assert "萨克斯" not in exported.read_text(encoding="utf-8")


async def test_a_confidence_is_refused_with_what_to_do_and_leaves_no_trace(running: Rig) -> None:
    said = await running.onebot.ask(MINGS_CHAT, MING, f"/memory add {CONFIDENCE}")
    assert "保密" in said
    assert "/记忆 域" in said
    paraphrased = {"judgment": "小明打算年底搬出去", "memory_type": "knowledge"}
    running.model.on(CONFIDENCE, call("core_memory_remember", paraphrased), then="好。")
    turn = await running.turn(MINGS_CHAT, MING, CONFIDENCE)
    assert turn.tool_results[-1].startswith("error")
    assert "保密" in turn.tool_results[-1]
    await running.turn(MINGS_CHAT, MING, "顺便说一句，今天吃了螺蛳粉")

    def read(words: str) -> bool:
        return any(words in request.everything for request in running.model.readings)

    async def kept() -> bool:
        # The reader may have read it already, and let it go.
        return noted_turns(running.bot.plugin_data, "螺蛳粉") != [] or read("螺蛳粉")

    await until(kept, within=30, what="the next turn in the queue, or read")
    assert noted_turns(running.bot.plugin_data, "搬出去") == []
    assert not read("搬出去")
    assert files_with(running.memory, "搬出去") == []


def warnings(rig: Rig) -> list[JsonObject]:
    """The messages in which the bot has told of strangers."""
    return [one for one in rig.onebot.actions if "都归公共" in json.dumps(one, ensure_ascii=False)]


async def test_the_admin_is_told_once_of_strangers_who_write_privately(running: Rig) -> None:
    (told,) = warnings(running)
    assert told["params"]["user_id"] == OWNER.user_id
    await running.restart()
    await running.turn(HONGS_CHAT, HONG, "我也来了")
    await running.turn(OWNERS_CHAT, OWNER, "今天有人来过吗")
    await running.onebot.ask(OWNERS_CHAT, OWNER, "/memory help")
    assert len(warnings(running)) == 1
