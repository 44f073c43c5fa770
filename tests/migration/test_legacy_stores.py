"""Other plugins' stores are found, copied and read whatever their state, and stay as they are."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.migration import legacy_copy
from astrbot_plugin_scoped_memory.llm_memory.migration.legacy_copy import (
    CopyFailed,
    copy_store,
    fingerprint,
)
from astrbot_plugin_scoped_memory.llm_memory.migration.legacy_port import (
    JsonlStore,
    StoreKind,
    StoreUnreadable,
)
from astrbot_plugin_scoped_memory.llm_memory.migration.legacy_stores import PluginStores
from astrbot_plugin_scoped_memory.llm_memory.migration.rules.legacy_records import Foreign
from astrbot_plugin_scoped_memory.llm_memory.storage import files
from astrbot_plugin_scoped_memory.llm_memory.storage.child_process import ChildEnd
from astrbot_plugin_scoped_memory.tests.support.legacy_stores import (
    ANGEL,
    LIVING,
    Row,
    angel_record,
    make_chroma,
    make_living,
    make_living_first,
    make_simple,
    photograph,
    spoil_index,
    vector,
)

pytestmark = [pytest.mark.engine, pytest.mark.process]

# Enough of them for Chroma to put vectors into files.
ROWS: list[Row] = [
    *(angel_record(n, scope="家人" if n % 2 else None) for n in range(1100)),
    ("no-metadata", "只有文档,  标签", None, vector(1)),
    ("no-document", None, {"judgment": "只有元数据", "strength": "80"}, vector(2)),
    (
        "empty-document",
        "",
        {"judgment": "", "memory_scope": 7, "created_at": "2025-06-15"},
        vector(3),
    ),
    ("a-megabyte", "长" * 350_000, {"judgment": "长" * 350_000, "associations": "{u"}, vector(4)),
]


@pytest.fixture(scope="module")
def chroma(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made once, by Chroma itself: copy it before you touch it."""
    return make_chroma(tmp_path_factory.mktemp("made") / "chromadb", ROWS)


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    """The folder of all plugins' data."""
    return tmp_path / "plugin_data"


def put(chroma: Path, plugins: Path, provider: str = "openai") -> Path:
    """A copy where Angel Memory has its database."""
    place = plugins / ANGEL / f"memory_{provider}" / "chromadb"
    shutil.copytree(chroma, place)
    return place


class Run:
    """Reads everything that is found."""

    def __init__(self, plugins: Path, own: Path) -> None:
        self.stores = PluginStores(plugins, own)
        self.own = own

    def read(self) -> dict[str, tuple[list[Foreign], JsonlStore]]:
        """By the name of the store."""
        found = {}
        with self.stores.scratch(keep=True) as scratch:
            for store in self.stores.find():
                read = self.stores.read(store, scratch)
                found[store.name] = (list(read.records()), read)
        return found


@pytest.fixture
def run(plugins: Path, tmp_path: Path) -> Run:
    """A reader of the folder."""
    return Run(plugins, tmp_path / "own")


def told(records: Sequence[Foreign]) -> dict[str, tuple[str | None, dict[str, Any] | None]]:
    """Document and fields by id."""
    return {
        r.record_id: (r.document, None if r.fields is None else dict(r.fields)) for r in records
    }


EXPECTED = {
    name: (document, None if metadata is None else dict(metadata))
    for name, document, metadata, _ in ROWS
}


@pytest.mark.parametrize("spoilt", [False, True])
def test_a_chroma_database_is_read_by_its_sqlite_file_and_stays_as_it_is(
    chroma: Path, plugins: Path, run: Run, *, spoilt: bool
) -> None:
    place = put(chroma, plugins)
    assert not spoilt or spoil_index(place) == 4
    before = photograph(plugins)
    ((records, read),) = run.read().values()
    assert told(records) == EXPECTED
    assert (read.fault, read.store.kind) == ("", StoreKind.ANGEL_CHROMA)
    assert photograph(plugins) == before
    assert list(run.own.iterdir()) == []


