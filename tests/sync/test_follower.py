"""When rounds run: after a change, and at intervals for what no watcher reports."""

from __future__ import annotations

import asyncio
import builtins
import contextlib
from collections.abc import AsyncIterator, Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.harness import waiting
from astrbot_plugin_scoped_memory.llm_memory.errors import VaultWriteFailed
from astrbot_plugin_scoped_memory.llm_memory.models.settings import Pace
from astrbot_plugin_scoped_memory.llm_memory.sync import watcher as watcher_module
from astrbot_plugin_scoped_memory.llm_memory.sync.follower import VaultFollower
from astrbot_plugin_scoped_memory.llm_memory.sync.watcher import FolderWatcher, Watcher
from astrbot_plugin_scoped_memory.tests.fakes.watcher import FakeWatcher
from astrbot_plugin_scoped_memory.tests.support.bots import AT_ONCE, Bot, living
from astrbot_plugin_scoped_memory.tests.sync.desk import PEANUTS, block, edited

pytestmark = pytest.mark.engine

NEVER = replace(AT_ONCE, scan_seconds=3600.0)


class Rounds:
    """Counts looks, and what is done besides."""

    def __init__(self) -> None:
        self.count = 0
        self.more = asyncio.Event()

    async def __call__(self) -> None:
        self.count += 1
        self.more.set()

    async def reach(self, count: int) -> None:
        """Until so many were made."""
        async with asyncio.timeout(30):
            while self.count < count:
                self.more.clear()
                await self.more.wait()


@contextlib.asynccontextmanager
async def following(bot: Bot, watcher: Watcher, pace: Pace) -> AsyncIterator[Rounds]:
    """A follower that runs inside, after its first round."""
    rounds = Rounds()
    task = asyncio.create_task(VaultFollower(bot.reconciler, watcher, pace, rounds).run())
    try:
        await rounds.reach(1)
        yield rounds
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(bot: Bot, *texts: str) -> None:
    """Wait for these to be what the bot knows."""
    async with asyncio.timeout(30):
        while bot.texts() != sorted(texts):  # noqa: ASYNC110  (no event to wait for)
            await asyncio.sleep(0.01)


async def rests() -> bool:
    """The follower waits for its next look at an interval: no look is under way, or due. While one
    is, the loop has no timer, or a short one."""
    loop: Any = asyncio.get_running_loop()
    now = loop.time()
    rings = (timer.when() - now for timer in loop._scheduled if not timer.cancelled())
    return min(rings, default=0.0) >= 60.0


async def test_a_burst_of_changes_is_one_look(tmp_path: Path) -> None:
    async with living(tmp_path) as bot:
        await bot.says(PEANUTS)
        watcher = FakeWatcher()
        async with following(bot, watcher, replace(NEVER, debounce_seconds=0.5)) as rounds:
            for number in range(10):
                edited(bot.file(), ("过敏", f"过敏{number}"))
                watcher.change()
                await asyncio.sleep(0)
            await rounds.reach(2)
            await waiting.until(rests, within=30, what="a follower that rests")
            assert rounds.count == 2
            assert bot.texts()[0].startswith("奶奶对花生过敏9")
        assert not watcher.is_watched


async def test_deferred_work_is_done_without_another_notification(tmp_path: Path) -> None:
    async with living(tmp_path, pace=replace(NEVER, quiet_seconds=0.2)) as bot:
        await bot.says(PEANUTS)
        await bot.says("爷爷喜欢喝绿茶")
        watcher = FakeWatcher()
        async with following(bot, watcher, NEVER):
            edited(bot.file(), (block(bot.file(), PEANUTS), ""))
            bot.file().write_text(bot.file().read_text("utf-8") + "\n## 备用钥匙\n", "utf-8")
            watcher.change()
            await until(bot, "爷爷喜欢喝绿茶", "备用钥匙")


@pytest.mark.parametrize("error", [None, VaultWriteFailed("x"), OSError("x")])
async def test_looks_go_on_without_a_watcher_and_after_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception | None
) -> None:
    async with living(tmp_path) as bot:
        await bot.says(PEANUTS)
        look, failures = bot.vault.look, [error, error]

        def failing() -> object:
            if failures and (now := failures.pop()):
                raise now
            return look()

        monkeypatch.setattr(bot.vault, "look", failing)
        async with following(bot, FakeWatcher(missing="no room"), AT_ONCE):
            edited(bot.file(), ("花生", "核桃"))
            await until(bot, "奶奶对核桃过敏")
        assert failures == []


