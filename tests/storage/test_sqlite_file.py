"""What each file of small facts does when it is closed, broken or held by another program."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import EngineClosed, StateUnavailable
from astrbot_plugin_scoped_memory.llm_memory.migration.legacy_copy import copy_store
from astrbot_plugin_scoped_memory.llm_memory.migration.migration_store import SqliteMigrationStore
from astrbot_plugin_scoped_memory.llm_memory.models.turns import QueuedTurn
from astrbot_plugin_scoped_memory.llm_memory.reflection.turn_store import SqliteTurnStore
from astrbot_plugin_scoped_memory.llm_memory.storage.formats.schema import Schema
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_file import SqliteLoopFile
from astrbot_plugin_scoped_memory.llm_memory.storage.sqlite_file import SqliteFile, discard
from astrbot_plugin_scoped_memory.llm_memory.storage.state_store import SqliteStateStore
from astrbot_plugin_scoped_memory.llm_memory.storage.store_files import StoreFiles
from astrbot_plugin_scoped_memory.llm_memory.vault.ledger import SqliteLedger
from astrbot_plugin_scoped_memory.llm_memory.vault.models import KnownFile

pytestmark = pytest.mark.engine

NOW = datetime(2026, 11, 21, 18, 0, tzinfo=UTC)


class Cache(SqliteFile):
    """As those of ``index/`` are."""

    def __init__(self, path: Path) -> None:
        schema = Schema(2, "CREATE TABLE IF NOT EXISTS vector (scope TEXT PRIMARY KEY, bytes BLOB)")
        super().__init__(path, schema, can_be_made_again=True)


@dataclass(frozen=True)
class Kind:
    """A file, how a row is put into it, and how many rows it has."""

    open: Callable[[Path], SqliteFile]
    put: Callable[[Any, int], object]
    count: Callable[[Any], int]
    without_words: frozenset[str] = frozenset()
    """Its tables of nothing but ids, names of ours and numbers."""


def turn(number: int) -> QueuedTurn:
    where = "aiocqhttp:GroupMessage:777"
    return QueuedTurn(f"t-{number}", "家人", where, "", NOW, "qq:1", "小明", "话" * 500, "答")


LOOP = Kind(
    SqliteLoopFile,
    lambda file, number: SqliteTurnStore(file).put(turn(number)),
    lambda file: SqliteTurnStore(file).count(),
    frozenset({"meta", "spent", "fact"}),
)
STATE = Kind(
    SqliteStateStore,
    lambda file, number: file.add_public_peer(f"a:GroupMessage:{number}" + "0" * 1500),
    lambda file: len(file.public_peers()),
    frozenset({"meta", "seen_conversation", "map_key", "lost_map_key", "public_peer"}),
)
LEDGER = Kind(
    SqliteLedger,
    lambda file, number: file.record(files=[KnownFile("家人", f"{number:01500}", "x", "y")]),
    lambda file: len(file.files()),
    frozenset({"meta"}),
)
MIGRATION = Kind(
    SqliteMigrationStore,
    lambda file, number: file.keep_before("j", {f"{number}": "null"}),
    lambda file: len(file.before("j")),
    frozenset({"meta", "job"}),
)
CACHE = Kind(
    Cache,
    lambda file, number: file.write("INSERT INTO vector VALUES (?, ?)", [(f"{number}", b"0")]),
    lambda file: len(file.rows("SELECT * FROM vector")),
    frozenset({"meta"}),
)
KINDS = {"loop": LOOP, "state": STATE, "ledger": LEDGER, "cache": CACHE}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "some.sqlite"


def kept(path: Path) -> set[bytes]:
    """What was set aside."""
    return {p.read_bytes() for p in path.parent.iterdir() if ".broken-" in p.name}


@pytest.mark.parametrize("some", [*KINDS.values(), MIGRATION], ids=[*KINDS, "migration"])
def test_every_table_that_could_hold_words_says_whose_its_rows_are(some: Kind, path: Path) -> None:
    file = some.open(path)
    file.open()
    some.put(file, 1)
    file.close()
    with closing(sqlite3.connect(path)) as connection:
        scoped = {
            name: any(
                column[1] == "scope" and (column[3] or column[5])
                for column in connection.execute(f"PRAGMA table_info({name})")
            )
            for (name,) in connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
            )
        }
    assert any(scoped.values())
    assert {name for name, found in scoped.items() if not found} == some.without_words


def test_a_closed_file_says_so_and_can_be_opened_again(kind: Kind, path: Path) -> None:
    file = kind.open(path)
    for rows in range(2):
        with pytest.raises(EngineClosed):
            kind.count(file)
        assert file.open()
        assert kind.count(file) == rows
        kind.put(file, rows)
        file.close()
        file.close()


def damaged(path: Path) -> None:
    """Pages in the middle."""
    raw = bytearray(path.read_bytes())
    raw[4096:-4096] = b"\xaa" * (len(raw) - 8192)
    path.write_bytes(raw)
    path.with_name(f"{path.name}-wal").write_bytes(b"left over")


def of_another_program(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)


@pytest.mark.parametrize("harm", [damaged, of_another_program, lambda p: p.write_bytes(b"no")])
def test_a_broken_file_is_begun_anew_and_kept_with_its_log_unless_it_is_a_cache(
    kind: Kind, path: Path, harm: Callable[[Path], object]
) -> None:
    file, broken = kind.open(path), set[bytes]()
    for _ in range(2):
        file.open()
        for number in range(100):
            kind.put(file, number)
        file.close()
        harm(path)
        broken.add(path.read_bytes())
        assert not file.open()
        assert kind.count(file) == 0
        file.close()
    assert kept(path) >= (set() if kind is CACHE else broken)
    if kind is CACHE:
        assert [p.name for p in path.parent.iterdir()] == [path.name]
        path.with_name(f"{path.name}-wal").touch()
        discard(path, kept=False)
        assert not [*path.parent.iterdir()]


def test_words_in_a_table_of_a_former_version_go_when_the_file_is_opened(
    kind: Kind, path: Path
) -> None:
    file = kind.open(path)
    file.open()
    kind.put(file, 1)
    file.close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE record (number INTEGER PRIMARY KEY, payload TEXT)")
        connection.execute("INSERT INTO record VALUES (1, 'what was decided')")
    assert file.open()
    assert kind.count(file) == 1
    file.close()
    assert b"decided" not in path.read_bytes()


# What says nothing of the file itself


def refusing(asked: str, code: int | None, verdict: str = "") -> type[sqlite3.Connection]:
    """Connections of which one statement is refused, or is answered with a verdict."""

    class Refusing(sqlite3.Connection):
        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            if not sql.startswith(asked):
                return super().execute(sql, *values)
            if verdict:
                return super().execute("SELECT ?", (verdict,))
            error = sqlite3.OperationalError("refused")
            if code is not None:
                error.sqlite_errorcode = code
            raise error

    return Refusing


PASSING: list[tuple[str, int | None, str]] = [
    ("PRAGMA journal_mode", sqlite3.SQLITE_BUSY, ""),
    ("BEGIN", sqlite3.SQLITE_LOCKED, ""),
    ("CREATE", sqlite3.SQLITE_FULL, ""),
    ("PRAGMA quick_check", sqlite3.SQLITE_IOERR_READ, ""),
    ("PRAGMA quick_check", None, "Tree 3 page 7: unable to get the page. error code=266"),
    ("PRAGMA journal_mode", sqlite3.SQLITE_CANTOPEN, ""),
    ("PRAGMA synchronous", sqlite3.SQLITE_PERM, ""),
    ("BEGIN", sqlite3.SQLITE_READONLY_DIRECTORY, ""),
    ("PRAGMA quick_check", sqlite3.SQLITE_NOMEM, ""),
    ("PRAGMA journal_mode", None, ""),
]


@pytest.mark.parametrize("refusal", PASSING, ids=str)
def test_an_error_that_passes_leaves_the_file_as_it_is(
    kind: Kind, path: Path, refusal: tuple[str, int | None, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = kind.open(path)
    file.open()
    kind.put(file, 1)
    file.close()
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        connect = partial(sqlite3.connect, factory=refusing(*refusal))
        patch.setattr(sqlite3, "connect", connect)
        with pytest.raises(StateUnavailable):
            SqliteFile.open(file)
        file.close()
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir() if "-" not in p.name] == [path.name]
    assert file.open()
    assert kind.count(file) == 1
    file.close()


LOOK = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('ANALYZE'); c.close()"
OURS: tuple[Callable[[Path, SqliteFile, StoreFiles], object], ...] = (
    lambda _, file, __: file.check(),
    lambda _, file, __: file.open(),
    lambda _, file, __: file.open_in_memory(),
    lambda _, __, files: files.search(any),
    lambda path, *_: copy_store(path, path.with_name("copy")),
)


@pytest.mark.process
@pytest.mark.parametrize("our", OURS)
def test_no_second_look_of_ours_gives_up_the_locks_of_an_open_file(path: Path, our: Any) -> None:
    """Else another program that has looked into it deletes the log, and what is written later."""
    files, file, other = StoreFiles(path.parents[1], path), STATE.open(path), STATE.open(path)
    with closing(files), closing(file), closing(other):
        file.open()
        our(path, other, files)
        subprocess.run((sys.executable, "-c", LOOK, str(path)), check=True)
        assert path.with_name(f"{path.name}-wal").exists()
