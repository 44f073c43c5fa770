"""A directory has one owner at a time, and so has a file, until the owner is gone; who holds a file
says so in it, and can prove it."""

import contextlib
import errno
import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import DirectoryInUse
from astrbot_plugin_scoped_memory.llm_memory.storage.directory_lock import (
    LOCK_NAME,
    DirectoryLock,
    FileLocking,
    MsvcrtLocking,
    system_locking,
)
from astrbot_plugin_scoped_memory.llm_memory.storage.held_file import (
    HeldFile,
    holder,
    is_held_with,
)
from astrbot_plugin_scoped_memory.tests.support.programs import program

pytestmark = pytest.mark.unit

OWNER = """
import time
from astrbot_plugin_scoped_memory.llm_memory.storage.directory_lock import DirectoryLock
lock = DirectoryLock(sys.argv[1])
lock.acquire()
print("held", flush=True)
time.sleep(600)
"""
HOLDER = """
import time
from pathlib import Path
from astrbot_plugin_scoped_memory.llm_memory.storage.held_file import HeldFile
file = HeldFile(Path(sys.argv[1]))
assert file.take({"client": "codex", "pid": 7})
print(file.token, flush=True)
time.sleep(600)
"""
WORDS: dict[str, str | int] = {"client": "cursor", "role": "后端", "pid": 4711}


