"""A stranger talks without end in a private chat, and the family is learned from all the same."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from astrbot_plugin_scoped_memory.harness.places import Person, group, private
from astrbot_plugin_scoped_memory.harness.records import scopes_with
from astrbot_plugin_scoped_memory.harness.rig import PATIENCE, Rig
from astrbot_plugin_scoped_memory.harness.script import JsonObject
from astrbot_plugin_scoped_memory.harness.waiting import until

pytestmark = [
    pytest.mark.astrbot,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(300),
]

OWNER, MOTHER, STRANGER = Person(9000, "主人"), Person(2001, "妈妈"), Person(6666, "路人")
FAMILY, STRANGERS_CHAT = group(777), private(STRANGER)
PEANUTS = "奶奶对花生过敏"
DAILY = 24_000


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Rig]:
    """A bot of this file's own: each turn is read at once, and each answer costs a lot."""
    config: JsonObject = {
        "conversation_scope_map": {FAMILY.umo: "家人"},
        "reflection_provider": "auto",
        "reflection_daily_tokens": DAILY,
        "advanced": {**PATIENCE["advanced"], "reflect_after_turns": 1},
    }
    root = tmp_path_factory.mktemp("flooded-bot")
    async with Rig(root, admins=[OWNER.user_id], config=config, moved_clock=True) as rig:
        rig.model.reading_tokens = 5_000
        rig.clock.set_to(1, days=1)  # no midnight comes between
        yield rig


async def loop_status(rig: Rig) -> JsonObject:
    status: JsonObject = (await rig.panel.ready())["loop"]
    return status


async def test_a_flood_in_a_private_chat_leaves_the_family_its_reading_of_the_day(
    running: Rig,
) -> None:
    model = running.model
    model.on_reflection("花生", {"new_memories": [{"judgment": PEANUTS, "turn": 1, "who": "s1"}]})
    for number in range(12):
        await running.turn(STRANGERS_CHAT, STRANGER, f"第{number}轮：" + "长话一句接一句" * 400)

    async def rests() -> bool:
        return (await loop_status(running))["resting"] == "share"

    await until(rests, within=60, what="the stranger to be held back")
    loop = await loop_status(running)
    assert loop["shares"] == [{"scope": "", "tokens": loop["tokens_today"], "dropped": 0}]
    assert loop["waiting"] > 0
    assert 0 < loop["tokens_today"] <= DAILY // 2 + 5_000
    told = await running.onebot.ask(FAMILY, OWNER, "/memory status")
    assert "没写进会话表的合起来至多用一半" in told

    await running.turn(FAMILY, MOTHER, "奶奶吃了花生又起疹子，原来是过敏")

    async def learned() -> bool:
        return await asyncio.to_thread(scopes_with, running.memory, PEANUTS) == {"家人"}

    await until(learned, within=60, what="the family's turn to be learned from")
