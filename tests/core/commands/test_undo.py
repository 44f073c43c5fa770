"""What is undone is what a person did last, as a whole."""

from __future__ import annotations

from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory import Turn
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person
from astrbot_plugin_scoped_memory.tests.support.plugin import Desk
from astrbot_plugin_scoped_memory.tests.support.reflecting import Bot, answer, learned, reflect

pytestmark = [pytest.mark.engine, pytest.mark.astrbot]

MING: dict[str, Any] = {"sender": "10001", "name": "小明", "admin": False}
HOME = group(777)


async def texts_of(rig: Rig | Bot) -> set[str]:
    found = await rig.engine.service.newest(conversation_id=HOME)
    return {one.memory.judgment for one in found}


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("by_command", [False, True])
@pytest.mark.parametrize(
    ("language", "old", "new", "now"),
    [
        ("zh-CN", "我鞋码42", "更正：我鞋码43", "我鞋码43"),
        ("zh-CN", "小明对青霉素过敏", "小明对青霉素不过敏", "小明对青霉素不过敏"),
        ("en-US", "I'm vegetarian", "I'm not vegetarian any more", "I'm not vegetarian any more"),
    ],
)
async def test_a_replacement_is_one_deed_that_an_undo_swaps_back(
    timed_bot: Bot, language: str, old: str, new: str, now: str, by_command: bool, named: bool
) -> None:
    bot, desk = timed_bot, Desk(timed_bot, language, **MING)
    await desk("add 奶奶不吃芹菜")
    former = await bot.remember(old, HOME)
    await desk("forget 奶奶不吃芹菜")
    bot.clock.forward(minutes=1)
    bot.chat.add(answer(learned(new, who="s1")))
    await bot.engine.service.observe(Turn(person(10001), new, "好的"), conversation_id=HOME)
    said = await desk(f"add {new}") if by_command else ""
    if not by_command:
        await bot.tell(new, HOME)
    assert await texts_of(bot) == {now}
    if said:
        assert old in said
        assert former.memory.memory.memory_id not in said
    undone = await desk(f"undo {former.memory.memory.memory_id}" if named else "undo")
    assert undone == desk.say("undo.swapped", text=old)
    assert await texts_of(bot) == {old}
    await reflect(bot)
    assert await texts_of(bot) == {old}, "it is learned again"
    await desk("undo")
    assert await texts_of(bot) == {old, "奶奶不吃芹菜"}


async def hears(bot: Bot, text: str, who: int = 10001, *stored: str) -> None:
    bot.clock.forward(minutes=1)
    turn = Turn(person(who), text, "好的", stored=stored, said_at=bot.clock())
    await bot.engine.service.observe(turn, conversation_id=HOME)
    await bot.engine.reflection.follow()


async def recalled(bot: Bot) -> set[str]:
    """What is stored, or waits to be read."""
    found = (await bot.recall("小明 私房钱 体检 爬山 金鱼", HOME, 20)).hits
    return {one.preview for one in found}


@pytest.mark.parametrize("asked", ["刚才那句别记", "don't remember what I just said"])
@pytest.mark.parametrize("by_tool", [False, True])
async def test_what_was_said_just_before_is_dropped_alone(
    timed_bot: Bot, asked: str, by_tool: bool
) -> None:
    bot = timed_bot
    await hears(bot, "我最近去体检")
    bot.clock.forward(minutes=1)
    first = (await bot.remember("小明养了金鱼", HOME)).memory.memory.memory_id
    stored = []
    if by_tool:
        stored.append((await bot.remember("小明存了私房钱", HOME)).memory.memory.memory_id)
    await hears(bot, "我存了五百块私房钱", 10001, *stored)
    await hears(bot, "爬山去吗，我喜欢爬山", 5)
    before = await recalled(bot)
    await hears(bot, asked)
    left = await recalled(bot)
    assert {one for one in before - left if "私房钱" not in one} == set()
    assert not [one for one in left if "私房钱" in one]
    await Desk(bot, **MING)("undo")
    assert await recalled(bot) == before
    await bot.forget(first, HOME, person(10001))
    bot.clock.forward(hours=2)
    await hears(bot, asked)  # what was said long ago is not meant
    assert await recalled(bot) == before - {"小明养了金鱼"}


@pytest.mark.parametrize("text", ["我喜欢小美，这句别记", "strictly off-record, I like Mei"])
async def test_what_asks_not_to_be_kept_is_added_by_nobody(timed_bot: Bot, text: str) -> None:
    said = await Desk(timed_bot, **MING)(f"add {text}")
    assert "别记" in said
    assert await texts_of(timed_bot) == set()
