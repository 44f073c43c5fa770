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
    [SECRET, "less", "s1"],
    ["length", "less", "s1", SECRET],
    ["LENGTH", "less", "s1"],
    {"axis": "length", "direction": "less", "note": SECRET},
    [["length", "less"], SECRET],
    7,
]


def rows(root: Path) -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(root / "state" / "loop.sqlite")) as connection:
        return connection.execute("SELECT * FROM style ORDER BY axis, person").fetchall()


async def test_a_wish_is_counted_in_its_scope_for_its_speaker(tmp_path: Path) -> None:
    async with reading(tmp_path, StandingClock(), settings=COUNTING) as rig:
        await say(rig, "以后说短一点", who=person(1))
        style = [["length", "less", "s1"], ["emoji", "more", "s2"], ["length", "less", "s1"]]
        await rig.hears("多发点表情", who=person(2, "小红"), style=style)
        assert TOLD["manner"] in rig.chat.calls[0].system
        found = rows(tmp_path)
        assert [one[:5] for one in found] == [
            ("家人", "%none", "2026-11-16", "emoji", "more"),
            ("家人", "%none", "2026-11-16", "length", "less"),
        ]
        assert {len(one[5]) for one in found} == {64}
        # Said again in the same week it is no other wish, and in another scope no other person.
        for where in (FAMILY, group(888)):
            await rig.hears("还是太长了", where=where, style=[["length", "less"]])
        found = [one for one in rows(tmp_path) if one[3] == "length"]
        assert [one[0] for one in found] == ["公司", "家人"]
        assert len({one[5] for one in found}) == 1
        every = [[axis, way] for axis in get_args(Axis) for way in get_args(Direction)]
        await rig.hears("短一点，又长一点", style=every)
    assert {(one[3], one[4]) for one in rows(tmp_path)} == {(a, d) for a, d in every}


async def test_anything_else_under_the_key_is_dropped_and_stands_nowhere(tmp_path: Path) -> None:
    async with reading(tmp_path, settings=COUNTING) as rig:
        for style in (HOSTILE, SECRET, {SECRET: SECRET}, {"length": "less"}, 5, None):
            report = await rig.hears("我对花生过敏", learned("小明对花生过敏"), style=style)
            assert (report.read, report.dead) == (1, 0)
        assert rows(tmp_path) == []
        assert texts_of(rig) == {"家人": ["小明对花生过敏"]}
    for path in tmp_path.rglob("*"):
        if path.is_file() and path.suffix != ".jsonl":
            assert SECRET.encode() not in path.read_bytes(), path
    async with reading(tmp_path) as rig:  # where nothing is counted, nobody is asked
        await rig.hears("短一点", style=[["length", "less", "s1"]])
        assert TOLD["manner"] not in rig.chat.calls[0].system
    assert rows(tmp_path) == []
