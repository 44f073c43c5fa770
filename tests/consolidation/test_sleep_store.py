"""What is kept of a night outlives a crash, and each row names the scope that it belongs to."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.consolidation.models import JournalDay, SleepReport
from astrbot_plugin_scoped_memory.llm_memory.consolidation.sleep_store import SqliteSleepStore
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_file import SqliteLoopFile

pytestmark = pytest.mark.unit

BEGUN = datetime(2026, 11, 21, 4, 0, tzinfo=UTC)
RUN = SleepReport("s-1", "nightly", BEGUN)
OF_NO_SCOPE = {"sleep_run"}
"""Numbers of a whole night, and what a disk said."""


@contextlib.contextmanager
def opened(path: Path) -> Iterator[tuple[SqliteLoopFile, SqliteSleepStore]]:
    file = SqliteLoopFile(path)
    file.open()
    try:
        yield file, SqliteSleepStore(file)
    finally:
        file.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "loop.sqlite"


def test_a_run_that_did_not_end_is_told_from_the_last_that_did(path: Path) -> None:
    with opened(path) as (_, store):
        assert not store.is_unfinished()
        store.begin(RUN)
    with opened(path) as (_, store):
        assert store.is_unfinished()
        assert store.last() is None
        store.begin(SleepReport("s-2", "resumed", BEGUN))
        errors = ("满",)
        ended = SleepReport("s-2", "resumed", BEGUN, ended=BEGUN, merged=1, errors=errors)
        store.end(ended)
    with opened(path) as (_, store):
        assert (store.is_unfinished(), store.last()) == (False, ended)


def test_what_was_compared_and_which_days_were_written_is_known_by_scope(path: Path) -> None:
    day = date(2026, 11, 20)
    with opened(path) as (_, store):
        store.note_compared("家人", {"m-aaaa": "1", "m-bbbb": "2"}, [])
        store.note_compared("家人", {"m-aaaa": "3"}, ["m-bbbb"])
        assert store.compared("家人") == {"m-aaaa": "3"}
        assert store.compared("公司") == {}
        store.note_journal(JournalDay("家人", day, nights=1))
        store.note_journal(JournalDay("家人", day, nights=2, written=True))
        assert store.journal_day("家人", day) == JournalDay("家人", day, 2, written=True)
        assert store.journal_day("公司", day) == JournalDay("公司", day)
        store.drop_journals(day)
        assert store.journal_day("家人", day).written
        store.drop_journals(date(2026, 11, 21))
        assert store.journal_day("家人", day) == JournalDay("家人", day)


def test_every_table_of_the_night_has_a_scope(path: Path) -> None:
    with opened(path) as (file, _):
        tables = file.rows("SELECT name FROM sqlite_master WHERE name LIKE 'sleep_%'")
        names = {str(name) for (name,) in tables if not str(name).startswith("sqlite_")}
        assert len(names) >= 3
        for name in names - OF_NO_SCOPE:
            columns = {str(row[1]) for row in file.rows(f"PRAGMA table_info({name})")}
            assert "scope" in columns, name
