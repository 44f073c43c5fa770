"""An entry belongs to the day of its moment in the bot's zone, unless a person says otherwise."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.catalogue.day_index import DayIndex
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.timeline import (
    DIGEST_TAG,
    MAX_ZONE_DIFFERENCE,
    local_day,
    written_day,
)
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory, StoredMemory
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.salience import in_time
from astrbot_plugin_scoped_memory.llm_memory.text.dates.expressions import find_times

pytestmark = pytest.mark.unit

SHANGHAI = ZoneInfo("Asia/Shanghai")
EVENING = datetime(2026, 11, 20, 17, 0, tzinfo=UTC)  # the 21st at one in Shanghai


def entry(at: datetime, path: str = "entities.md", *tags: str, number: int = 0) -> StoredMemory:
    return StoredMemory(PUBLIC, path, Memory(f"m-{number:04d}", "交了房租", at, tags=tags))


@pytest.mark.parametrize(
    "path", ["entities.md", "journal/2026-11-20.md", "journal/2026-11-20-2.md"]
)
def test_a_moment_belongs_to_the_day_of_the_bots_zone(path: str) -> None:
    stored = entry(EVENING, path)
    assert local_day(stored, SHANGHAI) == date(2026, 11, 21)
    assert local_day(stored, UTC) == date(2026, 11, 20)
    assert local_day(stored, None) == date(2026, 11, 20)
    assert written_day(stored) == date(2026, 11, 20)


def test_a_digest_and_what_a_person_put_elsewhere_keep_the_day_of_their_file() -> None:
    for stored in (
        entry(EVENING, "journal/2026-11-20.md", DIGEST_TAG),
        entry(EVENING + timedelta(days=9), "journal/2026-11-20.md"),
    ):
        for zone in (SHANGHAI, UTC, None):
            assert local_day(stored, zone) == date(2026, 11, 20)
    # No day of any calendar: the moment tells.
    assert local_day(entry(EVENING, "journal/2026-02-31.md"), UTC) == date(2026, 11, 20)
    assert local_day(entry(EVENING, "journal/notes.md"), UTC) == date(2026, 11, 20)


def test_a_question_with_a_time_asks_for_the_bots_days() -> None:
    now = datetime(2026, 11, 22, 12, 0, tzinfo=SHANGHAI)
    yesterday = find_times("昨天的房租", now)
    assert in_time(entry(EVENING), yesterday, SHANGHAI)
    assert not in_time(entry(EVENING - timedelta(hours=2)), yesterday, SHANGHAI)
    assert not in_time(entry(EVENING), yesterday, UTC)


offsets = st.integers(-12 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
moments = st.datetimes(datetime(2026, 1, 1), datetime(2026, 1, 9), timezones=offsets)  # noqa: DTZ001


@given(st.lists(moments, max_size=12), offsets, st.integers(0, 9), st.integers(0, 4))
def test_the_shelf_gives_exactly_the_entries_of_the_days_in_any_zone(
    said: list[datetime], zone: tzinfo, first: int, length: int
) -> None:
    shelf = DayIndex()
    entries = [
        entry(at, f"journal/{at:%Y-%m-%d}.md", number=number) for number, at in enumerate(said)
    ]
    for stored in entries:
        shelf.put(stored)
    start = date(2026, 1, 1) + timedelta(days=first)
    end = start + timedelta(days=length)
    found = list(shelf.newest_first(["public"], start, end, zone, 99))
    wanted = [s for s in entries if start <= s.memory.created_at.astimezone(zone).date() <= end]
    assert sorted(s.memory.memory_id for s in found) == [s.memory.memory_id for s in wanted]
    assert all(
        abs(written_day(stored) - local_day(stored, zone)) <= MAX_ZONE_DIFFERENCE
        for stored in entries
    )
    assert list(shelf.newest_first(["家人"], start, end, zone, 99)) == []
    for stored in entries:
        shelf.remove(stored)
    assert list(shelf.newest_first(["public"], date.min, date.max, zone, 99)) == []
