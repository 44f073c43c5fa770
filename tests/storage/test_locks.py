"""A directory has one owner at a time, and so has a file, until the owner is gone; who holds a file
says so beside it, and can prove it."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.composition.engine import Engine, build_engine
from astrbot_plugin_scoped_memory.llm_memory.composition.export_restore import owned
from astrbot_plugin_scoped_memory.llm_memory.errors import DirectoryInUse
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import MemoryDraft
from astrbot_plugin_scoped_memory.llm_memory.models.settings import EngineSettings
from astrbot_plugin_scoped_memory.llm_memory.service.paths import EnginePaths
from astrbot_plugin_scoped_memory.llm_memory.storage.directory_lock import (
    LOCK_NAME,
    DirectoryLock,
    HeldFile,
    holder,
    is_free,
    is_held_with,
    signed_pid,
)
from astrbot_plugin_scoped_memory.llm_memory.storage.files import append_durably, replace_durably
from astrbot_plugin_scoped_memory.tests.support.engines import group, person
from astrbot_plugin_scoped_memory.tests.support.programs import program

pytestmark = pytest.mark.unit
has_modes = pytest.mark.skipif(os.name == "nt", reason="modes are POSIX's")
removes_open_files = pytest.mark.skipif(sys.platform == "win32", reason="not there")

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
from astrbot_plugin_scoped_memory.llm_memory.storage.directory_lock import HeldFile
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


def test_a_second_opener_is_refused_until_the_first_lets_go_in_whatever_thread(
    tmp_path: Path,
) -> None:
    first, second = DirectoryLock(tmp_path / "index"), DirectoryLock(tmp_path / "index")
    first.acquire()
    first.acquire()
    with pytest.raises(DirectoryInUse) as refusal:
        second.acquire()
    assert refusal.value.path == os.path.realpath(tmp_path / "index")
    assert (is_free(tmp_path / "index"), signed_pid(tmp_path / "index")) == (False, os.getpid())
    release = threading.Thread(target=first.release)
    release.start()
    release.join()
    first.release()
    assert signed_pid(tmp_path / "index") is None
    assert is_free(tmp_path / "index")
    second.acquire()
    second.release()


@removes_open_files
def test_the_lock_file_stays_when_it_is_given_back(tmp_path: Path) -> None:
    """Else one who waits for it would lock a file that nobody else looks at."""
    lock = DirectoryLock(tmp_path)
    lock.acquire()
    number = (tmp_path / LOCK_NAME).stat().st_ino
    lock.release()
    assert (tmp_path / LOCK_NAME).stat().st_ino == number
    assert [path.name for path in tmp_path.iterdir()] == [LOCK_NAME]


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


@pytest.mark.process
def test_another_process_is_refused_too_and_its_death_frees_the_lock(tmp_path: Path) -> None:
    lock = DirectoryLock(tmp_path / "index")
    with another_process(OWNER, tmp_path / "index") as (pid, said):
        assert said == "held"
        assert signed_pid(tmp_path / "index") == pid
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
    assert holder(path) == {**WORDS, "token": first.token}
    assert is_held_with(path, first.token)
    token = first.token
    first.release()
    first.release()
    assert holder(path) is None
    assert not is_held_with(path, token)
    assert second.take({"client": "codex"})
    assert holder(path) == {"client": "codex", "token": second.token}
    assert not is_held_with(path, token)
    second.release()


def test_nothing_but_the_present_token_is_a_proof(path: Path) -> None:
    file = HeldFile(path)
    assert file.take(WORDS)
    for token in ("", "x", file.token[:-1], f"{file.token}x", "令牌", "\ud800"):
        assert not is_held_with(path, token)
    for ending in (".lock", ".json"):
        copied = path.with_name(f"qa{ending}")
        copied.write_bytes(path.with_suffix(ending).read_bytes())
    assert not is_held_with(copied.with_suffix(".lock"), file.token), "words without the lock"
    file.release()
    assert not is_held_with(path, ""), "nobody's token is empty"


@removes_open_files
def test_who_holds_a_file_that_was_removed_proves_nothing_to_its_successor(path: Path) -> None:
    former, later = HeldFile(path), HeldFile(path)
    assert former.take(WORDS)
    path.unlink()
    assert not is_held_with(path, former.token)
    assert later.take(WORDS)
    assert is_held_with(path, later.token)
    assert not is_held_with(path, former.token)
    later.release()


@has_modes
def test_the_token_is_for_this_user_alone_in_one_line(path: Path) -> None:
    path.parent.mkdir(parents=True, mode=0o755)
    file = HeldFile(path)
    assert file.take(WORDS)
    words = path.with_suffix(".json")
    assert stat.S_IMODE(words.stat().st_mode) == 0o600
    (line,) = words.read_bytes().splitlines(keepends=True)
    assert json.loads(line) == {**WORDS, "token": file.token}
    assert len(file.token) == 43
    file.release()


@pytest.mark.parametrize("content", [b"", b"\xff", b"[1]", b"[" * 4000, b'{"pid": [1]}', b"7"])
def test_words_that_cannot_be_read_say_nothing_and_prove_nothing(
    path: Path, content: bytes
) -> None:
    file = HeldFile(path)
    assert file.take(WORDS)
    path.with_suffix(".json").write_bytes(content)
    assert holder(path) == {}
    assert not is_held_with(path, file.token)
    file.release()


@pytest.mark.process
def test_a_process_that_is_killed_holds_nothing_whatever_words_it_left(path: Path) -> None:
    file = HeldFile(path)
    with another_process(HOLDER, path) as (_, token):
        assert is_held_with(path, token)
        assert not file.take(WORDS)
        assert holder(path) == {"client": "codex", "pid": 7, "token": token}
    assert token in path.with_suffix(".json").read_text("utf-8"), "nobody was left to remove it"
    assert holder(path) is None
    assert not is_held_with(path, token)
    assert file.take(WORDS)
    assert not is_held_with(path, token)
    file.release()


# Other users of the machine


@pytest.fixture
def open_umask() -> Iterator[None]:
    """As most systems have it: what is made is readable by everybody unless it is asked for."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