def test_what_stands_in_the_queue_and_was_not_worked_off_yet_is_read(
    chroma: Path, plugins: Path, run: Run
) -> None:
    place = put(chroma, plugins)
    with sqlite3.connect(place / "chroma.sqlite3") as database:
        ((seen,),) = database.execute("SELECT MAX(seq_id) FROM max_seq_id").fetchall()
        ((topic,),) = database.execute("SELECT DISTINCT topic FROM embeddings_queue").fetchall()
        steps = [
            (seen + 1, 1, "uuid-1", '{"strength": 99, "reasoning": null}'),
            (seen + 2, 3, "uuid-2", "{}"),
            (seen + 3, 0, "queued", '{"judgment": "还在排队", "chroma:document": "还在排队,  "}'),
        ]
        for number, operation, name, metadata in steps:
            database.execute(
                "INSERT INTO embeddings_queue (seq_id, operation, topic, id, metadata)"
                " VALUES (?, ?, ?, ?, ?)",
                (number, operation, topic, name, metadata),
            )
    ((records, _),) = run.read().values()
    expected = dict(EXPECTED)
    del expected["uuid-2"]
    document, fields = expected["uuid-1"]
    assert fields is not None
    changed = {key: value for key, value in fields.items() if key != "reasoning"}
    expected["uuid-1"] = (document, {**changed, "strength": 99})
    expected["queued"] = ("还在排队,  ", {"judgment": "还在排队"})
    assert told(records) == expected


def test_stores_of_no_bytes_hold_nothing(plugins: Path, run: Run) -> None:
    for name in (
        f"{ANGEL}/memory_center/index/simple_memory.db",
        f"{ANGEL}/memory_x/chromadb/chroma.sqlite3",
        f"{LIVING}/livingmemory.db",
    ):
        path = plugins / name
        path.parent.mkdir(parents=True)
        path.touch()
    before = photograph(plugins)
    found = run.read()
    assert {name: records for name, (records, _) in found.items()} == {name: [] for name in found}
    assert len(found) == 3
    assert [read.fault for _, read in found.values()] == ["", "", ""]
    assert photograph(plugins) == before


def test_every_store_of_every_layout_is_found_and_no_backup(plugins: Path, run: Run) -> None:
    row = {"id": "s1", "judgment": "一件事", "tags": ["甲", "乙"]}
    angel = plugins / ANGEL
    make_simple(angel / "memory_center/index/simple_memory.db", [row])
    make_simple(angel / "memory_openai/index/simple_memory.db", [row], tags="memory_tags")
    make_simple(angel / "memory_center/backups/simple_memory.db", [row])
    for name in ("memory_openai/chromadb", "memory_local_default/chromadb", "chroma_db"):
        (angel / name).mkdir(parents=True)
        (angel / name / "chroma.sqlite3").touch()
    make_living(plugins / LIVING / "livingmemory.db", [("d1", "一件事", {"session_id": None})])
    make_living(plugins / "LivingMemory" / "livingmemory.db", [])
    make_living(plugins / "another_plugin" / "livingmemory.db", [])
    found = [store.name for store in run.stores.find()]
    assert found == [
        "angel_memory/memory_center/index/simple_memory.db",
        "angel_memory/memory_openai/index/simple_memory.db",
        "angel_memory/chroma_db",
        "angel_memory/memory_local_default/chromadb",
        "angel_memory/memory_openai/chromadb",
        "LivingMemory/livingmemory.db",
        "livingmemory/livingmemory.db",
    ]


def test_a_row_is_read_with_its_tags_and_bytes_that_are_no_utf_8(plugins: Path, run: Run) -> None:
    path = plugins / ANGEL / "memory_center/index/simple_memory.db"
    rows = [{"id": "s1", "judgment": "一件事", "tags": ["甲", "乙"], "useful_count": 2}]
    make_simple(path, [*rows, {"id": "s2", "judgment": b"\xff\xfe", "strength": "80"}])
    ((records, read),) = run.read().values()
    first, second = records
    assert first.fields is not None
    assert first.fields["tags"] == ["甲", "乙"]
    assert (first.fields["judgment"], first.fields["useful_count"]) == ("一件事", 2)
    assert second.fields is not None
    assert second.fields["judgment"] == "\udcff\udcfe"
    assert first.later
    assert read.fault == ""


