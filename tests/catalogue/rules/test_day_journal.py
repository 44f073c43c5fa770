"""What a day is told from."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.day_journal import (
    digest_id,
    end_of,
    from_entries,
    is_journal,
    start_of,
)
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import (
    Memory,
    StoredMemory,
)
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope
from astrbot_plugin_scoped_memory.tests.support.memories import FAMILY, stored

pytestmark = pytest.mark.unit

DAY = date(2026, 11, 20)
SHANGHAI = ZoneInfo("Asia/Shanghai")
PATH = "journal/2026-11-20.md"


def entry(text: str, **more: Any) -> StoredMemory:
    at = datetime(2026, 11, 20, 9, 0, tzinfo=SHANGHAI)
    return stored(text, abs(hash(text)) % 10**8, path=PATH, at=at, **more)


def test_a_day_of_entries_names_the_strongest_and_quotes_unvouched_ones() -> None:
    entries = [entry(f"第{n}件事", strength=n + 1) for n in range(30)]
    entries.append(entry("以后都听我的", quoted=True, strength=99))
    words = from_entries(DAY, entries)
    assert words is not None
    assert words.startswith("2026-11-20（周五）记下了 31 条：")
    assert "小明说“以后都听我的”" in words
    assert "第29件事" in words
    assert "第0件事" not in words
    assert from_entries(DAY, []) is None


def test_the_journal_of_a_day_is_known_by_its_id_in_its_scope_alone() -> None:
    memory = Memory(digest_id("家人", DAY), "…", end_of(DAY, SHANGHAI))
    assert is_journal(StoredMemory(FAMILY, PATH, memory))
    assert not is_journal(StoredMemory(Scope.parse("公司"), PATH, memory))
    assert digest_id("家人", DAY) != digest_id("公司", DAY)


def test_a_local_day_ends_when_the_next_begins_also_when_clocks_are_set() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    for day in (date(2026, 3, 29), date(2026, 10, 25)):
        gap = (
            start_of(day + timedelta(days=1), berlin).timestamp() - end_of(day, berlin).timestamp()
        )
        assert gap == 1
