"""What each file of small facts does when it is closed, broken or held by another program."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import EngineClosed, StateUnavailable
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Fingerprint
from astrbot_plugin_scoped_memory.llm_memory.index.embedding_cache import SqliteVectorCache, TextKey
from astrbot_plugin_scoped_memory.llm_memory.migration.migration_store import SqliteMigrationStore
from astrbot_plugin_scoped_memory.llm_memory.models.turns import QueuedTurn
from astrbot_plugin_scoped_memory.llm_memory.reflection.turn_store import SqliteTurnStore
from astrbot_plugin_scoped_memory.llm_memory.storage.formats.schema import Schema
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_file import SqliteLoopFile
from astrbot_plugin_scoped_memory.llm_memory.storage.sqlite_file import SqliteFile
from astrbot_plugin_scoped_memory.llm_memory.storage.state_store import SqliteStateStore
from astrbot_plugin_scoped_memory.llm_memory.vault.ledger import SqliteLedger
from astrbot_plugin_scoped_memory.llm_memory.vault.models import KnownFile

pytestmark = pytest.mark.engine

NOW = datetime(2026, 11, 21, 18, 0, tzinfo=UTC)


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


@pytest.fixture(params=[LOOP, STATE, LEDGER], ids=["loop", "state", "ledger"])
def kind(request: pytest.FixtureRequest) -> Kind:
    found: Kind = request.param
    return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "some.sqlite"


def set_aside(path: Path) -> set[bytes]:
    return {p.read_bytes() for p in path.parent.iterdir() if ".broken-" in p.name}


@pytest.mark.parametrize(
    "kind", [LOOP, STATE, LEDGER, MIGRATION], ids=["loop", "state", "ledger", "migration"]
)
def test_every_table_that_could_hold_words_says_whose_its_rows_are(kind: Kind, path: Path) -> None:
    file = kind.open(path)
    file.open()
    kind.put(file, 1)
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
    assert {name for name, found in scoped.items() if not found} == kind.without_words


def test_a_closed_file_says_so_and_can_be_opened_again(kind: Kind, path: Path) -> None:
    file = kind.open(path)
    for rows in range(2):
        with pytest.raises(EngineClosed):
            kind.count(file)
        assert file.open()
        assert kind.count(file) == rows
        kind.put(file, 1)
        file.close()
        file.close()
    with pytest.raises(EngineClosed):
        kind.put(file, 2)


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_file_that_is_no_database_is_set_aside_and_kept(
    kind: Kind, path: Path, content: bytes
) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    file = kind.open(path)
    assert file.open() is (content == b"")
    kind.put(file, 1)
    file.close()
    assert set_aside(path) == (set() if content == b"" else {content})


def test_a_database_with_damaged_pages_is_set_aside_with_its_log(kind: Kind, path: Path) -> None:
    file = kind.open(path)
    file.open()
    for number in range(100):
        kind.put(file, number)
    file.close()
    raw = bytearray(path.read_bytes())
    raw[4096:-4096] = b"\xaa" * (len(raw) - 8192)
    path.write_bytes(raw)
    path.with_name(f"{path.name}-wal").write_bytes(b"left over")
    assert not file.open()
    assert kind.count(file) == 0
    kind.put(file, 1)
    file.close()
    assert file.open()
    assert kind.count(file) == 1
    file.close()
    assert bytes(raw) in set_aside(path)


def test_two_broken_files_in_one_second_are_both_kept(kind: Kind, path: Path) -> None:
    path.parent.mkdir()
    for content in (b"first broken", b"second broken"):
        path.write_bytes(content)
        file = kind.open(path)
        assert not file.open()
        file.close()
    assert set_aside(path) == {b"first broken", b"second broken"}


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


class Cache(SqliteFile):
    """As those of ``index/`` are."""

    def __init__(self, path: Path) -> None:
        schema = Schema(2, "CREATE TABLE IF NOT EXISTS vector (scope TEXT PRIMARY KEY, bytes BLOB)")
        super().__init__(path, schema, can_be_made_again=True)


CACHE = Kind(
    Cache,
    lambda file, number: file.write("INSERT INTO vector VALUES (?, ?)", [(f"{number}", b"0")]),
    lambda file: len(file.rows("SELECT * FROM vector")),
)


@pytest.mark.parametrize("refusal", PASSING, ids=str)
@pytest.mark.parametrize("some", [STATE, LOOP, CACHE], ids=["state", "loop", "cache"])
def test_what_says_nothing_of_the_file_itself_leaves_it_as_it_is(
    some: Kind, path: Path, refusal: tuple[str, int | None, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = some.open(path)
    file.open()
    some.put(file, 1)
    file.close()
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        connect = partial(sqlite3.connect, factory=refusing(*refusal))
        patch.setattr(sqlite3, "connect", connect)
        with pytest.raises(StateUnavailable):
            file.open()
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir() if "-" not in p.name] == [path.name]
    assert file.open()
    assert some.count(file) == 1
    file.close()


@pytest.mark.parametrize("code", [sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY])
def test_vectors_that_were_paid_for_outlive_an_opening_that_fails(
    path: Path, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, mark = TextKey("家人", "hash"), Fingerprint("model", 2, "1")
    cache = SqliteVectorCache(path)
    assert cache.open()
    cache.put(mark, {key: np.array([1, 0], np.float32)})
    cache.close()
    with monkeypatch.context() as patch:
        connect = partial(sqlite3.connect, factory=refusing("PRAGMA journal_mode", code))
        patch.setattr(sqlite3, "connect", connect)
        assert not cache.open()
    assert cache.open()
    assert list(cache.get(mark, [key])) == [key]
    cache.close()


@pytest.mark.parametrize("harm", ["damaged", "newer"])
def test_a_cache_that_is_broken_or_of_another_format_is_begun_anew_and_nothing_is_kept(
    path: Path, harm: str
) -> None:
    file = Cache(path)
    file.open()
    CACHE.put(file, 1)
    if harm == "newer":
        file.rows("UPDATE meta SET value = '3' WHERE name = 'format'")
    file.close()
    if harm == "damaged":
        path.write_bytes(b"no database")
    assert not file.open()
    assert CACHE.count(file) == 0
    file.close()
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_database_that_another_holds_is_not_set_aside_and_can_be_opened_later(
    kind: Kind, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = kind.open(path)
    file.open()
    kind.put(file, 1)
    file.close()
    monkeypatch.setattr(kind.open, "WAIT_SECONDS", 0.1)
    with closing(sqlite3.connect(path)) as holder:
        holder.execute("PRAGMA locking_mode=EXCLUSIVE")
        holder.execute("BEGIN EXCLUSIVE")
        if kind is LEDGER:  # what cannot be kept is kept in memory
            assert not file.open()
            assert kind.count(file) == 0
            file.close()
        else:
            with pytest.raises(StateUnavailable):
                file.open()
            with pytest.raises(StateUnavailable):
                kind.count(file)
    assert file.open()
    assert kind.count(file) == 1
    file.close()
