"""A directory has one owner at a time, whatever name it is opened by, until the owner is gone."""

import errno
import os
import subprocess
import sys
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
from astrbot_plugin_scoped_memory.tests.support.programs import program

pytestmark = pytest.mark.unit

HOLDER = """
import time
from astrbot_plugin_scoped_memory.llm_memory.storage.directory_lock import DirectoryLock
lock = DirectoryLock(sys.argv[1])
lock.acquire()
print("held", flush=True)
time.sleep(600)
"""


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


def test_taking_and_giving_back_twice_is_no_error(tmp_path: Path, locking: FileLocking) -> None:
    lock = DirectoryLock(tmp_path, locking=locking)
    lock.release()
    lock.acquire()
    lock.acquire()
    assert lock.held
    lock.release()
    lock.release()
    assert not lock.held
    lock.acquire()
    lock.release()


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
    holder = subprocess.Popen(
        program.lines(HOLDER, tmp_path / "index"),
        stdout=subprocess.PIPE,
        cwd=tmp_path,
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == b"held"
        assert (tmp_path / "index" / LOCK_NAME).read_text() == f"pid {holder.pid}\n"
        lock = DirectoryLock(tmp_path / "index")
        with pytest.raises(DirectoryInUse):
            lock.acquire()
    finally:
        holder.kill()
        holder.communicate()
    lock.acquire()
    lock.release()
