"""How far a night is outlives a crash, and each row of it names the scope that it belongs to."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.consolidation.models import (
    ArchiveDecision,
    ArchiveReason,
    JournalDay,
    SleepReport,
    SleepStep,
    StrengthChange,
)
from astrbot_plugin_scoped_memory.llm_memory.consolidation.sleep_store import SqliteSleepStore
from astrbot_plugin_scoped_memory.llm_memory.errors import StateUnavailable
from astrbot_plugin_scoped_memory.llm_memory.models.key import Key
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_facts import Evidence, SqliteLoopFacts
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


def test_a_run_stands_as_it_stood_after_its_last_step(path: Path) -> None:
    after = SleepReport("s-1", "nightly", BEGUN, faded=3, backup="x.jsonl", errors=("满",))
    with opened(path) as (_, store):
        assert store.unfinished() is None
        store.begin(RUN)
        store.begin(SleepReport("s-1", "command"))
        store.finish_step(after, SleepStep.FADE, "家人")
    with opened(path) as (_, store):
        assert store.unfinished() == after
        assert store.last() is None
        assert store.finished("s-1") == {(SleepStep.FADE, "家人")}
        assert store.finished("s-2") == frozenset()
        ended = SleepReport("s-1", "nightly", BEGUN, ended=BEGUN, merged=1)
        store.end(ended)
    with opened(path) as (_, store):
        assert (store.unfinished(), store.last()) == (None, ended)
        assert store.finished("s-1") == frozenset()


def test_what_is_decided_and_the_evidence_it_was_decided_by_change_together(path: Path) -> None:
    key = Key("家人", "m-aaaa")
    fade = StrengthChange("家人", "m-aaaa", 50, 47, weak=False)
    with opened(path) as (file, store):
        book = SqliteLoopFacts(file)
        book.count_evidence([], [key])
        weighed = book.evidence("家人")
        book.count_evidence([key], [])  # while it was weighed
        with pytest.raises(StateUnavailable):
            store.plan([fade, StrengthChange("家人", None, 1, 1, weak=False)], weighed)  # type: ignore[arg-type]
        assert store.plans("家人") == []
        assert book.evidence("家人") == [Evidence(key, 1, 1)]
        store.plan([fade], weighed)
        assert store.plans("家人") == [fade]
        assert store.plans("公司") == []
        assert book.evidence("家人") == [Evidence(key, 1, 0)]
        store.drop_plans("公司", ["m-aaaa"])
        assert store.plans("家人") == [fade]
        store.drop_plans("家人", ["m-aaaa"])
        assert store.plans("家人") == []


def test_what_was_said_first_of_a_quota_and_of_who_leaves_holds(path: Path) -> None:
    first = ArchiveDecision("家人", "m-aaaa", ArchiveReason.MERGED, "m-bbbb", 70)
    second = ArchiveDecision("家人", "m-cccc", ArchiveReason.FADED)
    with opened(path) as (_, store):
        assert store.quota("s-1", "家人", 5) == 5
        store.choose("s-1", [first, second])
        store.depart("s-1", "家人", ["m-cccc"])
    with opened(path) as (_, store):
        assert store.quota("s-1", "家人", 2) == 5
        assert store.quota("s-1", "公司", 2) == 2
        store.choose("s-1", [ArchiveDecision("家人", "m-aaaa", ArchiveReason.FADED)])
        left = ArchiveDecision("家人", "m-cccc", ArchiveReason.FADED, done=True)
        assert store.departures("s-1", "家人") == [first, left]
        assert store.departures("s-1", "公司") == []


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
        assert len(names) >= 7
        for name in names - OF_NO_SCOPE:
            columns = {str(row[1]) for row in file.rows(f"PRAGMA table_info({name})")}
            assert "scope" in columns, name
