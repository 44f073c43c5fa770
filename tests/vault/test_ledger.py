"""What is kept of the files is there after a kill, and each entry has its scope."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import StateUnavailable
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory
from astrbot_plugin_scoped_memory.llm_memory.vault.ledger import SqliteLedger
from astrbot_plugin_scoped_memory.llm_memory.vault.models import (
    KnownEntry,
    KnownFile,
    RemovedEntry,
    UndoKind,
    UndoRecord,
)

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 22, 8, tzinfo=UTC)


def entry(number: int, scope: str = "家人", path: str = "preferences.md") -> KnownEntry:
    """An entry with every field set."""
    memory = Memory(f"m-{number:06d}", f"第{number}件事\n## 假 ^m-none", NOW, tags=("a,b",))
    return KnownEntry(
        scope, path, memory, f"d{number}", number, 2.5, "b", "a", True,
        replace(memory, strength=7), "p", 3.5, False,
    )  # fmt: skip


@pytest.fixture
def ledger(tmp_path: Path) -> SqliteLedger:
    """An open one."""
    made = SqliteLedger(tmp_path / "state" / "vault.sqlite")
    assert made.open()
    return made


def test_what_was_recorded_is_there_after_a_kill(ledger: SqliteLedger, tmp_path: Path) -> None:
    file = KnownFile("家人", "preferences.md", "x", "y", timeless=True)
    ledger.record(files=[file], entries=[entry(1), entry(2, "公司", "x.md")])
    again = SqliteLedger(tmp_path / "state" / "vault.sqlite")
    assert again.open()
    assert again.files() == {("家人", "preferences.md"): file}
    assert again.entries_in([("家人", "preferences.md")]) == [entry(1)]
    assert again.entry("公司", "m-000002") == entry(2, "公司", "x.md")
    assert again.entry("家人", "m-000002") is None
    assert again.entries_named(["m-000001", "m-000002", "m-none"]) == [
        entry(1), entry(2, "公司", "x.md"),
    ]  # fmt: skip
    assert again.counts() == {"家人": 1, "公司": 1}
    assert again.next_append() == 3


def test_one_id_in_two_scopes_is_two_entries(ledger: SqliteLedger) -> None:
    ledger.record(entries=[entry(1), entry(1, "公司")])
    ledger.record(gone=[("家人", "m-000001")])
    assert ledger.entries_named(["m-000001"]) == [entry(1, "公司")]


def test_what_is_put_again_has_not_departed(ledger: SqliteLedger) -> None:
    gone = [("家人", "m-000001", 5.0), ("公司", "m-2222", 6.0)]
    ledger.record(departed=[RemovedEntry(scope, "x.md", name, "d", at) for scope, name, at in gone])
    ledger.record(entries=[entry(1)])
    assert [gone.memory_id for gone in ledger.departed()] == ["m-2222"]


def test_deeds_are_found_by_memory_or_by_who_did_them_where(ledger: SqliteLedger) -> None:
    for number, person in enumerate(["甲", "乙", "甲"]):
        undo_record = UndoRecord(
            0, UndoKind.EDIT, f"m-{number}", "家人", "家人", person, "a:GroupMessage:1"
        )
        ledger.add_undo_record(undo_record)
    mine = ledger.undo_records(person="甲", conversation="a:GroupMessage:1")
    assert [undo_record.memory_id for undo_record in mine] == ["m-2", "m-0"]
    assert [undo_record.person for undo_record in ledger.undo_records("m-1")] == ["乙"]
    ledger.drop_undo_record(mine[0].number)
    assert [undo_record.memory_id for undo_record in ledger.undo_records(person="甲")] == ["m-0"]
    assert ledger.undo_records(person="甲", conversation="elsewhere") == []


def test_where_no_file_can_be_made_it_is_kept_in_memory(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file", encoding="utf-8")
    ledger = SqliteLedger(tmp_path / "state" / "vault.sqlite")
    assert not ledger.open()
    ledger.record(entries=[entry(1)])
    assert ledger.entries_in([("家人", "preferences.md")]) == [entry(1)]


def test_what_sqlite_says_is_told_in_our_words(ledger: SqliteLedger, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "state" / "vault.sqlite")) as connection:
        connection.execute("DROP TABLE entry")
        connection.commit()
    with pytest.raises(StateUnavailable, match="entry"):
        ledger.counts()
