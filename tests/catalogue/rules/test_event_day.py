"""An event has the day that its words name, or its entry notes, or about that of its telling."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.event_day import (
    is_another_event,
    noted_day,
    told_day,
    with_day,
)
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory, MemoryKind
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
    assert Memory.from_dict(noted.to_dict(memory_scope="家人")) == noted


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
