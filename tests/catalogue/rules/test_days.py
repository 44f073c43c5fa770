"""The day of an event, of an entry and of a journal."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.catalogue.day_index import DayIndex
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.event_day import (
    is_another_event,
    noted_day,
    told_day,
    with_day,
)
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.timeline import (
    MADE_OF_ENTRIES,
    MAX_ZONE_DIFFERENCE,
    local_day,
    written_day,
)
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import (
    Memory,
    MemoryKind,
    StoredMemory,
)
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.order import in_time
from astrbot_plugin_scoped_memory.llm_memory.text.dates.expressions import find_times
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.entry import parse, render

pytestmark = pytest.mark.unit

AT = datetime(2026, 6, 2, 12, tzinfo=UTC)
MEMORY = Memory("m-01jd3q8z7k", "小明住院了", AT, kind=MemoryKind.EVENT)


@pytest.mark.parametrize(
    ("field", "day"),
    [
        ("日期：2026-05-30", date(2026, 5, 30)),
        ("日期: 2026/5/30", date(2026, 5, 30)),
        ("日期：2026年5月30日", date(2026, 5, 30)),
        ("日期：2026-02-31", None),
        ("日期：昨天", None),
        ("到期：2026-05-30", None),
    ],
)
def test_a_day_that_a_person_writes_is_read_and_stays_as_it_was_written(
    field: str, day: date | None
) -> None:
    text = render(MEMORY).replace("\n\n", "\n").rstrip("\n") + f"\n> {field}\n"
    read = parse(text, fallback_time=AT)
    assert (noted_day(read), told_day(read)) == (day, day or AT)
    assert field in render(read)
    assert parse(render(read), fallback_time=AT) == read


def test_a_day_comes_back_as_it_was_noted() -> None:
    noted = with_day(MEMORY, date(2026, 5, 30))
    assert noted_day(parse(render(noted), fallback_time=AT)) == date(2026, 5, 30)


@pytest.mark.parametrize(
    ("one", "other", "days", "another"),
    [
        ("小明住院了", "小明住院了", 3, False),
        ("小明住院了", "小明住院了", 4, True),
        ("小明昨天（2026-06-01）住院", "小明今天（2026-06-02）住院", 0, True),
        ("小明昨天住院", "小明大前天住院", 2, False),  # both of the first of June
        ("小明上周（2026-05-25～2026-05-31）住院", "小明5月28日住院", 3, False),
        ("小明最近住院了", "小明最近住院了", 2, False),
        ("小明2026-06-01体检", "小明做了体检", 2, False),
        ("小明2026-06-01体检", "小明做了体检", 9, True),
    ],
)
def test_the_day_tells_one_event_from_another(
    one: str, other: str, days: int, another: bool
) -> None:
    first = replace(MEMORY, judgment=one)
    second = replace(MEMORY, judgment=other, created_at=AT + timedelta(days=days))
    assert is_another_event(first, second) is is_another_event(second, first) is another
    plain = (replace(memory, kind=MemoryKind.KNOWLEDGE) for memory in (first, second))
    assert not is_another_event(*plain), "what is no event is so on every day"


def test_a_noted_day_counts_where_the_words_name_none() -> None:
    june, march = (with_day(MEMORY, date(2026, month, 1)) for month in (6, 3))
    assert is_another_event(june, march)
    assert not is_another_event(june, MEMORY)
    told = replace(MEMORY, judgment="小明3月1日住院")
    assert not is_another_event(told, march)
    assert is_another_event(replace(march, judgment="小明6月1日住院"), march)


SHANGHAI = ZoneInfo("Asia/Shanghai")
EVENING = datetime(2026, 11, 20, 17, 0, tzinfo=UTC)  # the 21st at one in Shanghai


def told_at(at: datetime, path: str = "entities.md", *extra: str, number: int = 0) -> StoredMemory:
    return StoredMemory(PUBLIC, path, Memory(f"m-{number:04d}", "交了房租", at, extra=extra))


@pytest.mark.parametrize(
    "path", ["entities.md", "journal/2026-11-20.md", "journal/2026-11-20-2.md"]
)
def test_a_moment_belongs_to_the_day_of_the_bots_zone(path: str) -> None:
    stored = told_at(EVENING, path)
    assert local_day(stored, SHANGHAI) == date(2026, 11, 21)
    assert local_day(stored, UTC) == date(2026, 11, 20)
    assert local_day(stored, None) == date(2026, 11, 20)
    assert written_day(stored) == date(2026, 11, 20)


def test_a_digest_and_what_a_person_put_elsewhere_keep_the_day_of_their_file() -> None:
    for one in (
        told_at(EVENING, "journal/2026-11-20.md", MADE_OF_ENTRIES),
        told_at(EVENING + timedelta(days=9), "journal/2026-11-20.md"),
    ):
        for zone in (SHANGHAI, UTC, None):
            assert local_day(one, zone) == date(2026, 11, 20)
    # No day of any calendar: the moment tells.
    assert local_day(told_at(EVENING, "journal/2026-02-31.md"), UTC) == date(2026, 11, 20)
    assert local_day(told_at(EVENING, "journal/notes.md"), UTC) == date(2026, 11, 20)


def test_a_question_with_a_time_asks_for_the_bots_days() -> None:
    now = datetime(2026, 11, 22, 12, 0, tzinfo=SHANGHAI)
    yesterday = find_times("昨天的房租", now)
    assert in_time(told_at(EVENING), yesterday, SHANGHAI)
    assert not in_time(told_at(EVENING - timedelta(hours=2)), yesterday, SHANGHAI)
    assert not in_time(told_at(EVENING), yesterday, UTC)


offsets = st.integers(-12 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
moments = st.datetimes(datetime(2026, 1, 1), datetime(2026, 1, 9), timezones=offsets)  # noqa: DTZ001


@given(st.lists(moments, max_size=12), offsets, st.integers(0, 9), st.integers(0, 4))
def test_the_shelf_gives_exactly_the_entries_of_the_days_in_any_zone(
    said: list[datetime], zone: tzinfo, first: int, length: int
) -> None:
    shelf = DayIndex()
    entries = [
        told_at(at, f"journal/{at:%Y-%m-%d}.md", number=number) for number, at in enumerate(said)
    ]
    for one in entries:
        shelf.put(one)
    start = date(2026, 1, 1) + timedelta(days=first)
    end = start + timedelta(days=length)
    found = list(shelf.newest_first(["public"], start, end, zone, 99))
    wanted = [s for s in entries if start <= s.memory.created_at.astimezone(zone).date() <= end]
    assert sorted(s.memory.memory_id for s in found) == [s.memory.memory_id for s in wanted]
    assert all(
        abs(written_day(one) - local_day(one, zone)) <= MAX_ZONE_DIFFERENCE for one in entries
    )
    assert list(shelf.newest_first(["家人"], start, end, zone, 99)) == []
    for one in entries:
        shelf.remove(one)
    assert list(shelf.newest_first(["public"], date.min, date.max, zone, 99)) == []
