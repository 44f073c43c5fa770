"""What is appended beside people who save the same file: nothing of theirs is lost, and ours stands
there once, or we say that it does not."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from contextlib import nullcontext, suppress
from io import FileIO
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import VaultWriteFailed
from astrbot_plugin_scoped_memory.llm_memory.storage import appending, files
from astrbot_plugin_scoped_memory.llm_memory.storage.appending import (
    AppendFault,
    NotAppended,
    append_and_verify,
)

pytestmark = pytest.mark.unit

BOM = b"\xef\xbb\xbf"
RECORD = "## D-0007 检索面用 PostgreSQL\n> 已接受 · 2026-11-23\n\n连接池已经有了。\n".encode()


def record(_: bytes) -> bytes:
    return RECORD


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "shared" / "DECISIONS.md"


def put(path: Path, content: bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("before", "between"),
    [
        (None, b"# 2026-11-27\n\n"),
        (b"# D\n", b"\n"),
        (b"# D", b"\n\n"),
        (b"# D\r\n", b"\r\n"),
        (b"# D\r\nx", b"\r\n\r\n"),
        (BOM + b"# D\n", b"\n"),
        (b"", b"\n\n"),
        (BOM, b"\n\n"),
    ],
)
def test_what_stood_there_stays_and_the_lines_follow_once_behind_a_blank_one(
    path: Path, before: bytes | None, between: bytes
) -> None:
    if before is not None:
        put(path, before)
        os.utime(path, (0, 0))
    line = append_and_verify(path, record, start=b"# 2026-11-27\n")
    whole = (before or b"") + between + RECORD
    assert path.read_bytes() == whole
    assert whole.splitlines()[line - 1].startswith(b"## D-0007")
    assert append_and_verify(path, record) == line
    assert path.read_bytes() == whole


@pytest.mark.parametrize("content", [b"\xff\xfe#\0 \0", b"#\0 \0D\0", "决定".encode("gbk")])
def test_a_file_that_is_no_utf8_is_left_alone(path: Path, content: bytes) -> None:
    put(path, content)
    with pytest.raises(NotAppended) as refusal:
        append_and_verify(path, record)
    assert refusal.value.code is AppendFault.NOT_TEXT
    assert path.read_bytes() == content


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
@pytest.mark.parametrize("kind", ["link", "dangling", "second name", "pipe", "folder"])
def test_what_is_no_plain_file_of_one_name_is_refused(
    path: Path, tmp_path: Path, kind: str
) -> None:
    elsewhere = tmp_path / "elsewhere.md"
    elsewhere.write_bytes(b"# mine\n")
    path.parent.mkdir()
    makers: dict[str, Callable[[], object]] = {
        "link": lambda: path.symlink_to(elsewhere),
        "dangling": lambda: path.symlink_to(tmp_path / "nowhere"),
        "second name": lambda: path.hardlink_to(elsewhere),
        "pipe": lambda: os.mkfifo(path),
        "folder": path.mkdir,
    }
    makers[kind]()
    with pytest.raises(NotAppended) as refusal:
        append_and_verify(path, record)
    assert refusal.value.code is AppendFault.NOT_PLAIN
    assert elsewhere.read_bytes() == b"# mine\n"
    assert not (tmp_path / "nowhere").exists()


# A full disk


def lines(path: Path) -> None:
    append_and_verify(path, record)


def durably(path: Path) -> None:
    files.append_durably(path, b"\n" + RECORD)


BEFORE, PART = b"# D\n" * 20, (b"\n" + RECORD)[:9]


@pytest.mark.parametrize("append", [lines, durably])
@pytest.mark.parametrize(
    ("taken", "saved", "left"),
    [
        (b"", None, BEFORE),
        (PART, None, BEFORE),
        (b"\n" + RECORD, None, BEFORE),
        (PART + b"a program's\n", None, BEFORE + PART + b"a program's\n"),
        (b"", b"# a person's, shorter\n", b"# a person's, shorter\n"),
        (b"", b"# a person's\n" * 90, b"# a person's\n" * 90),
    ],
)
def test_a_failed_append_is_cut_off_only_where_the_end_is_still_ours(
    path: Path,
    append: Callable[[Path], None],
    taken: bytes,
    saved: bytes | None,
    left: bytes,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before the disk is full it takes something; an editor may empty the file and write it anew
    in its place, and a program append to it."""

    def fill_up(file: FileIO, _: bytes) -> None:
        file.write(taken)
        if saved is not None:
            path.write_bytes(saved)
        raise OSError(errno.ENOSPC, "No space left")

    put(path, BEFORE)
    with monkeypatch.context() as patch:
        patch.setattr(files, "write_all", fill_up)
        with pytest.raises((NotAppended, VaultWriteFailed), match="No space left"):
            append(path)
        assert path.read_bytes() == left
        path.unlink()
        with pytest.raises((NotAppended, VaultWriteFailed), match="No space left"):
            append(path)
        assert not path.exists() or path.read_bytes(), "an empty one may be an editor's"
    if saved is None and left == BEFORE:
        put(path, BEFORE)
        append(path)
        assert path.read_bytes() == BEFORE + b"\n" + RECORD


