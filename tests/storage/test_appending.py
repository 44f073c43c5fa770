"""What is appended beside people who save the same file: nothing of theirs is lost, and ours stands
there once, or we say that it does not."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.errors import VaultWriteFailed
from astrbot_plugin_scoped_memory.llm_memory.storage import appending, files
from astrbot_plugin_scoped_memory.llm_memory.storage.appending import (
    AppendFault,
    NotAppended,
    append_and_verify,
    find_lines,
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
    line = append_and_verify(path, record, start=b"# 2026-11-27\n")
    whole = (before or b"") + between + RECORD
    assert path.read_bytes() == whole
    assert whole.splitlines()[line - 1].startswith(b"## D-0007")
    assert append_and_verify(path, record) == line
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    ("content", "is_there"),
    [
        (RECORD, True),
        (BOM + RECORD, True),
        (b"x\n" + RECORD + b"y\n", True),
        (b"x\n" + RECORD.removesuffix(b"\n"), True),
        (b"x\r\n" + RECORD.replace(b"\n", b"\r\n") + b"y", True),
        (b"x" + RECORD, False),
        (b"x\n" + RECORD.removesuffix(b"\n") + b"y\n", False),
        (b"> " + RECORD + RECORD, True),
        (RECORD[:-9], False),
        (b"", False),
    ],
)
def test_lines_are_found_whole_at_the_beginning_of_a_line_with_any_line_ends(
    content: bytes, is_there: bool
) -> None:
    at = find_lines(content, RECORD)
    assert (at is not None) == is_there
    if at is not None:
        assert content[at:].replace(b"\r\n", b"\n").startswith(RECORD.removesuffix(b"\n"))


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
        if append is durably:  # a new file that nobody else has filled goes
            with pytest.raises(VaultWriteFailed):
                append(path)
            found = path.read_bytes() if path.exists() else b""
            assert found == left.removeprefix(BEFORE)
    if saved is None and left == BEFORE:
        put(path, BEFORE)
        append(path)
        assert path.read_bytes() == BEFORE + b"\n" + RECORD


# People who save meanwhile


class Person:
    """Saves a text, whole, or a line at its end, at given moments of an append. ``lines`` are what
    was saved last."""

    def __init__(self, path: Path, saves: dict[int, tuple[str, bytes]]) -> None:
        self.path = path
        self.saves = dict(saves)
        self.lines = path.read_bytes().splitlines(keepends=True)
        self.moment = 0
        self._half: bytes | None = None

    def tick(self) -> None:
        """One moment passes."""
        self.moment += 1
        if self._half is not None:  # the editor had emptied the file
            with self.path.open("r+b") as file:
                file.write(self._half)
            self.lines, self._half = self._half.splitlines(keepends=True), None
        way, text = self.saves.pop(self.moment, ("", b""))
        if way == "line":
            with self.path.open("ab") as file:
                file.write(text)
            self.lines.append(text)
        elif way == "in two steps":
            self.path.write_bytes(b"")
            self.lines, self._half = [], text
        elif way:
            saved = self.path.with_name("4913") if way == "rename" else self.path
            saved.write_bytes(text)
            saved.replace(self.path)
            self.lines = text.splitlines(keepends=True)


@contextmanager
def watched(person: Person) -> Iterator[None]:
    """Time passes for the person before and after each thing that an append does to the disk."""

    def around(step: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any, **more: Any) -> Any:
            person.tick()
            try:
                return step(*arguments, **more)
            finally:
                person.tick()

        return timed

    names = ("_refuse_unplain", "_opened", "append_synced", "_between")
    steps = {name: around(getattr(appending, name)) for name in names}
    with mock.patch.multiple(appending, _PAUSE=0, **steps):
        yield


TEXTS = st.sampled_from(
    [
        b"# D\n",
        b"# D\n\nmine\n",
        b"# D\r\n\r\nmine\r\n",
        BOM + "# 决定\n\n我写的\n".encode(),
        "# 决定\n没有换行".encode(),
        b"# D\n\n## D-0006 before\n> x\n\n" + b"long " * 60 + b"\n",
    ]
)
WHOLE = st.tuples(st.sampled_from(["rename", "in place", "in two steps"]), TEXTS)
LINE = st.tuples(st.just("line"), st.sampled_from([b"one more\n", b"no end", b"\n"]))
SAVES = st.dictionaries(st.integers(1, 24), WHOLE | LINE, max_size=6)


@given(start=TEXTS, saves=SAVES)
def test_whatever_people_save_meanwhile_stays_byte_for_byte(
    start: bytes, saves: dict[int, tuple[str, bytes]]
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "DECISIONS.md"
        put(path, start)
        person = Person(path, saves)
        with watched(person):
            try:
                append_and_verify(path, record)
            except NotAppended as error:
                assert error.code is AppendFault.BUSY
            person.tick()
        rest = path.read_bytes()
    for line in person.lines:  # nothing but ours between them
        assert line in rest
        rest = rest[rest.find(line) + len(line) :]


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
    monkeypatch.setattr(appending, "_PAUSE", 0.0)
    assert append_and_verify(path, record) == 4
    path.write_bytes(b"# D\n")
    saves[:] = [1] * 3
    with pytest.raises(NotAppended) as refusal:
        append_and_verify(path, record, tries=3)
    assert refusal.value.code is AppendFault.BUSY
    assert path.read_bytes() == b"# D\nfrom an old buffer\n"


def test_several_threads_append_one_after_the_other(path: Path) -> None:
    """Each sees what the others have written: no two of them take the same number."""

    def next_number(content: bytes) -> bytes:
        return f"## D-{content.count(b'## D-') + 1}\n".encode()

    put(path, b"# D\n")
    with ThreadPoolExecutor(6) as threads:
        for _ in range(24):
            threads.submit(append_and_verify, path, next_number)
    headings = [line for line in path.read_bytes().splitlines() if line.startswith(b"## ")]
    assert headings == [f"## D-{number}".encode() for number in range(1, 25)]