HOLDER = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("PRAGMA journal_mode=WAL")
database.execute("PRAGMA wal_autocheckpoint=0")
database.execute("UPDATE memory_records SET judgment = '刚说的'")
database.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
"""


def test_what_a_running_plugin_holds_and_has_in_its_log_is_read_and_left_alone(
    plugins: Path, run: Run
) -> None:
    row = {"id": "s1", "judgment": "早说的"}
    path = make_simple(plugins / ANGEL / "memory_center/index/simple_memory.db", [row])
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert path.with_name(f"{path.name}-wal").stat().st_size > 0
        before = photograph(plugins)
        ((records, _),) = run.read().values()
        assert [(record.fields or {})["judgment"] for record in records] == ["刚说的"]
        assert photograph(plugins) == before
    finally:
        holder.kill()
        holder.communicate()


def test_both_ways_in_which_livingmemory_kept_memories_are_read(plugins: Path, run: Run) -> None:
    path = plugins / LIVING / "livingmemory.db"
    make_living(path, [("d1", "新的", {"session_id": "a:b:c"}), ("d2", "坏的", "{brok")])
    first = {
        "memory_id": "m1", "timestamp": "2025-08-01T00:00:00", "summary": "旧的",
        "description": "旧的，详细", "embedding": [0.1],
        "metadata": {
            "memory_type": "episodic", "importance_score": 0.4, "session_id": "a:b:c",
            "persona_id": "p", "source_conversation_id": "x", "access_info": {},
        },
    }  # fmt: skip
    make_living_first(path, [first])
    ((records, _),) = run.read().values()
    by_id = {record.record_id: record.fields or {} for record in records}
    assert by_id["d1"]["text"] == "新的"
    assert by_id["d1"]["session_id"] == "a:b:c"
    assert by_id["d2"] == {"text": "坏的", "created_at": "2025-10-01T08:00:00+00:00",
                           "metadata": "{brok"}  # fmt: skip
    assert by_id["m1"]["text"] == "旧的"
    assert by_id["m1"]["reasoning"] == "旧的，详细"
    assert (by_id["m1"]["session_id"], by_id["m1"]["importance"]) == ("a:b:c", 0.4)
    assert "embedding" not in by_id["m1"]


def test_a_file_that_is_no_database_is_a_fault_and_a_torn_one_gives_what_it_can(
    plugins: Path, run: Run
) -> None:
    path = plugins / ANGEL / "memory_center/index/simple_memory.db"
    rows = [{"id": f"s{n}", "judgment": f"第{n}件事" + "长" * 2000} for n in range(60)]
    make_simple(path, rows)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    ((records, read),) = run.read().values()
    assert "malformed" in read.fault
    assert len(records) < 60
    path.write_bytes(b"garbage" * 100)
    ((records, read),) = run.read().values()
    assert (records, "not a database" in read.fault) == ([], True)


def test_a_child_that_hangs_or_cannot_be_started_is_a_store_that_cannot_be_read(
    chroma: Path, plugins: Path, tmp_path: Path
) -> None:
    put(chroma, plugins)
    for end in (ChildEnd(None), ChildEnd(-11), ChildEnd(1, "", "no such module")):
        stores = PluginStores(plugins, tmp_path / "own", run=lambda *_, end=end: end)
        with stores.scratch(keep=True) as scratch, pytest.raises(StoreUnreadable) as failed:
            stores.read(stores.find()[0], scratch)
        assert failed.value.code == "native"


# Copying


def test_a_store_that_somebody_writes_to_is_copied_again_and_given_up_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "a.db"
    source.write_bytes(b"1")
    written: list[Path] = []
    copy_file = legacy_copy._copy

    def meanwhile(path: Path, target: Path) -> None:
        copy_file(path, target)
        written.append(path)
        if len(written) < busy:
            source.write_bytes(b"x" * (len(written) + 1))

    monkeypatch.setattr(legacy_copy, "_copy", meanwhile)
    busy = 2
    copied = copy_store(source, tmp_path / "one", wait=lambda _: None)
    assert copied.read_bytes() == source.read_bytes() == b"xx"
    written.clear()
    busy = 99
    with pytest.raises(CopyFailed) as failed:
        copy_store(source, tmp_path / "two", wait=lambda _: None)
    assert failed.value.code == "changing"


def test_there_must_be_room_for_a_copy_before_it_is_begun_and_while_it_is_made(
    plugins: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    make_simple(plugins / ANGEL / "memory_center/index/simple_memory.db", [])
    (store,) = run.stores.find()
    no_room = shutil._ntuple_diskusage(1, 1, 0)
    with run.stores.scratch(keep=True) as scratch:
        for owner, name, instead in (
            (files.shutil, "disk_usage", lambda _: no_room),
            (legacy_copy, "_copy", full),
        ):
            with monkeypatch.context() as patched, pytest.raises(StoreUnreadable) as failed:
                patched.setattr(owner, name, instead)
                run.stores.read(store, scratch)
            assert failed.value.code == "full"
    assert list(run.own.iterdir()) == []


def test_the_mark_of_a_store_changes_with_its_files_and_with_nothing_else(tmp_path: Path) -> None:
    source = tmp_path / "a.db"
    source.write_bytes(b"1")
    first = fingerprint(source)
    assert fingerprint(source) == first
    (tmp_path / "a.db-wal").touch()
    second = fingerprint(source)
    os.utime(source, ns=(1, 1))
    third = fingerprint(source)
    source.write_bytes(b"12")
    assert len({first, second, third, fingerprint(source)}) == 4
