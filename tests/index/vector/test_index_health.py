"""What is known of an index folder, and what is done with it: no Chroma, made-up answers."""

import json
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import IndexFull, IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.index.vector.folder_guard import FolderGuard
from astrbot_plugin_scoped_memory.llm_memory.index.vector.health import Health, HealthFile, seal_of
from astrbot_plugin_scoped_memory.llm_memory.index.vector.probe_process import ProbeProcess, Verdict
from astrbot_plugin_scoped_memory.llm_memory.index.vector.quarantine import set_aside
from astrbot_plugin_scoped_memory.llm_memory.storage.child_process import ChildEnd
from astrbot_plugin_scoped_memory.llm_memory.storage.directory_lock import LOCK_NAME
from astrbot_plugin_scoped_memory.llm_memory.storage.disk_space import DiskSpace

pytestmark = pytest.mark.unit

SEGMENT = "0123abcd-0000-4000-8000-0123456789ab"
NOW = datetime(2026, 11, 22, tzinfo=UTC)
ROOMY = DiskSpace(Path(), free=lambda _path: 1 << 40)


def answer(verdict: str, orphans: Sequence[str] = ()) -> ChildEnd:
    return ChildEnd(0, json.dumps({"verdict": verdict, "detail": "", "orphans": list(orphans)}))


