"""Which index folders are admitted, and what is noted of them: no Chroma, and made-up folders."""

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import IndexFull, IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.index.vector.folder_guard import FolderGuard
from astrbot_plugin_scoped_memory.llm_memory.index.vector.quarantine import set_aside
from astrbot_plugin_scoped_memory.llm_memory.storage.directory_lock import LOCK_NAME
from astrbot_plugin_scoped_memory.llm_memory.storage.disk_space import DiskSpace

pytestmark = pytest.mark.unit

SEGMENT = "0123abcd-0000-4000-8000-0123456789ab"
NOW = datetime(2026, 11, 22, tzinfo=UTC)
ROOMY = DiskSpace(Path(), free=lambda _path: 1 << 40)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With a database that knows one segment."""
    folder = tmp_path / "chroma"
    (folder / SEGMENT).mkdir(parents=True)
    (folder / SEGMENT / "data.bin").write_bytes(b"1")
    (folder / LOCK_NAME).write_bytes(b"")
    with closing(sqlite3.connect(folder / "chroma.sqlite3")) as database, database:
        database.execute("CREATE TABLE segments (id TEXT)")
        database.execute("INSERT INTO segments VALUES (?)", [SEGMENT])
    return folder


class Clock:
    now = NOW.timestamp()

    def __call__(self) -> float:
        return self.now


def guard(folder: Path, clock: Clock | None = None) -> FolderGuard:
    return FolderGuard(folder, space=ROOMY, clock=clock or Clock())


def refusal(folder: Path) -> str:
    with pytest.raises(IndexUnavailable) as caught:
        guard(folder).admit()
    return caught.value.code


def test_openings_that_come_to_no_end_are_counted_until_one_does(folder: Path) -> None:
    for _ in range(2):
        guard(folder).admit()  # and the process dies
    kept = guard(folder)
    kept.admit()
    assert kept.opened() == ""
    for _ in range(3):
        guard(folder).admit()
    assert refusal(folder) == "openings"
    kept = guard(folder)
    kept.discard("openings")
    kept.admit()
    assert kept.opened() == "openings"
    guard(folder).admit()


def test_an_error_or_an_opening_that_is_given_up_is_no_death(folder: Path) -> None:
    for _ in range(9):
        failed = guard(folder)
        failed.admit()
        failed.ended()
    guard(folder).admit()  # one real death
    for _ in range(9):
        given_up = guard(folder)
        given_up.admit()
        given_up.abandoned()
    unread = guard(folder)
    unread.abandoned()  # before it began
    guard(folder).admit()
    guard(folder).admit()
    assert refusal(folder) == "openings"


def test_what_is_no_database_is_garbage_and_segments_without_one_are_a_part(folder: Path) -> None:
    database = folder / "chroma.sqlite3"
    database.write_bytes(b"no database" * 100)
    assert refusal(folder) == "garbage"
    database.write_bytes(b"")
    assert refusal(folder) == "partial"
    database.unlink()
    assert refusal(folder) == "partial"
    (folder / SEGMENT / "data.bin").unlink()
    (folder / SEGMENT).rmdir()
    guard(folder).admit()


def test_what_is_not_the_folders_fault_is_said_and_nothing_is_moved(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "chroma.sqlite3", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert refusal(folder) == "busy"
    full = FolderGuard(folder, space=DiskSpace(folder, free=lambda _path: 1 << 20))
    with pytest.raises(IndexFull):
        full.admit()
    assert {path.name for path in folder.iterdir()} == {LOCK_NAME, SEGMENT, "chroma.sqlite3"}
    assert not list(folder.parent.glob("chroma.broken-*"))


def test_a_folder_is_set_aside_three_times_in_an_hour_and_not_more_often(folder: Path) -> None:
    clock = Clock()

    def give_up(reason: str = "garbage") -> None:
        (folder / "chroma.sqlite3").write_bytes(b"no database")
        guard(folder, clock).discard(reason)

    give_up()
    clock.now += 1800
    for _ in range(2):
        give_up()
    assert len(list(folder.parent.glob("chroma.broken-*"))) == 1
    with pytest.raises(IndexUnavailable) as caught:
        give_up()
    assert caught.value.code == "faulty"
    give_up("worn")  # no fault of anything
    clock.now += 1801
    give_up()
    with pytest.raises(IndexUnavailable):
        give_up()
    clock.now -= 86400  # a clock that was put back keeps nothing from being mended
    give_up()


def test_many_deletions_wear_an_index_out_until_it_is_given_up(folder: Path) -> None:
    kept = guard(folder)
    kept.admit()
    kept.opened()
    kept.removed(499)
    assert not kept.worn(0)
    kept.removed(2)
    assert kept.worn(500)
    assert not kept.worn(501)
    kept.closed()
    kept = guard(folder)
    kept.admit()
    assert kept.worn(500)
    kept.discard("worn")
    assert not kept.worn(0)
    assert not list(folder.parent.glob("chroma.broken-*"))


def test_what_is_not_ours_to_delete_stays(folder: Path) -> None:
    others = ["chroma.broken-", "chroma.broken-mine", "chroma2.broken-20260101T000000Z"]
    for name in others:
        (folder.parent / name).mkdir()
    set_aside(folder, keep=True, room=lambda _size: True, now=lambda: NOW)
    kept = {path.name for path in folder.parent.iterdir()}
    assert kept == {"chroma", "chroma.broken-20261122T000000Z", *others}
    (folder / "chroma.sqlite3").write_bytes(b"2")
    set_aside(folder, keep=True, room=lambda _size: False, now=lambda: NOW)  # nothing fits
    assert {path.name for path in folder.parent.iterdir()} == {"chroma", *others}


def test_what_cannot_be_moved_or_deleted_is_stuck(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def held(self: Path, *arguments: object) -> None:
        if self.name == "chroma.sqlite3":
            raise PermissionError(13, "held by another program", str(self))

    monkeypatch.setattr(Path, "replace", held)
    monkeypatch.setattr(Path, "unlink", held)
    with pytest.raises(IndexUnavailable) as caught:
        set_aside(folder, keep=True, room=lambda _size: True, now=lambda: NOW)
    assert caught.value.code == "stuck"


def test_a_damaged_record_says_nothing(folder: Path) -> None:
    path = folder.parent / "chroma.health.json"
    sound = {"format": 1, "openings": 3, "removed": 9999, "set_aside": []}
    path.write_text(json.dumps(sound))
    assert refusal(folder) == "openings"
    harms = ({"format": 2}, {"openings": -1}, {"removed": True}, {"set_aside": ["x"]})
    damaged = [json.dumps({**sound, **harm}) for harm in harms]
    for text in (*damaged, "", "[]", "null", "\x00", '{"format": 1}'):
        path.write_text(text)
        kept = guard(folder)
        kept.admit()
        assert not kept.worn(1)


def test_the_reserve_stays_free_and_a_disk_that_tells_nothing_is_written_to() -> None:
    space = DiskSpace(Path(), reserve=600, free=lambda _path: 1000, clock=lambda: 0.0)
    space.take(300)
    with pytest.raises(IndexFull):
        space.take(101)  # 300 of what was free a moment ago are spoken for

    def silent(_path: Path) -> int:
        raise OSError

    DiskSpace(Path(), free=silent).take(1 << 50)