async def test_own_writes_wake_no_round_and_a_persons_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with living(tmp_path) as bot:
        peanuts, tea = await bot.says(PEANUTS), await bot.says("爷爷喜欢喝绿茶")
        told: list[bool] = []
        concerns = bot.reconciler.concerns

        def noted(paths: Collection[str]) -> bool:
            told.append(concerns(paths))
            return told[-1]

        async def heard() -> bool:
            return bool(told)

        monkeypatch.setattr(bot.reconciler, "concerns", noted)
        async with following(bot, FolderWatcher(tmp_path / "memory"), NEVER) as rounds:
            while not told:  # it takes a moment to begin
                bot.file("4913").write_text("", "utf-8")
                await asyncio.sleep(0.1)
            await waiting.until(rests, within=30, what="a follower that rests")
            before = rounds.count
            for work in (
                lambda: bot.says("妈妈爱喝咖啡"),
                lambda: bot.edits(tea, "爷爷喜欢喝红茶"),
                lambda: bot.forgets(peanuts),
                lambda: bot.restores(peanuts),
            ):
                told.clear()
                await work()
                await waiting.until(heard, within=30, what="the watcher")
                assert not any(told)
            assert rounds.count == before
            edited(bot.file(), ("咖啡", "豆浆"))
            await rounds.reach(before + 1)
            assert "妈妈爱喝豆浆" in bot.texts()
        bot.check()


def write_note(bot: Bot) -> None:
    (bot.root / "memory" / "shared").mkdir()
    (bot.root / "memory" / "shared" / "值班.md").write_text("# 值班", "utf-8")


CHANGES: dict[str, Callable[[Bot], object]] = {
    "scopes/家人/粘贴.md": lambda bot: bot.file("粘贴.md").write_text("- 妈妈爱喝咖啡", "utf-8"),
    "scopes/家人/preferences.md": lambda bot: bot.file().unlink(),
    "shared/值班.md": write_note,
    "scopes/新名字": lambda bot: bot.folder().rename(bot.folder().with_name("新名字")),
}


@pytest.mark.parametrize("path", CHANGES)
async def test_what_a_person_does_to_a_file_concerns_a_round(tmp_path: Path, path: str) -> None:
    async with living(tmp_path) as bot:
        await bot.says(PEANUTS)
        assert not await asyncio.to_thread(bot.reconciler.concerns, [str(bot.file())])
        CHANGES[path](bot)
        changed = [str(bot.file()), str(tmp_path / "memory" / path)]
        assert await asyncio.to_thread(bot.reconciler.concerns, changed)


async def test_own_words_behind_a_save_that_was_not_looked_at_concern_a_round(
    tmp_path: Path,
) -> None:
    async with living(tmp_path) as bot:
        await bot.says(PEANUTS)
        edited(bot.file(), ("花生", "核桃"))
        await bot.says("妈妈爱喝咖啡")
        assert await asyncio.to_thread(bot.reconciler.concerns, [str(bot.file())])
        await bot.look()
        assert "奶奶对核桃过敏" in bot.texts()


# The watcher


@contextlib.asynccontextmanager
async def watched(folder: Path) -> AsyncIterator[asyncio.Task[None]]:
    """A watcher's task, once it has told of a change below the folder."""
    changed, loop = asyncio.Event(), asyncio.get_running_loop()
    watch = asyncio.create_task(
        FolderWatcher(folder).watch(lambda _: loop.call_soon_threadsafe(changed.set))
    )
    async with asyncio.timeout(30):
        while not changed.is_set():  # it takes a moment to begin
            (folder / "x.md").write_text("x", "utf-8")
            await asyncio.sleep(0.1)
        yield watch


async def test_a_change_is_told_from_a_thread_of_its_own_and_cancelled_it_ends(
    tmp_path: Path,
) -> None:
    """One that is taken for good would be one of a handful."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    async with watched(tmp_path) as watch:
        await asyncio.to_thread(tmp_path.exists)
        watch.cancel()
        await asyncio.wait([watch])
        assert watch.cancelled()


async def test_a_folder_in_whose_place_another_is_is_watched_no_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher_module, "_SAME_FOLDER_MS", 100)
    folder = tmp_path / "memory"
    folder.mkdir()
    async with watched(folder) as watch:
        folder.rename(tmp_path / "away")
        folder.mkdir()
        await watch


@pytest.mark.parametrize("missing", ["folder", "package", "room"])
async def test_where_changes_cannot_be_watched_it_raises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    import watchfiles

    imported = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "watchfiles":
            raise ImportError(name)
        return imported(name, *args, **kwargs)

    def full(*_: Any, **__: Any) -> Any:
        raise OSError(28, "OS file watch limit reached")

    if missing == "package":
        monkeypatch.setattr(builtins, "__import__", without)
    if missing == "room":
        monkeypatch.setattr(watchfiles, "watch", full)
    folder = tmp_path / "no" if missing == "folder" else tmp_path
    with pytest.raises((ImportError, OSError)):
        await FolderWatcher(folder).watch(bool)