class Child:
    """Ends as it is told to."""

    def __init__(self, end: ChildEnd | OSError = answer("sound")) -> None:  # noqa: B008
        self.end = end
        self.started = 0

    def __call__(self, command: Sequence[str], seconds: float) -> ChildEnd:
        self.started += 1
        if isinstance(self.end, OSError):
            raise self.end
        return self.end


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Not a database, but SQLite opens an empty one of these."""
    import sqlite3

    folder = tmp_path / "chroma"
    (folder / SEGMENT).mkdir(parents=True)
    (folder / SEGMENT / "data.bin").write_bytes(b"1")
    (folder / LOCK_NAME).write_bytes(b"")
    connection = sqlite3.connect(folder / "chroma.sqlite3")
    connection.execute("CREATE TABLE t (x)")
    connection.close()
    return folder


def keeper(folder: Path, child: Child) -> FolderGuard:
    return FolderGuard(folder, {}, prober=ProbeProcess(child), space=ROOMY)


def session(folder: Path, child: Child, version: str = "1") -> str:
    """Opened and closed in order."""
    kept = keeper(folder, child)
    kept.admit(version)
    reason = kept.opened(1)
    kept.closed(version)
    return reason


def test_only_what_is_not_as_it_was_is_looked_into(folder: Path) -> None:
    child = Child()
    session(folder, child)
    assert child.started == 1
    session(folder, child)
    assert child.started == 1
    (folder / SEGMENT / "data.bin").write_bytes(b"12")
    session(folder, child)
    assert child.started == 2
    session(folder, child, version="0.9")
    assert child.started == 3
    (folder.parent / "chroma.health.json").write_text('{"format": 1, "seal": 7}')
    session(folder, child, version="0.9")
    assert child.started == 4


def test_a_write_breaks_the_seal_and_rest_sets_it(folder: Path) -> None:
    child = Child()
    kept = keeper(folder, child)
    kept.admit("1")
    kept.opened(1)
    kept.settled("1", 1)
    record = HealthFile(folder.parent / "chroma.health.json")
    assert record.read().seal == seal_of(folder)
    kept.writing(10)
    assert record.read().seal is None
    kept.mark_suspect()
    kept.settled("1", 1)
    assert record.read().seal is None


def test_a_seal_is_not_believed_after_two_sessions_without_a_close(folder: Path) -> None:
    child = Child()
    session(folder, child)
    for _ in range(3):
        kept = keeper(folder, child)
        kept.admit("1")
        kept.opened(1)
        kept.settled("1", 1)
    assert child.started == 2


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (answer("garbage"), "garbage"),
        (answer("partial"), "partial"),
        (ChildEnd(-11), "crashed"),
        (ChildEnd(-6), "crashed"),
        (ChildEnd(0xC0000005), "crashed"),
        (ChildEnd(None), "hangs"),
    ],
)
def test_a_broken_folder_is_set_aside(folder: Path, end: ChildEnd, code: str) -> None:
    assert session(folder, Child(end)) == code
    assert [path.name for path in folder.iterdir()] == [LOCK_NAME]
    (aside,) = folder.parent.glob("chroma.broken-*")
    assert {path.name for path in aside.iterdir()} == {"chroma.sqlite3", SEGMENT}


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (answer("busy"), "busy"),
        (answer("unreadable"), "unreadable"),
        (answer("missing"), "missing"),
        (answer("full"), "full"),
        (ChildEnd(-4), "native"),
    ],
)
def test_what_is_not_the_folders_fault_is_said_and_nothing_is_moved(
    folder: Path, end: ChildEnd, code: str
) -> None:
    before = seal_of(folder)
    with pytest.raises(IndexUnavailable) as caught:
        keeper(folder, Child(end)).admit("1")
    assert caught.value.code == code
    assert seal_of(folder) == before


@pytest.mark.parametrize(
    "end",
    [
        OSError("no process"),
        ChildEnd(-9),
        ChildEnd(1, "Traceback"),
        ChildEnd(0, "[]\n{}\n{\n"),
        ChildEnd(0, '{"verdict": "odd", "detail": "", "orphans": []}'),
    ],
)
def test_where_nothing_can_be_told_the_openings_are_counted(
    folder: Path, end: ChildEnd | OSError
) -> None:
    child = Child(end)
    for _ in range(3):
        keeper(folder, child).admit("1")  # and the process dies
    kept = keeper(folder, child)
    kept.admit("1")
    assert kept.opened(0) == "openings"
    assert child.started == 3


def test_an_opening_that_is_given_up_is_no_death(folder: Path) -> None:
    child = Child()
    for _ in range(9):
        given_up = keeper(folder, child)
        given_up.admit("1")
        given_up.abandoned()
    kept = keeper(folder, child)
    kept.admit("1")
    kept.abandoned()
    assert kept.opened(1) == ""


def test_orphans_are_swept_and_nothing_else(folder: Path) -> None:
    (folder / "notes").mkdir()
    session(folder, Child(answer("sound", [SEGMENT, "notes", "../chroma", "chroma.sqlite3"])))
    assert {path.name for path in folder.iterdir()} == {LOCK_NAME, "notes", "chroma.sqlite3"}


def test_a_folder_with_orphans_gets_no_seal(folder: Path) -> None:
    child = Child()
    kept = keeper(folder, child)
    kept.admit("1")
    kept.opened(0)
    kept.closed("1")
    session(folder, child)
    assert child.started == 2


@pytest.mark.parametrize("settles", [False, True])
def test_a_folder_that_lost_a_segment_while_it_was_open_gets_no_seal(
    folder: Path, settles: bool
) -> None:
    child = Child()
    kept = keeper(folder, child)
    kept.admit("1")
    kept.opened(1)
    shutil.rmtree(folder / SEGMENT)
    if settles:
        kept.settled("1", 1)
    kept.closed("1")
    session(folder, child)
    assert child.started == 2


def test_many_deletions_wear_an_index_out_until_it_is_given_up(folder: Path) -> None:
    child = Child()
    kept = keeper(folder, child)
    kept.admit("1")
    kept.opened(1)
    kept.removed(499)
    assert not kept.worn(0)
    kept.removed(2)
    assert kept.worn(500)
    assert not kept.worn(501)
    kept.closed("1")
    kept = keeper(folder, child)
    kept.admit("1")
    assert kept.worn(500)
    kept.discard("worn")
    assert not kept.worn(0)
    assert not list(folder.parent.glob("chroma.broken-*"))


def test_without_room_nothing_is_kept(folder: Path) -> None:
    set_aside(folder, keep=True, room=lambda _size: True, now=lambda: NOW)
    (folder / "chroma.sqlite3").write_bytes(b"2")
    set_aside(folder, keep=True, room=lambda _size: False, now=lambda: NOW)
    assert {path.name for path in folder.parent.iterdir()} == {"chroma"}


def test_what_is_not_ours_to_delete_stays(folder: Path) -> None:
    others = ["chroma.broken-", "chroma.broken-mine", "chroma2.broken-20260101T000000Z"]
    for name in others:
        (folder.parent / name).mkdir()
    set_aside(folder, keep=True, room=lambda _size: True, now=lambda: NOW)
    kept = {path.name for path in folder.parent.iterdir()}
    assert kept == {"chroma", "chroma.broken-20261122T000000Z", *others}


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


def test_a_damaged_record_says_nothing(tmp_path: Path) -> None:
    record = HealthFile(tmp_path / "h.json")
    full = Health({"a/b": (1, 2)}, "1.5.9", 1, 2, 3)
    assert record.write(full)
    assert record.read() == full
    sound = json.loads((tmp_path / "h.json").read_text())
    for harm in ({"format": 2}, {"openings": -1}, {"removed": True}, {"seal": {"a": 1}}):
        (tmp_path / "h.json").write_text(json.dumps({**sound, **harm}))
        assert record.read() == Health()
    for text in ("", "[]", "null", "\x00", '{"format": 1}'):
        (tmp_path / "h.json").write_text(text)
        assert record.read() == Health()


def test_the_reserve_stays_free() -> None:
    now, free, asked = [0.0], [1000], [0]

    def left(_path: Path) -> int:
        asked[0] += 1
        return free[0]

    space = DiskSpace(Path(), reserve=600, free=left, clock=lambda: now[0])
    space.take(300)
    with pytest.raises(IndexFull):
        space.take(101)  # 300 of what was free a moment ago are spoken for
    assert asked == [1]
    now[0], free[0] = 1.0, 701
    space.take(101)
    assert space.has(0, reserve=0)
    assert asked == [2]


def test_a_disk_that_tells_nothing_is_written_to() -> None:
    def silent(_path: Path) -> int:
        raise OSError

    DiskSpace(Path(), free=silent).take(1 << 50)


def test_every_verdict_on_a_broken_folder_is_one_of_four() -> None:
    assert {v.value for v in Verdict if v.broken} == {"garbage", "partial", "crashed", "hangs"}
