"""Out of a private scope go axis and direction alone, once enough people agree."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.soul import (
    OPPOSITE,
    Axis,
    Direction,
    MannerWish,
)
from astrbot_plugin_scoped_memory.llm_memory.soul.style_counts import WEEKS, SqliteStyleCounts
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_file import (
    ForgetfulLoopFile,
    SqliteLoopFile,
)

pytestmark = pytest.mark.engine

NOW = datetime(2026, 11, 27, 19, 5, 11, tzinfo=UTC)
TODAY = NOW.date()
SHORT = ("length", "less")


def hashed(person: str) -> str:
    return sha256(person.encode()).hexdigest()


@pytest.fixture
def file(tmp_path: Path) -> Iterator[SqliteLoopFile]:
    opened = SqliteLoopFile(tmp_path / "loop.sqlite")
    opened.open()
    yield opened
    opened.close()


@pytest.fixture
def counts(file: SqliteLoopFile) -> SqliteStyleCounts:
    return SqliteStyleCounts(file, hashed)


def wish(
    counts: SqliteStyleCounts,
    person: str,
    scope: str = "家人",
    *,
    persona: str = "小柔",
    days: int = 0,
    manner: tuple[Axis, Direction] = SHORT,
) -> None:
    at = NOW - timedelta(days=days)
    counts.count(scope, persona, at, [MannerWish(*manner, person)])


def test_what_is_wanted_of_a_persona_is_not_wanted_of_another(counts: SqliteStyleCounts) -> None:
    for number in range(3):
        wish(counts, f"qq:{number}", persona="小柔" if number else "")
        wish(counts, f"qq:{number}", persona="")
    assert counts.agreed("小柔", TODAY) == ()
    assert counts.agreed("%none", TODAY) == (SHORT,)


def test_what_is_older_than_eight_weeks_does_not_count_and_is_deleted(
    counts: SqliteStyleCounts, file: SqliteLoopFile
) -> None:
    for number in range(3):
        wish(counts, f"qq:{number}", days=7 * (WEEKS - 1))
    assert counts.agreed("小柔", TODAY) == (SHORT,)
    assert counts.agreed("小柔", TODAY + timedelta(days=7)) == ()
    counts.count("家人", "小柔", NOW + timedelta(days=7), [])
    assert not file.rows("SELECT 1 FROM style")


def test_what_was_proposed_is_counted_anew(counts: SqliteStyleCounts) -> None:
    more = ("emoji", "more")
    for number in range(3):
        wish(counts, f"qq:{number}")
        wish(counts, f"qq:{number}", manner=more)
        wish(counts, f"qq:{number}", persona="小刚")
    counts.clear("小柔", "length")
    assert counts.agreed("小柔", TODAY) == (more,)
    assert counts.agreed("小刚", TODAY) == (SHORT,)


def test_a_row_holds_a_scope_a_week_two_known_words_and_a_hash(
    counts: SqliteStyleCounts, file: SqliteLoopFile
) -> None:
    wish(counts, "qq:1")
    (row,) = file.rows("SELECT scope, role, week, axis, direction, person FROM style")
    assert row == ("家人", "小柔", "2026-11-23", "length", "less", hashed("qq:1"))


WISHES = st.tuples(
    st.sampled_from(["家人", "公司"]),
    st.sampled_from(["qq:1", "qq:2", "qq:3", ""]),
    st.sampled_from(get_args(Axis)[:2]),
    st.sampled_from(get_args(Direction)),
    st.integers(0, 70),
)


def of(scope: str, person: str, days: int = 0, way: Direction = "less") -> Any:
    """A wish as the property draws it."""
    return scope, person, "length", way, days


@example([of("家人", "qq:1"), of("家人", "qq:2"), of("家人", "qq:2")])
@example([of("家人", "qq:1"), of("家人", "qq:2"), of("家人", "qq:3")])
@example([of("家人", "qq:1"), of("公司", "qq:1")])
@example([of("家人", "qq:1"), of("公司", "qq:2")])
@example([of("家人", ""), of("家人", ""), of("公司", "")])
@example([*[of("家人", f"qq:{n}") for n in (1, 2, 3)], of("公司", "", 7, "more")])
@example([*[of("家人", f"qq:{n}") for n in (1, 2, 3)], of("公司", "", 14, "more")])
@given(st.lists(WISHES, max_size=12))
def test_whatever_was_counted_the_threshold_holds(
    wishes: list[tuple[str, str, Axis, Direction, int]],
) -> None:
    file = ForgetfulLoopFile(Path("nowhere"))
    file.open()
    counts = SqliteStyleCounts(file, hashed)
    for scope, person, axis, direction, days in sorted(wishes, key=lambda one: -one[-1]):
        wish(counts, person, scope, days=days, manner=(axis, direction))
    monday = TODAY - timedelta(days=TODAY.weekday())

    def week(days: int) -> date:
        day = TODAY - timedelta(days=days)
        return day - timedelta(days=day.weekday())

    found = counts.agreed("小柔", TODAY)
    for axis in get_args(Axis)[:2]:
        for way in get_args(Direction):
            mine = [one for one in wishes if one[2:4] == (axis, way)]
            mine = [one for one in mine if week(one[4]) > monday - timedelta(weeks=WEEKS)]
            scopes = {one[0] for one in mine}
            people = {one[1] for one in mine if one[1]}
            several = {one[1] or one[0] for one in mine}
            against = [one for one in wishes if one[2:4] == (axis, OPPOSITE[way])]
            blocked = any(week(one[4]) >= monday - timedelta(weeks=1) for one in against)
            enough = len(people) >= 3 or (len(scopes) >= 2 and len(several) >= 2)
            assert ((axis, way) in found) == (enough and not blocked)
    file.close()
