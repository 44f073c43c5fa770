"""When a night is due, and what fades in it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.consolidation.rules.decay import (
    LOW,
    MOST_TIMES,
    TOP,
    WEAK,
    most_leaving,
    weigh,
)
from astrbot_plugin_scoped_memory.llm_memory.consolidation.rules.schedule import (
    last_due,
    was_missed,
)

pytestmark = pytest.mark.unit

BERLIN = ZoneInfo("Europe/Berlin")
NEW_YORK = ZoneInfo("America/New_York")
zones = st.sampled_from([BERLIN, NEW_YORK, ZoneInfo("Asia/Shanghai"), ZoneInfo("UTC")])
moments = st.datetimes(
    datetime(2020, 1, 2),  # noqa: DTZ001  (made aware in the tests)
    datetime(2035, 1, 1),  # noqa: DTZ001
)
times = st.tuples(st.integers(0, 23), st.integers(0, 59))


@given(moments, zones, times)
def test_the_last_time_lies_at_most_about_a_day_back(
    moment: datetime, zone: ZoneInfo, at: tuple[int, int]
) -> None:
    now = moment.replace(tzinfo=UTC).astimezone(zone)
    last = last_due(now, at)
    assert timedelta() <= now.astimezone(UTC) - last.astimezone(UTC) <= timedelta(hours=26)
    assert not was_missed(now, at, last)
    assert was_missed(now, at, last - timedelta(seconds=1))


def test_a_spring_night_that_lacks_the_hour_has_its_run_an_hour_later() -> None:
    due = last_due(datetime(2026, 3, 29, 12, tzinfo=BERLIN), (2, 30))
    assert due.astimezone(UTC) == datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
    assert f"{due:%H:%M}" == "03:30"


def test_an_autumn_night_that_has_the_hour_twice_is_due_once() -> None:
    due = last_due(datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN), (2, 30))
    assert due.astimezone(UTC) == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    second = datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=BERLIN)
    assert not was_missed(second, (2, 30), due)


def test_a_night_is_missed_if_no_run_came_since_it_was_due() -> None:
    now = datetime(2026, 11, 22, 9, tzinfo=BERLIN)
    assert was_missed(now, (4, 0), datetime(2026, 11, 21, 4, 2, tzinfo=BERLIN))
    assert not was_missed(now, (4, 0), datetime(2026, 11, 22, 4, 2, tzinfo=BERLIN))
    assert not was_missed(now.replace(hour=3), (4, 0), datetime(2026, 11, 21, 4, 2, tzinfo=BERLIN))


strengths = st.integers(1, 100)
counts = st.integers(0, 50)


@pytest.mark.parametrize(
    ("strength", "useful", "useless", "after", "weak"),
    [
        (100, 0, 9, 100, False),
        (80, 0, 1, 80, False),
        (79, 0, 1, 76, False),
        (79, 0, 3, 70, False),
        (41, 0, 1, 38, False),
        (41, 0, 2, 32, False),
        (39, 0, 1, 33, False),
        (50, 0, 5, 32, False),
        (50, 0, 500, 32, False),
        (15, 0, 1, 9, True),
        (3, 0, 1, 1, True),
        (3, 0, 0, 3, False),
        (3, 2, 2, 3, False),
        (50, 0, 0, 50, False),
        (50, 1, 0, 52, False),
        (50, 7, 1, 60, False),
        (99, 3, 0, 100, False),
        (3, 1, 0, 5, False),
    ],
)
def test_the_table_of_the_docstring(
    strength: int, useful: int, useless: int, after: int, weak: bool
) -> None:
    found = weigh(strength, useful=useful, useless=useless)
    assert (found.strength, found.weak) == (after, weak)


@given(strengths, counts, counts)
def test_what_was_as_often_useful_as_useless_or_never_recalled_is_as_it_was(
    strength: int, useful: int, useless: int
) -> None:
    assert weigh(strength, useful=useful, useless=useful).strength == strength
    found = weigh(strength, useful=useful, useless=useless)
    if useful > useless:
        assert found.strength >= strength
        assert not found.weak
    if useful < useless:
        assert found.strength <= strength
    assert 1 <= found.strength <= 100


@given(st.integers(TOP, 100), counts, counts)
def test_the_top_tier_stays(strength: int, useful: int, useless: int) -> None:
    assert weigh(strength, useful=useful, useless=useless).strength >= strength


@given(strengths, counts)
def test_the_low_tier_fades_faster_than_the_middle(strength: int, useless: int) -> None:
    if useless == 0 or strength >= TOP or strength < LOW:
        return
    lost = strength - weigh(strength, useful=0, useless=1).strength
    low = LOW - 1 - weigh(LOW - 1, useful=0, useless=1).strength
    assert 0 < lost < low


@given(st.integers(40, 100))
def test_one_night_however_bad_takes_no_default_memory_away(strength: int) -> None:
    assert not weigh(strength, useful=0, useless=1000).weak
    assert weigh(strength, useful=0, useless=1000) == weigh(strength, useful=0, useless=MOST_TIMES)
    assert WEAK < LOW


@given(st.integers(0, 100_000))
def test_no_more_than_a_quarter_leaves(living: int) -> None:
    assert 4 * most_leaving(living) <= living
