"""What a walk must remember outlives it."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import EngineClosed, StateUnavailable
from astrbot_plugin_scoped_memory.llm_memory.migration.migration_store import SqliteMigrationStore
from astrbot_plugin_scoped_memory.llm_memory.models.key import Key
from astrbot_plugin_scoped_memory.llm_memory.models.migration import (
    Added,
    Before,
    DeadLetter,
    Fate,
    Job,
    JobState,
    Outcome,
    Tally,
)

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def opened(path: Path) -> SqliteMigrationStore:
    store = SqliteMigrationStore(path, version="0.3.0")
    store.open()
    return store


def test_nothing_is_written_before_there_is_something_to_keep(tmp_path: Path) -> None:
    path = tmp_path / "state" / "migration.sqlite"
    store = opened(path)
    assert (store.jobs(), store.ids_with_outcome("x"), store.tally("x")) == (
        (),
        frozenset(),
        Tally(),
    )
    assert (store.before("x"), store.added("x"), store.dead_letters("x", 5)) == ((), (), ())
    store.note_outcomes("x", [])
    store.close()
    assert list(tmp_path.iterdir()) == []


def test_what_is_kept_is_there_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "migration.sqlite"
    store = opened(path)
    job = Job("scope-1", "scope", "personal_memory_v1", "b-1", JobState.RUNNING, NOW)
    store.put_job(job)
    store.note_outcomes(
        "scope-1",
        [
            Outcome("a", Fate.ADOPTED, True, "public", "m-a"),
            Outcome("b", Fate.MERGED, False, "家", "m-b"),
            Outcome("c", Fate.QUARANTINED, False, "quarantine", "m-c", "not_text"),
            Outcome("d", Fate.BROKEN, False, reason="empty"),
            Outcome("e\ud800", Fate.DONE),
        ],
    )
    store.keep_before("scope-1", [Before("a", "public", '{"judgment": "一"}')])
    store.keep_added("b-1", [Added("public", "m-a", "x", "a"), Added("家", "m-b", "y", "b")])
    store.keep_added("b-1", [Added("public", "m-a", "later", "z")])  # the first counts
    store.close()
    store = opened(path)
    assert store.jobs() == (job,)
    assert store.ids_with_outcome("scope-1") == {"a", "b", "c", "d", "e?"}
    assert store.tally("scope-1") == Tally(5, 1, 3, 1, 1, 1, 1)
    assert store.dead_letters("scope-1", 5) == (
        DeadLetter("scope-1", "c", "not_text", "quarantine"),
        DeadLetter("scope-1", "d", "empty", ""),
    )
    assert store.before("scope-1", ["a", "x"]) == (Before("a", "public", '{"judgment": "一"}'),)
    assert store.added("b-1", ["m-a"]) == (Added("public", "m-a", "x", "a"),)
    assert len(store.added("b-1")) == 2
    store.mark_taken_back("b-1", [Key("public", "m-a")])
    assert store.added("b-1", ["m-a"]) == (Added("public", "m-a", "", "a"),)
    store.renew_added("b-1", [Added("public", "m-a", "new")])
    assert store.added("b-1", ["m-a"]) == (Added("public", "m-a", "new", "a"),)
    store.forget_outcomes("scope-1", ["a"])
    assert "a" not in store.ids_with_outcome("scope-1")
    store.forget_outcomes("scope-1")
    assert store.tally("scope-1") == Tally()
    store.drop_before("scope-1", ["a"])
    assert store.before("scope-1") == ()
    store.close()
    with pytest.raises(EngineClosed):
        store.jobs()


def test_many_names_are_asked_for_in_one_go(tmp_path: Path) -> None:
    store = opened(tmp_path / "migration.sqlite")
    names = [f"r{number}" for number in range(1201)]
    store.keep_before("j", [Before(name, "public", "null") for name in names])
    assert {one.record_id for one in store.before("j", names)} == set(names)
    store.close()


def test_a_broken_file_is_set_aside_and_a_locked_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "migration.sqlite"
    path.write_bytes(b"no database at all" * 100)
    store = SqliteMigrationStore(path)
    assert store.open() is False
    store.note_outcomes("j", [Outcome("a", Fate.DONE)])
    store.close()
    assert len(list(tmp_path.glob("migration.broken-*"))) == 1
    monkeypatch.setattr(SqliteMigrationStore, "WAIT_SECONDS", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    store = SqliteMigrationStore(path)
    assert store.open() is True
    with pytest.raises(StateUnavailable):
        store.note_outcomes("j", [Outcome("b", Fate.DONE)])
    other.execute("ROLLBACK")
    other.close()
    store.note_outcomes("j", [Outcome("b", Fate.DONE)])
    assert store.ids_with_outcome("j") == {"a", "b"}
    store.close()