# People who save meanwhile


class Person:
    """Saves a text at two moments of an append, and has it saved by the end. ``lines`` are what
    was saved last."""

    def __init__(self, path: Path, way: str, text: bytes, first: int, second: int) -> None:
        self.path, self.way, self.text = path, way, text
        self.moments = {first, second}
        self.lines = path.read_bytes().splitlines(keepends=True)
        self.moment = 0
        self.is_half = False

    def tick(self) -> None:
        """One moment passes."""
        self.moment += 1
        if self.is_half:  # the editor had emptied the file
            with self.path.open("r+b") as file:
                file.write(self.text)
            self.is_half = False
        elif self.moment in self.moments and self.way == "line":
            with self.path.open("ab") as file:
                file.write(b"one more\n")
            self.lines.append(b"one more\n")
        elif self.moment in self.moments:
            saved = self.path.with_name("4913") if self.way == "rename" else self.path
            self.is_half = self.way == "in two steps"
            saved.write_bytes(b"" if self.is_half else self.text)
            saved.replace(self.path)
            self.lines = self.text.splitlines(keepends=True)


def around(person: Person, step: Callable[..., Any]) -> Callable[..., Any]:
    """Time passes for the person before and after a thing that an append does to the disk."""

    def timed(*arguments: Any, **more: Any) -> Any:
        person.tick()
        try:
            return step(*arguments, **more)
        finally:
            person.tick()

    return timed


@pytest.mark.parametrize(
    "text", [b"# D\r\n\r\nmine\r\n", BOM + "# 决定\n没有换行".encode(), b"long " * 60]
)
@pytest.mark.parametrize("way", ["rename", "in place", "in two steps", "line"])
def test_whatever_people_save_meanwhile_stays_byte_for_byte(
    path: Path, way: str, text: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = ("_refuse_unplain", "_opened", "append_synced", "_between")
    real = {name: getattr(appending, name) for name in steps}
    monkeypatch.setattr(appending, "_PAUSE", 0)
    monkeypatch.setattr(appending, "_QUIET", 0)
    monkeypatch.setattr(appending, "_EMPTY", 0)
    for first, second in product(range(1, 16), (2, 5, 99)):
        put(path, b"# D\nbefore\n")
        person = Person(path, way, text, first, first + second)
        for name in steps:
            monkeypatch.setattr(appending, name, around(person, real[name]))
        with suppress(NotAppended):
            append_and_verify(path, record)
        person.moments.clear()
        person.tick()
        rest = path.read_bytes()
        for line in person.lines:  # nothing but ours between them
            assert line in rest
            rest = rest[rest.find(line) + len(line) :]


class Slow:
    """An editor that has emptied a file writes it so many seconds later. The time that passes is
    what we sleep."""

    def __init__(self, path: Path, seconds: float) -> None:
        put(path, b"")
        self.path, self.seconds, self.passed = path, seconds, 0.0
        self.began = path.stat().st_mtime

    def time(self) -> float:
        return self.began + self.passed

    def sleep(self, seconds: float) -> None:
        before, self.passed = self.passed, self.passed + seconds
        if before < self.seconds <= self.passed:
            with self.path.open("r+b") as file:
                file.write(b"# E\n" * 50)
            os.utime(self.path, (self.began, self.began + self.seconds))


@pytest.mark.parametrize("seconds", [0.01, 0.08, 0.3, 0.9, 3.0])
def test_what_is_appended_while_an_editor_has_the_file_empty_outlives_its_save(
    path: Path, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = Slow(path, seconds)
    monkeypatch.setattr(appending, "time", editor)
    with pytest.raises(NotAppended) if seconds > 1 else nullcontext():
        append_and_verify(path, record)
    appended = path.read_bytes()
    editor.sleep(60)
    assert path.read_bytes() == (b"# E\n" * 50 if seconds > 1 else appended)
    append_and_verify(path, record)
    assert path.read_bytes() == b"# E\n" * 50 + b"\n" + RECORD


def test_what_an_old_buffer_overwrote_is_appended_again_and_told_of_in_the_end(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(path, b"# D\n")
    saves = [1, 1, 0]

    def overwritten(file: FileIO, payload: bytes, **more: Any) -> None:
        files.append_synced(file, payload, **more)
        if saves.pop(0):
            path.write_bytes(b"# D\nfrom an old buffer\n")

    monkeypatch.setattr(appending, "append_synced", overwritten)
    monkeypatch.setattr(appending, "_QUIET", 0)
    monkeypatch.setattr(appending, "_PAUSE", 0)
    assert append_and_verify(path, record) == 4
    path.write_bytes(b"# D\n")
    saves[:] = [1] * 3
    monkeypatch.setattr(appending, "_TRIES", 3)
    with pytest.raises(NotAppended) as refusal:
        append_and_verify(path, record)
    assert refusal.value.code is AppendFault.BUSY
    assert path.read_bytes() == b"# D\nfrom an old buffer\n"
