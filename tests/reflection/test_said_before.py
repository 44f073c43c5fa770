"""What was said before a person corrected an entry changes nothing of it, whenever it is read."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from astrbot_plugin_scoped_memory.llm_memory import Actor, Refused, StoredMemory
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.closing import closed_by
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, person
from astrbot_plugin_scoped_memory.tests.support.reflecting import (
    FAMILY,
    StandingClock,
    answer,
    learned,
    reading,
    reflect,
    say,
)

pytestmark = pytest.mark.engine

ADMIN, MING, HONG = person(9, "管理员", admin=True), person(1, "小明"), person(3, "小红")
CAR: Final = (
    "小明的车停在B2层",
    "我的车换到C3层了",
    "小明的车停在C3层",
    "小明的车停在D1层，靠电梯",
)
LONGER: Final = (*CAR[:3], "小明的车停在B2层，靠电梯")
PHONE: Final = ("小明的分机是8021", "我分机改成8025了", "小明的分机是8025", "小明的分机是8031")
BIKE: Final = (
    "Tom's bike is in the attic",
    "I moved my bike to the cellar",
    "Tom's bike is in the cellar",
    "Tom's bike is in the garden shed",
)
DEBT: Final = (
    "小明向妈妈借了三千",
    "小明那三千还清了",
    "小明借妈妈的三千还清了",
    "小明向妈妈借了五千，还没还",
)
RENT: Final = ("房租每月3000", "房租涨到3500了", "房租涨到3500了", "房租每月3200，年底再谈")
SISTER: Final = (
    "我姐在宏达做会计",
    "我姐换去美团上班了",
    "小明的姐姐换去美团上班了",
    "小明的姐姐在宏达做出纳",
)
TOM = person(1, "Tom")


async def by_hand(rig: Rig, stored: StoredMemory, words: str) -> None:
    path = rig.root / "memory" / "scopes" / stored.scope.name / stored.path
    text = path.read_text("utf-8")
    path.write_text(text.replace(f"## {stored.memory.judgment}", f"## {words}"), "utf-8")
    await rig.engine.reconcile()


async def correct(rig: Rig, stored: StoredMemory, words: str, how: str, who: Actor) -> None:
    if how == "by hand":
        await by_hand(rig, stored, words)
    else:
        editor = replace(who, admin=True) if how == "own" else ADMIN
        done = await rig.edit(stored.memory.memory_id, words, FAMILY, editor)
        assert not isinstance(done, Refused), done


@pytest.mark.parametrize("plain", [False, True], ids=["contradiction", "new memory"])
@pytest.mark.parametrize(
    ("words", "who", "speaker", "how"),
    [
        (CAR, MING, MING, "by an admin"),
        (CAR, MING, MING, "own"),
        (CAR, MING, MING, "by hand"),
        (LONGER, MING, MING, "by hand"),
        (PHONE, MING, MING, "by an admin"),
        (BIKE, TOM, TOM, "by hand"),
        (DEBT, MING, HONG, "by an admin"),
        (RENT, MING, MING, "by hand"),
        (SISTER, MING, MING, "by an admin"),
    ],
)
async def test_a_turn_from_before_a_correction_changes_nothing_of_the_entry(
    words: tuple[str, str, str, str],
    who: Actor,
    speaker: Actor,
    how: str,
    plain: bool,
    tmp_path: Path,
) -> None:
    was, said, read, corrected = words
    clock = StandingClock()
    item: dict[str, Any] = learned(read, who="s1")
    async with reading(tmp_path, clock, words_alone=True) as bot:
        stored = (await bot.remember(was, FAMILY, who)).memory
        clock.forward(hours=1)
        await say(bot, said, who=speaker)
        clock.forward(minutes=30)
        await correct(bot, stored, corrected, how, who)
        clock.forward(minutes=5)
        changes = [{"old_id": stored.memory.memory_id, "new": item}]
        given = answer(item) if plain else answer(contradictions=changes)
    async with reading(tmp_path, clock, words_alone=True) as bot:
        bot.chat.otherwise = given
        await reflect(bot)
        (left,) = [one for one in bot.living() if one.memory.memory_id == stored.memory.memory_id]
        assert left.memory.judgment == corrected
        assert not closed_by(left.memory)
        if speaker == who:
            assert [one.memory.judgment for one in bot.living()] == [corrected]


async def test_but_another_thing_of_the_same_is_learned(tmp_path: Path) -> None:
    was, _, _, corrected = CAR
    clock = StandingClock()
    async with reading(tmp_path, clock, words_alone=True) as bot:
        stored = (await bot.remember(was, FAMILY, MING)).memory
        clock.forward(hours=1)
        await say(bot, "我的车是红色的", who=MING)
        await correct(bot, stored, corrected, "by an admin", MING)
        bot.chat.otherwise = answer(learned("小明的车是红色的", who="s1"))
        await reflect(bot)
        assert {one.memory.judgment for one in bot.living()} == {corrected, "小明的车是红色的"}


async def test_nor_does_one_whose_reading_had_begun(tmp_path: Path) -> None:
    was, said, read, corrected = CAR
    clock = StandingClock()
    async with reading(tmp_path, clock, words_alone=True) as bot:
        stored = (await bot.remember(was, FAMILY, MING)).memory
        clock.forward(hours=1)
        await say(bot, said, who=MING)
        changes = [{"old_id": stored.memory.memory_id, "new": learned(read, who="s1")}]
        bot.chat.add(answer(contradictions=changes))
        bot.chat.release.clear()
        begun = asyncio.create_task(reflect(bot))
        await bot.chat.asked.wait()
        clock.forward(minutes=1)
        await correct(bot, stored, corrected, "by an admin", MING)
        bot.chat.release.set()
        await begun
        assert [one.memory.judgment for one in bot.living()] == [corrected]


async def test_what_is_said_after_the_correction_counts(tmp_path: Path) -> None:
    was, said, read, corrected = CAR
    clock = StandingClock()
    async with reading(tmp_path, clock, words_alone=True) as bot:
        stored = (await bot.remember(was, FAMILY, MING)).memory
        clock.forward(hours=1)
        await correct(bot, stored, corrected, "by hand", MING)
        clock.forward(minutes=1)
        changes = [{"old_id": stored.memory.memory_id, "new": learned(read, who="s1")}]
        await bot.hears(said, contradictions=changes, who=MING)
        assert [one.memory.judgment for one in bot.living()] == [read]
