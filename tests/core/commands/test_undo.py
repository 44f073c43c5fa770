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