async def one_life(root: Path, memory: Path, words: str) -> Engine:
    """A start of the real engine, in which something is remembered and exported."""
    paths, settings = EnginePaths.under(root, memory), EngineSettings(scope_map={"a:b:c": "家人"})
    async with build_engine(paths, settings) as engine:
        await engine.service.remember(
            MemoryDraft(words, actor=person(1)), conversation_id=group(777)
        )
        admin = person(1, admin=True)
        await engine.service.export(conversation_id=group(777), actor=admin)
        assert {"state.sqlite-wal", "exports"} <= {path.name for path in root.rglob("*")}
        return engine


@has_modes
@pytest.mark.engine
@pytest.mark.usefixtures("open_umask")
@pytest.mark.parametrize("there", [False, True], ids=["made by us", "made by others"])
async def test_what_a_store_holds_is_for_the_bots_user_alone_until_its_owner_opens_it(
    tmp_path: Path, there: bool
) -> None:
    roots = data, memory = tmp_path / "data", tmp_path / "elsewhere/memory"
    for root in roots if there else ():
        root.mkdir(parents=True)
    await one_life(data, memory, "奶奶对花生过敏")
    for root in roots:
        assert [p for p in (root, *root.rglob("*")) if mode(p) & 0o077] == []
    for path in (memory, *memory.rglob("*")):
        path.chmod(0o750 if path.is_dir() else 0o640)
    await one_life(data, memory, "爷爷住在四楼")
    assert {mode(p) for p in (memory, *memory.rglob("*")) if p.is_dir()} == {0o750}
    assert {mode(path) for path in memory.rglob("*.md")} == {0o640}
    assert len(list(memory.rglob("*.md"))) == 2
    assert mode(data) == 0o700


def by_lock(folder: Path) -> None:
    DirectoryLock(folder).acquire()


def by_command_line(folder: Path) -> None:
    with owned(EnginePaths.under(folder)):
        pass


@has_modes
@pytest.mark.parametrize("take", [by_lock, by_command_line])
@pytest.mark.parametrize("refused", [False, True], ids=["", "a disk that takes no changes"])
def test_who_takes_a_folder_first_closes_it_if_he_can(
    tmp_path: Path,
    take: Callable[[Path], None],
    refused: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def read_only(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    (tmp_path / "data").mkdir()
    (tmp_path / "data").chmod(0o755)
    with monkeypatch.context() as patch:
        if refused:
            patch.setattr(Path, "chmod", read_only)
        take(tmp_path / "data")
    assert mode(tmp_path / "data") == (0o755 if refused else 0o700)


@has_modes
def test_a_rewrite_keeps_the_mode_of_the_file(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    path = tmp_path / "a.md"
    replace_durably(path, b"1")
    assert mode(path) == 0o600
    path.chmod(0o644)
    replace_durably(path, b"2")
    append_durably(path, b"3")
    assert mode(path) == 0o644
