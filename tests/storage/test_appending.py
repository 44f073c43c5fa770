"""What is appended beside people who save the same file: nothing of theirs is lost, and ours stands
there once, or we say that it does not."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.storage import appending
from astrbot_plugin_scoped_memory.llm_memory.storage.appending import (
    AppendFault,
    NotAppended,
    append_and_verify,
    find_lines,
)
from astrbot_plugin_scoped_memory.llm_memory.storage.files import write_all
from astrbot_plugin_scoped_memory.tests.support.programs import program

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
    os.utime(path, (1_700_000_000, 1_700_000_000))  # nobody is writing it


# The bytes


@pytest.mark.parametrize(
    ("before", "between"),
    [
        (b"# D\n", b"\n"),
        (b"# D", b"\n\n"),
        (b"# D\r\n", b"\r\n"),
        (b"# D\r\nx", b"\r\n\r\n"),
        (BOM + b"# D\n", b"\n"),
        (b"", b"\n\n"),
        (BOM, b"\n\n"),
    ],
)
def test_what_stood_there_stays_and_the_lines_follow_behind_a_blank_one(
    path: Path, before: bytes, between: bytes
) -> None:
    put(path, before)
    done = append_and_verify(path, record)
    assert path.read_bytes() == before + between + RECORD == done.content
    assert done.content[done.at :] == RECORD
    assert done.content.splitlines()[done.line - 1].startswith(b"## D-0007")
    assert done.written


def test_a_new_file_begins_with_its_start(path: Path) -> None:
    assert append_and_verify(path, record, start=b"# 2026-11-27\n").line == 3
    assert path.read_bytes() == b"# 2026-11-27\n\n" + RECORD
    other = path.with_name("other.md")
    append_and_verify(other, record)
    assert other.read_bytes() == RECORD


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
def test_a_link_a_second_name_a_folder_and_a_pipe_are_refused(path: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.md"
    elsewhere.write_bytes(b"# mine\n")
    path.parent.mkdir()
    makers: list[Callable[[], object]] = [
        lambda: path.symlink_to(elsewhere),
        lambda: path.symlink_to(tmp_path / "nowhere"),
        lambda: path.hardlink_to(elsewhere),
        lambda: os.mkfifo(path),
        path.mkdir,
    ]
    for make in makers:
        make()
        with pytest.raises(NotAppended) as refusal:
            append_and_verify(path, record)
        assert refusal.value.code is AppendFault.NOT_PLAIN
        assert elsewhere.read_bytes() == b"# mine\n"
        assert not (tmp_path / "nowhere").exists()
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink()


# A full disk


@pytest.mark.parametrize("others", [b"", b"mine\n"])
@given(short=st.integers(0, len(RECORD) + 2))
def test_what_a_full_disk_cut_off_is_taken_back_unless_others_wrote_behind_it(
    others: bytes, short: int
) -> None:
    def fill_up(file: FileIO, payload: bytes) -> None:
        write_all(file, payload[:short] + others)
        raise OSError(errno.ENOSPC, "No space left on device")

    with TemporaryDirectory() as folder:
        path = Path(folder) / "DECISIONS.md"
        put(path, b"# D\n")
        with (
            mock.patch.object(appending, "write_all", fill_up),
            pytest.raises(NotAppended, match="No space left") as failure,
        ):
            append_and_verify(path, record)
        assert failure.value.code is AppendFault.DISK
        left = (b"\n" + RECORD)[:short] + others if others else b""
        assert path.read_bytes() == b"# D\n" + left
        if not others:
            append_and_verify(path, record)
            assert path.read_bytes() == b"# D\n\n" + RECORD


# People who save meanwhile


class Person:
    """Saves a text, whole, at given moments of an append. ``text`` is what was saved last."""

    def __init__(self, path: Path, saves: dict[int, tuple[str, bytes]]) -> None:
        self.path = path
        self.saves = dict(saves)
        self.text = path.read_bytes()
        self.moment = 0
        self._half: bytes | None = None

    def tick(self) -> None:
        """One moment passes."""
        self.moment += 1
        if self._half is not None:  # the editor had emptied the file
            with self.path.open("r+b") as file:
                file.write(self._half)
            self.text, self._half = self._half, None
        way, text = self.saves.pop(self.moment, ("", b""))
        if way == "rename":
            beside = self.path.with_name("4913")
            beside.write_bytes(text)
            beside.replace(self.path)
            self.text = text
        elif way == "in place":
            self.path.write_bytes(text)
            self.text = text
        elif way == "in two steps":
            self.path.write_bytes(b"")
            self.text, self._half = b"", text
        elif way == "line":
            with self.path.open("ab") as file:
                file.write(text)
            self.text += text


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

    names = ("_refuse_unplain", "_wait_until_quiet", "write_all", "_missing")
    with mock.patch.multiple(
        appending, **{name: around(getattr(appending, name)) for name in names}
    ):
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
def test_whatever_people_save_meanwhile_stays_byte_for_byte_and_ours_stands_there(
    start: bytes, saves: dict[int, tuple[str, bytes]]
) -> None:
    with TemporaryDirectory() as folder, mock.patch.object(appending, "_QUIET", 0.0):
        path = Path(folder) / "DECISIONS.md"
        put(path, start)
        person = Person(path, saves)
        with watched(person):
            try:
                done = append_and_verify(path, record)
            except NotAppended as error:
                done = None
                assert error.code is AppendFault.BUSY
            person.tick()
        content = path.read_bytes()
    assert_kept(content, person.text)
    if done is not None:
        assert find_lines(done.content, RECORD) == done.at


def assert_kept(content: bytes, text: bytes) -> None:
    """The person's bytes are all there, in their order, with nothing but ours between them."""
    rest = content
    for line in text.splitlines(keepends=True):
        at = rest.find(line)
        assert at >= 0, (content, text)
        rest = rest[at + len(line) :]


def test_one_who_never_stops_saving_is_told_of_in_the_end(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(path, b"# D\n")
    read = appending._read

    def overwritten(found: Path) -> bytes:
        found.write_bytes(b"# D\nfrom an old buffer\n")
        return read(found)

    monkeypatch.setattr(appending, "_read", overwritten)
    monkeypatch.setattr(appending, "_MOST_PAUSE", 0.0)
    with pytest.raises(NotAppended) as refusal:
        append_and_verify(path, record, tries=3)
    assert refusal.value.code is AppendFault.BUSY
    assert path.read_bytes() == b"# D\nfrom an old buffer\n"


# Others who append

WRITER = """
import time
from pathlib import Path
from astrbot_plugin_scoped_memory.llm_memory.storage.appending import append_and_verify
def next_number(content):
    time.sleep(0.005)  # the others would read the same meanwhile
    return f"## D-{content.count(b'## D-') + 1}\\n".encode()
for _ in range(8):
    append_and_verify(Path(sys.argv[1]), next_number, tries=400)
"""


@pytest.mark.process
def test_several_processes_append_one_after_the_other(path: Path) -> None:
    """Each sees what the others have written: no two of them take the same number."""
    put(path, b"# D\n")
    writers = [subprocess.Popen(program.lines(WRITER, path)) for _ in range(3)]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    headings = [line for line in path.read_bytes().splitlines() if line.startswith(b"## ")]
    assert headings == [f"## D-{number}".encode() for number in range(1, 25)]
