"""A directory has one owner at a time, and so has a file, until the owner is gone; who holds a file
says so beside it, and can prove it."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.composition.engine import build_engine
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
from astrbot_plugin_scoped_memory.tests.support.engines import group, person
from astrbot_plugin_scoped_memory.tests.support.programs import program

pytestmark = pytest.mark.unit
has_modes = pytest.mark.skipif(os.name == "nt", reason="modes are POSIX's")

HOLDER = """
import time
from pathlib import Path
from astrbot_plugin_scoped_memory.llm_memory.storage.directory_lock import DirectoryLock, HeldFile
path = Path(sys.argv[1])
file, folder = HeldFile(path), DirectoryLock(path.parent)
assert file.take({"client": "codex", "pid": 7})
folder.acquire()
print(file.token, flush=True)
time.sleep(600)
"""
WORDS: dict[str, str | int] = {"client": "cursor", "role": "后端", "pid": 4711}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "roles" / "backend.lock"


def test_a_second_opener_is_refused_by_any_name_until_the_first_lets_go_in_whatever_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "index"
    first, second = DirectoryLock(folder), DirectoryLock(folder)
    first.acquire()
    first.acquire()
    with pytest.raises(DirectoryInUse) as refusal:
        second.acquire()
    assert refusal.value.path == os.path.realpath(folder)
    assert (is_free(folder), signed_pid(folder)) == (False, os.getpid())
    if sys.platform != "win32":  # where links need a right
        (tmp_path / "link").symlink_to(folder, target_is_directory=True)
        monkeypatch.chdir(tmp_path)
        for name in ("index", "./index", "index/../index", "index/", "link"):
            with pytest.raises(DirectoryInUse):
                DirectoryLock(name).acquire()
    release = threading.Thread(target=first.release)
    release.start()
    release.join()
    first.release()
    assert (is_free(folder), signed_pid(folder)) == (True, None)
    second.acquire()
    second.release()


def test_who_holds_a_file_is_read_and_nothing_but_the_present_token_is_a_proof(path: Path) -> None:
    first, second = HeldFile(path), HeldFile(path)
    assert holder(path) is None
    assert first.take(WORDS)
    assert first.take(WORDS), "it is held already"
    assert not second.take({"client": "codex"})
    assert holder(path) == {**WORDS, "token": first.token}
    assert is_held_with(path, first.token)
    assert len(first.token) == 43
    for token in ("", "x", first.token[:-1], f"{first.token}x", "令牌", "\ud800"):
        assert not is_held_with(path, token)
    for ending in (".lock", ".json"):
        path.with_name(f"qa{ending}").write_bytes(path.with_suffix(ending).read_bytes())
    former = first.token
    assert not is_held_with(path.with_name("qa.lock"), former), "words without the lock"
    first.release()
    first.release()
    assert holder(path) is None
    assert not is_held_with(path, ""), "nobody's token is empty"
    if sys.platform != "win32":  # there it cannot be removed; here who held it proves nothing more
        assert first.take(WORDS)
        path.unlink()
        assert not is_held_with(path, first.token)
    assert second.take({"client": "codex"})
    assert holder(path) == {"client": "codex", "token": second.token}
    assert not any(is_held_with(path, token) for token in (former, first.token))
    second.release()


@pytest.mark.parametrize("content", [b"", b"\xff", b"[1]", b"[" * 4000, b'{"pid": [1]}', b"7"])
def test_words_that_cannot_be_read_say_nothing_and_prove_nothing(
    path: Path, content: bytes
) -> None:
    file = HeldFile(path)
    assert file.take(WORDS)
    if os.name != "nt":
        assert mode(path.with_suffix(".json")) == 0o600
    path.with_suffix(".json").write_bytes(content)
    assert holder(path) == {}
    assert not is_held_with(path, file.token)
    file.release()


def test_a_holder_whose_words_found_no_room_proves_itself_once_there_is_some(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, real = HeldFile(path), os.open
    path.parent.mkdir(parents=True)
    path.with_suffix(".json").write_text('{"token": "a dead one\'s"}', "utf-8")

    def full(name: str | Path, *more: int) -> int:
        if Path(name).suffix == ".json":
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(name, *more)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", full)
        assert file.take(WORDS)
        assert holder(path) == {}
    assert file.take(WORDS)
    assert is_held_with(path, file.token)
    file.release()


@pytest.mark.process
def test_another_process_is_refused_too_and_frees_all_by_its_death(path: Path) -> None:
    file, folder = HeldFile(path), DirectoryLock(path.parent)
    process = subprocess.Popen(program.lines(HOLDER, path), stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        token = process.stdout.readline().strip()
        assert holder(path) == {"client": "codex", "pid": 7, "token": token}
        assert is_held_with(path, token)
        assert not file.take(WORDS)
        assert signed_pid(path.parent) == process.pid
        with pytest.raises(DirectoryInUse):
            folder.acquire()
    finally:
        process.kill()
        process.communicate()
    assert token in path.with_suffix(".json").read_text("utf-8"), "nobody was left to remove it"
    assert holder(path) is None
    assert not is_held_with(path, token)
    assert file.take(WORDS)
    assert not is_held_with(path, token)
    folder.acquire()
    file.release()
    folder.release()


# Other users of the machine


@pytest.fixture
def open_umask() -> Iterator[None]:
    """As most systems have it: what is made is readable by everybody unless it is asked for."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


async def one_life(root: Path, memory: Path, words: str) -> None:
    """A start of the real engine, in which something is remembered and exported."""
    async with build_engine(EnginePaths.under(root, memory), EngineSettings()) as engine:
        where, admin = group(777), person(1, admin=True)
        await engine.service.remember(MemoryDraft(words, actor=admin), conversation_id=where)
        await engine.service.export(conversation_id=where, actor=admin)
        assert {"state.sqlite-wal", "exports"} <= {path.name for path in root.rglob("*")}


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
    assert mode(data) == 0o700


@has_modes
@pytest.mark.parametrize("refused", [False, True], ids=["", "a disk that takes no changes"])
def test_who_takes_a_folder_first_closes_it_if_he_can_and_what_is_opened_later_stays_so(
    tmp_path: Path, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    lock = DirectoryLock(tmp_path)
    tmp_path.chmod(0o755)
    with monkeypatch.context() as patch:
        if refused:
            patch.setattr(Path, "chmod", read_only)
        lock.acquire()
    assert mode(tmp_path) == (0o755 if refused else 0o700)
    lock.release()
    tmp_path.chmod(0o750)
    lock.acquire()
    lock.release()
    assert mode(tmp_path) == 0o750
    assert [path.name for path in tmp_path.iterdir()] == [LOCK_NAME]
