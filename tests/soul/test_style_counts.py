"""Out of a private scope go axis and direction alone, once enough people agree."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.soul import OPPOSITE, Direction, MannerWish
from astrbot_plugin_scoped_memory.llm_memory.soul.style_counts import WEEKS, SqliteStyleCounts
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_file import (
    ForgetfulLoopFile,
    SqliteLoopFile,
)

pytestmark = pytest.mark.engine

NOW = datetime(2026, 11, 27, 19, 5, 11, tzinfo=UTC)  # a Friday
TODAY = NOW.date()
SHORT = ("length", "less")
WAYS: tuple[Direction, ...] = ("less", "more")


def hashed(person: str) -> str:
    return sha256(person.encode()).hexdigest()


@pytest.fixture
def file(tmp_path: Path) -> Iterator[SqliteLoopFile]:
    opened = SqliteLoopFile(tmp_path / "loop.sqlite")
    opened.open()
    yield opened
    opened.close()


def test_a_row_holds_a_scope_a_week_two_known_words_and_a_hash_for_eight_weeks(
    file: SqliteLoopFile,
) -> None:
    counts = SqliteStyleCounts(file, hashed)
    for persona in ("小柔", "小刚", "小刚"):
        counts.count("家人", persona, NOW, [MannerWish("length", "less", "qq:1")])
    rows = file.rows("SELECT scope, role, week, axis, direction, person FROM style")
    assert sorted(rows) == [
        ("家人", role, "2026-11-23", "length", "less", hashed("qq:1")) for role in ("小刚", "小柔")
    ]
    counts.clear("小柔", "length")
    assert counts.roles() == ["小刚"]
    counts.count("家人", "小柔", NOW + timedelta(weeks=WEEKS - 1), [])
    assert counts.roles() == ["小刚"]
    counts.count("家人", "小柔", NOW + timedelta(weeks=WEEKS), [])
    assert counts.roles() == []


WISHES = st.tuples(
    st.sampled_from(["家人", "公司"]),
    st.sampled_from(["qq:1", "qq:2", "qq:3", ""]),
    st.sampled_from(WAYS),
    st.integers(0, WEEKS),
)


def three(way: Direction = "less") -> list[Any]:
    return [("家人", f"qq:{number}", way, 0) for number in (1, 2, 3)]


@example(three()[:2])
@example(three())
@example([("家人", "qq:1", "less", 0), ("公司", "qq:1", "less", 0)])
@example([("家人", "qq:1", "less", 0), ("公司", "qq:2", "less", 0)])
@example([("家人", "", "less", 0), ("家人", "", "less", 0), ("公司", "", "less", 0)])
@example([*three(), ("公司", "", "more", 1)])
@example([*three(), ("公司", "", "more", 2)])
@example([(*one[:3], WEEKS - 1) for one in three()])
@given(st.lists(WISHES, max_size=12))
def test_whatever_was_counted_the_threshold_holds(
    wishes: list[tuple[str, str, Direction, int]],
) -> None:
    """The last of a wish: how many weeks ago."""
    file = ForgetfulLoopFile(Path("nowhere"))
    file.open()
    counts = SqliteStyleCounts(file, hashed)
    for scope, person, way, weeks in sorted(wishes, key=lambda one: -one[-1]):
        at = NOW - timedelta(weeks=weeks)
        counts.count(scope, "", at, [MannerWish("length", way, person)])
    counts.count("家人", "小柔", NOW, [MannerWish("length", "less", f"qq:{n}") for n in range(3)])
    found = counts.agreed("%none", TODAY)
    for way in WAYS:
        mine = [one for one in wishes if one[2] == way and one[3] < WEEKS]
        people = {one[1] for one in mine if one[1]}
        several = {one[1] or one[0] for one in mine}
        enough = len(people) >= 3 or (len({one[0] for one in mine}) >= 2 and len(several) >= 2)
        against = any(one[2] == OPPOSITE[way] and one[3] <= 1 for one in wishes)
        assert (("length", way) in found) == (enough and not against)
    file.close()
