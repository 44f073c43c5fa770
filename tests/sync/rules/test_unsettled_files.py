"""Which files wait, and which wait with them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope
from astrbot_plugin_scoped_memory.llm_memory.sync.rules.unsettled_files import files_to_defer, tied
from astrbot_plugin_scoped_memory.llm_memory.vault.models import (
    Changes,
    KnownEntry,
    Repair,
    SeenEntry,
    SeenFile,
)

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 22, tzinfo=UTC)


def seen(path: str, *names: str, scope: str = "家人") -> SeenFile:
    """A file with entries of these ids."""
    entries = tuple(SeenEntry(Memory(f"m-{name}", name, NOW), "x") for name in names)
    return SeenFile(Scope.parse(scope), path, "d", "p", entries)


def known(path: str, name: str, scope: str = "家人", *, held: bool = False) -> KnownEntry:
    """An entry as it was known."""
    return KnownEntry(scope, path, Memory(f"m-{name}", name, NOW), "x", held=held)


def by_file(entries: list[KnownEntry]) -> dict[tuple[str, str], list[KnownEntry]]:
    return {key: [one for one in entries if one.file == key] for key in {e.file for e in entries}}


def test_files_are_tied_by_entries_over_any_number_of_others() -> None:
    files = [seen("a.md", "one"), seen("b.md", "one", "two"), seen("z.md", "other")]
    rows = [known("c.md", "two", "公司"), known("c.md", "three", "公司"), known("d.md", "three")]
    found = tied({("家人", "a.md")}, files, by_file(rows))
    assert found == {("家人", "a.md"), ("家人", "b.md"), ("公司", "c.md"), ("家人", "d.md")}


def test_a_file_that_shares_nothing_waits_alone() -> None:
    files = [seen("a.md", "one"), seen("b.md", "two")]
    assert tied({("家人", "a.md")}, files, by_file([known("b.md", "two")])) == {("家人", "a.md")}


@pytest.mark.parametrize(
    ("changes", "waits"),
    [
        (Changes(vanished=(known("a.md", "one"),)), True),
        (Changes(held=(known("a.md", "one"),)), True),
        (Changes(held=(known("a.md", "one", held=True),)), False),
        (Changes(left=(known("a.md", "one"),)), False),
        (Changes(repairs={("家人", "a.md"): Repair(returned=(known("a.md", "one"),))}), True),
        (Changes(repairs={("家人", "a.md"): Repair(cut=(("m-one", "x"),))}), True),
        (Changes(repairs={("家人", "a.md"): Repair(copied=(1,), adopts=True)}), False),
    ],
)
def test_what_is_gone_and_what_is_to_be_written_waits_but_ids(
    changes: Changes, waits: bool
) -> None:
    assert files_to_defer(changes) == ({("家人", "a.md")} if waits else set())