@contextlib.contextmanager
def another_process(code: str, path: Path) -> Iterator[tuple[int, str]]:
    """Its id, and what it says once it holds the path; killed at the end."""
    process = subprocess.Popen(program.lines(code, path), stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.pid, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


# A directory


class ScriptedMsvcrt:
    """Windows' byte locks: of one opener, refused with EACCES to the others."""

    LK_NBLCK = 2
    LK_UNLCK = 0

    def __init__(self) -> None:
        self.owners: dict[tuple[int, int], int] = {}

    def locking(self, fd: int, mode: int, length: int) -> None:
        assert length == 1
        byte = (os.fstat(fd).st_ino, os.lseek(fd, 0, os.SEEK_CUR))
        held_by = self.owners.get(byte)
        if mode == self.LK_NBLCK and held_by is None:
            self.owners[byte] = fd
        elif mode == self.LK_UNLCK and held_by == fd:
            del self.owners[byte]
        else:
            raise PermissionError(errno.EACCES, "Permission denied")


@pytest.fixture(params=["system", "windows"])
def locking(request: pytest.FixtureRequest) -> FileLocking:
    return system_locking() if request.param == "system" else MsvcrtLocking(ScriptedMsvcrt())


def test_a_second_opener_is_refused_until_the_first_lets_go(
    tmp_path: Path, locking: FileLocking
) -> None:
    first = DirectoryLock(tmp_path / "index", locking=locking)
    second = DirectoryLock(tmp_path / "index", locking=locking)
    first.acquire()
    with pytest.raises(DirectoryInUse) as refusal:
        second.acquire()
    assert refusal.value.path == os.path.realpath(tmp_path / "index")
    assert first.held
    assert not second.held
    first.release()
    second.acquire()
    assert second.held
    second.release()


def test_the_lock_file_names_its_owner_for_people(tmp_path: Path, locking: FileLocking) -> None:
    lock = DirectoryLock(tmp_path, locking=locking)
    lock.acquire()
    assert (tmp_path / LOCK_NAME).read_text() == f"pid {os.getpid()}\n"
    lock.release()
    assert (tmp_path / LOCK_NAME).read_text() == ""


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
def test_other_names_of_a_directory_name_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = DirectoryLock(tmp_path / "index")
    lock.acquire()
    (tmp_path / "link").symlink_to(tmp_path / "index", target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    for name in ("index", "./index", "index/../index", "index/", "link"):
        with pytest.raises(DirectoryInUse):
            DirectoryLock(name).acquire()
    lock.release()


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be removed there")
def test_a_lock_file_that_was_removed_is_made_again(tmp_path: Path) -> None:
    """Between opening and locking, the file may have become one that nobody else looks at."""

    class Remover:
        def __init__(self) -> None:
            self.rounds = 0
            self._system = system_locking()

        def lock(self, fd: int) -> bool:
            self.rounds += 1
            if self.rounds == 1:
                (tmp_path / LOCK_NAME).unlink()
            return self._system.lock(fd)

        def unlock(self, fd: int) -> None:
            self._system.unlock(fd)

    remover = Remover()
    lock = DirectoryLock(tmp_path, locking=remover)
    lock.acquire()
    assert remover.rounds == 2
    with pytest.raises(DirectoryInUse):
        DirectoryLock(tmp_path).acquire()
    lock.release()


def test_a_file_system_without_locks_is_an_error_and_holds_nothing(tmp_path: Path) -> None:
    class Lockless:
        def lock(self, fd: int) -> bool:
            raise OSError(errno.ENOLCK, "No locks available")

        def unlock(self, fd: int) -> None:
            raise AssertionError

    lock = DirectoryLock(tmp_path, locking=Lockless())
    with pytest.raises(OSError, match="No locks available"):
        lock.acquire()
    assert not lock.held
    lock.release()


@pytest.mark.process
def test_another_process_is_refused_too_and_its_death_frees_the_lock(tmp_path: Path) -> None:
    lock = DirectoryLock(tmp_path / "index")
    with another_process(OWNER, tmp_path / "index") as (pid, said):
        assert said == "held"
        assert (tmp_path / "index" / LOCK_NAME).read_text() == f"pid {pid}\n"
        with pytest.raises(DirectoryInUse):
            lock.acquire()
    lock.acquire()
    lock.release()


# A file


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "roles" / "backend.lock"


def test_the_second_is_refused_and_reads_who_holds_it_until_it_is_given_back(path: Path) -> None:
    first, second = HeldFile(path), HeldFile(path)
    assert holder(path) is None
    assert first.take(WORDS)
    assert first.take(WORDS), "it is held already"
    assert not second.take({"client": "codex"})
    assert holder(path) == WORDS
    assert is_held_with(path, first.token)
    token = first.token
    first.release()
    first.release()
    assert holder(path) is None
    assert not is_held_with(path, token)
    assert second.take({"client": "codex"})
    assert holder(path) == {"client": "codex"}
    assert not is_held_with(path, token)
    second.release()


def test_nothing_but_the_present_token_is_a_proof(path: Path) -> None:
    file = HeldFile(path)
    assert file.take(WORDS)
    for token in ("", "x", file.token[:-1], f"{file.token}x", "令牌", "\ud800"):
        assert not is_held_with(path, token)
    copied = path.with_name("qa.lock")
    copied.write_bytes(path.read_bytes())
    assert not is_held_with(copied, file.token), "words without the lock"
    file.release()
    assert not is_held_with(path, ""), "nobody's token is empty"


@pytest.mark.skipif(sys.platform == "win32", reason="no open file is removed there")
def test_who_holds_a_file_that_was_removed_proves_nothing_to_its_successor(path: Path) -> None:
    former, later = HeldFile(path), HeldFile(path)
    assert former.take(WORDS)
    path.unlink()
    assert not is_held_with(path, former.token)
    assert later.take(WORDS)
    assert is_held_with(path, later.token)
    assert not is_held_with(path, former.token)
    former.release()
    assert is_held_with(path, later.token), "giving back the old one gives back nothing else"
    later.release()


@pytest.mark.skipif(sys.platform == "win32", reason="modes say nothing there")
def test_the_token_is_for_this_user_alone_in_one_line(path: Path) -> None:
    path.parent.mkdir(parents=True, mode=0o755)
    file = HeldFile(path)
    assert file.take(WORDS)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    (line,) = path.read_bytes().splitlines(keepends=True)
    assert line.endswith(b"\n")
    assert json.loads(line) == {**WORDS, "token": file.token}
    assert len(file.token) == 43
    file.release()


@pytest.mark.parametrize("content", [b"", b"\xff", b"[1]", b"[" * 4000, b'{"pid": [1]}', b"7"])
def test_words_that_cannot_be_read_say_nothing_and_prove_nothing(
    path: Path, content: bytes
) -> None:
    file = HeldFile(path)
    assert file.take(WORDS)
    path.write_bytes(content)
    assert holder(path) == {}
    assert not is_held_with(path, file.token)
    file.release()


@pytest.mark.process
def test_a_process_that_is_killed_holds_nothing_whatever_words_it_left(path: Path) -> None:
    file = HeldFile(path)
    with another_process(HOLDER, path) as (_, token):
        assert is_held_with(path, token)
        assert not file.take(WORDS)
        assert holder(path) == {"client": "codex", "pid": 7}
    assert token in path.read_text("utf-8"), "nobody was left to remove it"
    assert holder(path) is None
    assert not is_held_with(path, token)
    assert file.take(WORDS)
    assert not is_held_with(path, token)
    file.release()
