"""What every watcher keeps: the fake one, and the real one over a real folder."""

from __future__ import annotations

import asyncio
import builtins
import contextlib
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.sync import watcher as watcher_module
from astrbot_plugin_scoped_memory.llm_memory.sync.ports import Watcher, WatchUnavailable
from astrbot_plugin_scoped_memory.llm_memory.sync.watcher import FolderWatcher
from astrbot_plugin_scoped_memory.tests.fakes.watcher import FakeWatcher

pytestmark = [pytest.mark.unit, pytest.mark.contract]


@dataclass
class Bench:
    """A watcher, a way to change something in its folder, and what it told."""

    watcher: Watcher
    change: Callable[[], None]
    break_it: Callable[[pytest.MonkeyPatch], None]

    @contextlib.asynccontextmanager
    async def watching(self) -> AsyncIterator[asyncio.Event]:
        """It watches inside; the event is set when it tells of a change."""
        started, changed = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(self.watcher.watch(started.set, changed.set, lambda _: True))
        try:
            async with asyncio.timeout(30):
                await started.wait()
            yield changed
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


def real(folder: Path) -> Bench:
    (folder / "sub").mkdir()

    def change() -> None:
        (folder / "sub" / "x.md").write_text("x", "utf-8")

    def no_package(patch: pytest.MonkeyPatch) -> None:
        imported = builtins.__import__

        def missing(name: str, *args: Any, **kwargs: Any) -> Any:
            if name == "watchfiles":
                raise ImportError(name)
            return imported(name, *args, **kwargs)

        patch.setattr(builtins, "__import__", missing)

    return Bench(FolderWatcher(folder), change, no_package)


def fake(_: Path) -> Bench:
    watcher = FakeWatcher()

    def missing(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(watcher, "missing", "made to be")

    return Bench(watcher, watcher.change, missing)


@pytest.fixture(params=[real, fake], ids=["real", "fake"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    made: Bench = request.param(tmp_path)
    return made


async def test_a_change_below_the_folder_is_told(bench: Bench) -> None:
    async with bench.watching() as changed:
        bench.change()
        async with asyncio.timeout(30):
            await changed.wait()


async def test_cancelled_it_ends(bench: Bench) -> None:
    async with asyncio.timeout(30):
        async with bench.watching():
            pass
        async with bench.watching():
            pass


async def test_where_changes_cannot_be_watched_it_raises(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.break_it(monkeypatch)
    with pytest.raises(WatchUnavailable):
        await bench.watcher.watch(lambda: None, lambda: None, bool)


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "fuse.sshfs", "9p"])
async def test_a_disk_that_others_write_to_is_not_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(watcher_module, "file_system_of", lambda _: kind)
    with pytest.raises(WatchUnavailable, match=kind):
        await FolderWatcher(tmp_path).watch(lambda: None, lambda: None, bool)


async def test_a_system_without_room_for_another_watch_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import watchfiles

    def full(*_: Any, **__: Any) -> Any:
        raise OSError(28, "OS file watch limit reached")

    monkeypatch.setattr(watchfiles, "watch", full)
    with pytest.raises(WatchUnavailable, match="limit"):
        await FolderWatcher(tmp_path).watch(lambda: None, lambda: None, bool)


async def test_a_folder_that_is_not_there_is_not_watched(tmp_path: Path) -> None:
    with pytest.raises(WatchUnavailable):
        await FolderWatcher(tmp_path / "no").watch(lambda: None, lambda: None, bool)


@pytest.mark.parametrize("anew", [False, True])
async def test_a_folder_that_is_not_the_same_any_more_is_watched_no_longer(
    tmp_path: Path, anew: bool
) -> None:
    folder, started = tmp_path / "memory", asyncio.Event()
    folder.mkdir()
    watch = asyncio.create_task(FolderWatcher(folder).watch(started.set, lambda: None, bool))
    async with asyncio.timeout(30):
        await started.wait()
        folder.rename(tmp_path / "away")
        if anew:
            folder.mkdir()
        with pytest.raises(WatchUnavailable):
            await watch


async def test_the_common_threads_stay_free(tmp_path: Path) -> None:
    """A thread that is taken for good would be one of a handful."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    async with real(tmp_path).watching(), asyncio.timeout(30):
        await asyncio.to_thread(tmp_path.exists)
