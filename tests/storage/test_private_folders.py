"""Files that hold people's words are for the bot's user alone, unless the owner says otherwise."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.composition.engine import Engine, build_engine
from astrbot_plugin_scoped_memory.llm_memory.composition.export_restore import owned
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import MemoryDraft
from astrbot_plugin_scoped_memory.llm_memory.models.settings import EngineSettings
from astrbot_plugin_scoped_memory.llm_memory.service.paths import EnginePaths
from astrbot_plugin_scoped_memory.llm_memory.storage.files import append_durably, replace_durably
from astrbot_plugin_scoped_memory.llm_memory.storage.private_folder import (
    MARK,
    restrict_contents,
    restrict_folder,
)
from astrbot_plugin_scoped_memory.tests.fakes.embedder import FakeEmbedder
from astrbot_plugin_scoped_memory.tests.support.engines import group, person

pytestmark = [pytest.mark.engine, pytest.mark.skipif(os.name == "nt", reason="modes are POSIX's")]


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    """As most systems have it: what is made is readable by everybody unless it is asked for."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def open_to_others(root: Path) -> dict[str, str]:
    """What others may look at, below a folder and the folder itself, with its mode."""
    found: dict[str, str] = {}
    for path in (root, *root.rglob("*")):
        # A thread may just have put a temporary file in the place of another.
        with contextlib.suppress(FileNotFoundError):
            if not path.is_symlink() and mode(path) & 0o077:
                found[path.name] = oct(mode(path))
    return found


async def one_life(root: Path, memory: Path, *, words: str = "奶奶对花生过敏") -> None:
    """A start of the real engine, in which something is remembered and exported."""
    async with living(root, memory) as engine:
        draft = MemoryDraft(words, actor=person(1))
        await engine.service.remember(draft, conversation_id=group(777))
        admin = person(1, admin=True)
        await engine.service.export(conversation_id=group(777), actor=admin)


@contextlib.asynccontextmanager
async def living(root: Path, memory: Path) -> AsyncIterator[Engine]:
    engine = build_engine(
        EnginePaths.under(root, memory), EngineSettings(scope_map={group(777).umo: "家人"})
    )
    await engine.open()
    try:
        yield engine
    finally:
        await engine.close()


async def test_all_that_a_new_installation_makes_is_private(tmp_path: Path) -> None:
    data, memory = tmp_path / "data", tmp_path / "elsewhere/memory"
    await one_life(data, memory)
    async with living(data, memory) as engine:
        running = asyncio.create_task(engine.run(FakeEmbedder()))
        try:
            async with asyncio.timeout(120):
                while (await engine.status()).backlog or not list(  # noqa: ASYNC110
                    data.rglob("chroma.sqlite3")
                ):
                    await asyncio.sleep(0.05)
            assert open_to_others(data) == {}
            names = {path.name for path in data.rglob("*")}
            assert {"state.sqlite-wal", "vault.sqlite-wal", "owner.lock", "exports"} <= names
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
    assert open_to_others(data) == {}
    assert open_to_others(memory) == {}


async def test_an_existing_installation_is_tightened_once(tmp_path: Path) -> None:
    data, memory = tmp_path / "data", tmp_path / "memory"
    await one_life(data, memory)
    for root in (data, memory):
        (root / MARK).unlink()
        for path in (root, *root.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
    await one_life(data, memory, words="爷爷喜欢喝绿茶")
    assert open_to_others(data) == {}
    assert open_to_others(memory) == {}


async def test_what_the_owner_opens_afterwards_stays_open_for_new_files_too(
    tmp_path: Path,
) -> None:
    data, memory = tmp_path / "data", tmp_path / "memory"
    await one_life(data, memory)
    for path in (memory, *memory.rglob("*")):
        path.chmod(0o750 if path.is_dir() else 0o640)
    await one_life(data, memory, words="爷爷住在四楼")
    modes = {mode(path) for path in memory.rglob("*") if path.is_dir()}
    assert modes == {0o750}
    assert {mode(path) for path in memory.rglob("*.md")} == {0o640}
    assert len(list(memory.rglob("*.md"))) == 2
    assert open_to_others(data) == {}


def test_a_rewrite_keeps_the_mode_of_the_file(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    path = tmp_path / "a.md"
    replace_durably(path, b"1")
    assert mode(path) == 0o600
    path.chmod(0o644)
    replace_durably(path, b"2")
    append_durably(path, b"3")
    assert mode(path) == 0o644


def test_a_link_is_not_followed_and_what_it_leads_to_left_alone(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "other.md").write_text("x", "utf-8")
    ours = tmp_path / "ours"
    ours.mkdir()
    (ours / "link").symlink_to(outside, target_is_directory=True)
    (ours / "file.md").symlink_to(outside / "other.md")
    restrict_contents(ours)
    assert mode(ours) == 0o700
    assert (mode(outside), mode(outside / "other.md")) == (0o755, 0o644)


@pytest.mark.parametrize("patched", ["os.chmod", f"{restrict_folder.__module__}.os.name"])
def test_a_disk_that_takes_no_changes_and_windows_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patched: str
) -> None:
    def read_only(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    (tmp_path / "a.md").write_text("x", "utf-8")
    tmp_path.chmod(0o755)
    monkeypatch.setattr(patched, read_only if patched == "os.chmod" else "nt")
    restrict_folder(tmp_path)
    restrict_contents(tmp_path)
    monkeypatch.undo()
    assert mode(tmp_path) == 0o755


def test_the_command_line_makes_and_tightens_the_same(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "state").mkdir(parents=True)
    (data / "state/old.txt").write_text("x", "utf-8")
    with owned(EnginePaths.under(data)):
        pass
    assert open_to_others(data) == {}
