"""A reader's answer on manner is a closed channel: two words that are known, and a speaker."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import get_args

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.soul import Axis, Direction
from astrbot_plugin_scoped_memory.tests.support.engines import group, person
from astrbot_plugin_scoped_memory.tests.support.reflecting import (
    FAMILY,
    TOLD,
    Bot,
    StandingClock,
    learned,
    reading,
    say,
    texts_of,
    with_loop,
)

pytestmark = pytest.mark.engine

COUNTING = with_loop(counts_manner=True)
SECRET = "木星计划"
HOSTILE = [
    ["length", "less", SECRET],
    ["length", SECRET, "s1"],
    [SECRET, "less", "s1"],
    [SECRET, SECRET],
    ["length", "less", "s1", SECRET],
    ["LENGTH", "less", "s1"],
    ["length", "less", "s7"],
    {"axis": "length", "direction": "less", "note": SECRET},
    [["length", "less"], SECRET],
    SECRET,
    None,
    7,
]


def rows(root: Path) -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(root / "state" / "loop.sqlite")) as connection:
        return connection.execute("SELECT * FROM style ORDER BY axis, person").fetchall()


async def test_a_wish_is_counted_in_its_scope_for_its_speaker(tmp_path: Path) -> None:
    async with reading(tmp_path, StandingClock(), settings=COUNTING) as rig:
        await say(rig, "以后说短一点", who=person(1))
        style = [["length", "less", "s1"], ["emoji", "more", "s2"], ["length", "less", "s1"]]
        wish, who = learned("小明说以后说短一点"), person(2, "小红")
        assert (await rig.hears("多发点表情", wish, who=who, style=style)).read == 2
        assert TOLD["manner"] in rig.chat.calls[0].system
        found = rows(tmp_path)
        assert [one[:5] for one in found] == [
            ("家人", "%none", "2026-11-16", "emoji", "more"),
            ("家人", "%none", "2026-11-16", "length", "less"),
        ]
        persons = {one[5] for one in found}
        assert len(persons) == 2
        assert all(len(one) == 64 for one in persons)
        # What one person wants stays in that scope, as a memory.
        assert texts_of(rig) == {"家人": ["小明说以后说短一点"]}
        # Said again in the same week it is no other wish, and in another scope no other person.
        for where in (FAMILY, group(888)):
            await rig.hears("还是太长了", where=where, style=[["length", "less"]])
    found = rows(tmp_path)
    assert [one[0] for one in found if one[3] == "length"] == ["公司", "家人"]
    assert len({one[5] for one in found if one[3] == "length"}) == 1


@pytest.mark.parametrize("style", [HOSTILE, SECRET, {SECRET: SECRET}, {"length": "less"}, 5, None])
async def test_anything_else_under_the_key_is_dropped_and_stands_nowhere(
    tmp_path: Path, style: object
) -> None:
    async with reading(tmp_path, settings=COUNTING) as rig:
        report = await rig.hears("我对花生过敏", learned("小明对花生过敏"), style=style)
        assert (report.read, report.stored, report.dead) == (1, 1, 0)
        assert rows(tmp_path) == []
        assert texts_of(rig) == {"家人": ["小明对花生过敏"]}
    for path in tmp_path.rglob("*"):
        if path.is_file() and path.suffix != ".jsonl":
            assert SECRET.encode() not in path.read_bytes(), path


async def test_where_nothing_is_counted_the_reader_is_not_asked(bot: Bot) -> None:
    await bot.hears("短一点", style=[["length", "less", "s1"]])
    assert TOLD["manner"] not in bot.chat.calls[0].system
    assert rows(bot.root) == []


async def test_all_of_the_vocabulary_can_be_counted(tmp_path: Path) -> None:
    every = [[axis, direction] for axis in get_args(Axis) for direction in get_args(Direction)]
    async with reading(tmp_path, settings=COUNTING) as rig:
        await rig.hears("短一点，又长一点", style=every)
    assert {(one[3], one[4]) for one in rows(tmp_path)} == {(a, d) for a, d in every}
