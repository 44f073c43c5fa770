"""When rounds run: after a change, and at intervals where changes cannot be watched."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.harness import waiting
from astrbot_plugin_scoped_memory.llm_memory.errors import VaultWriteFailed
from astrbot_plugin_scoped_memory.llm_memory.models.settings import Pace
from astrbot_plugin_scoped_memory.llm_memory.sync import follower as vault_follower
from astrbot_plugin_scoped_memory.llm_memory.sync.follower import VaultFollower
from astrbot_plugin_scoped_memory.llm_memory.sync.ports import Watcher
from astrbot_plugin_scoped_memory.llm_memory.sync.watcher import FolderWatcher
from astrbot_plugin_scoped_memory.tests.fakes.watcher import FakeWatcher
from astrbot_plugin_scoped_memory.tests.support.bots import AT_ONCE, Bot, living
from astrbot_plugin_scoped_memory.tests.sync.test_reconcile import PEANUTS, block, edited

pytestmark = pytest.mark.engine

NEVER = replace(AT_ONCE, scan_seconds=3600.0, rare_scan_seconds=3600.0)


class Rounds:
    """Counts looks, and what is done besides."""

    def __init__(self) -> None:
        self.count = 0
        self.more = asyncio.Event()

    async def __call__(self) -> None:
        self.count += 1
        self.more.set()

    async def next(self) -> None:
        """Until one more round was made."""
        await self.reach(self.count + 1)

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
    task = asyncio.create_task(VaultFollower(bot.reconciler, watcher, pace, also=rounds).run())
    try:
        await rounds.next()
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
        slow = replace(NEVER, debounce_seconds=0.5)
        async with following(bot, watcher, slow) as rounds:
            await watcher.started.wait()
            await rounds.next()  # because it began to be told
            before = rounds.count
            for number in range(10):
                edited(bot.file(), ("过敏", f"过敏{number}"))
                watcher.change()
                await asyncio.sleep(0)
            await rounds.next()
            await waiting.until(rests, within=30, what="a follower that rests")
            assert rounds.count == before + 1
            assert bot.texts()[0].startswith("奶奶对花生过敏9")
        assert not watcher.is_watched


async def test_deferred_work_is_done_without_another_notification(
    tmp_path: Path,
) -> None:
    async with living(tmp_path, pace=replace(NEVER, quiet_seconds=0.2)) as bot:
        await bot.says(PEANUTS)
        await bot.says("爷爷喜欢喝绿茶")
        watcher = FakeWatcher()
        async with following(bot, watcher, NEVER):
            await watcher.started.wait()
            edited(bot.file(), (block(bot.file(), PEANUTS), ""))
            bot.file().write_text(bot.file().read_text("utf-8") + "\n## 备用钥匙\n", "utf-8")
            watcher.change()
            await until(bot, "爷爷喜欢喝绿茶", "备用钥匙")


@pytest.mark.parametrize("fails_later", [False, True])
async def test_without_a_watcher_rounds_run_at_intervals(tmp_path: Path, fails_later: bool) -> None:
    async with living(tmp_path) as bot:
        await bot.says(PEANUTS)
        watcher = FakeWatcher(missing="" if fails_later else "no room")
        often = replace(AT_ONCE, rare_scan_seconds=3600.0)
        async with following(bot, watcher, often) as rounds:
            if fails_later:
                await watcher.started.wait()
                await rounds.reach(2)  # from now on the looks are rare
                watcher.missing = "its disk is gone"
                watcher.fail("its disk is gone")
            edited(bot.file(), ("花生", "核桃"))
            await until(bot, "奶奶对核桃过敏")


async def test_one_that_fails_again_after_it_went_well_is_asked_again_as_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vault_follower, "_WATCH_AGAIN", (0.01, 3600.0))
    async with living(tmp_path) as bot:
        watcher = FakeWatcher()
        async with following(bot, watcher, NEVER), asyncio.timeout(30):
            for _ in range(3):
                await watcher.started.wait()
                watcher.fail("its folder was moved")
                while watcher.is_watched:  # noqa: ASYNC110  (no event to wait for)
                    await asyncio.sleep(0.001)


@pytest.mark.parametrize("error", [VaultWriteFailed("x"), OSError("x"), RuntimeError("x")])
async def test_a_look_that_fails_is_followed_by_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    async with living(tmp_path) as bot:
        await bot.says(PEANUTS)
        look, failures = bot.vault.look, [error, error]

        def failing() -> object:
            if failures:
                raise failures.pop()
            return look()

        monkeypatch.setattr(bot.vault, "look", failing)
        async with following(bot, FakeWatcher(missing="x"), AT_ONCE):
            edited(bot.file(), ("花生", "核桃"))
            await until(bot, "奶奶对核桃过敏")
        assert failures == []


async def test_a_tree_that_was_away_is_followed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the real watcher, which goes on watching the folder that was moved."""
    monkeypatch.setattr(vault_follower, "_WATCH_AGAIN", (0.01,))
    async with living(tmp_path) as bot:
        await bot.says(PEANUTS)
        memory, copy = tmp_path / "memory", tmp_path / "copy"
        shutil.copytree(memory, copy)
        async with following(bot, FolderWatcher(memory), NEVER) as rounds:
            await rounds.reach(2)  # because it began to be told
            memory.rename(tmp_path / "away")
            copy.rename(memory)
            edited(bot.file(), ("花生", "核桃"))
            await until(bot, "奶奶对核桃过敏")
            edited(bot.file(), ("核桃", "腰果"))
            await until(bot, "奶奶对腰果过敏")
            bot.check()


async def test_own_writes_wake_no_round_and_a_persons_do(tmp_path: Path) -> None:
    async with living(tmp_path) as bot:
        peanuts, tea = await bot.says(PEANUTS), await bot.says("爷爷喜欢喝绿茶")
        told: list[bool] = []
        concerns = bot.reconciler.concerns

        def noted(paths: Collection[str]) -> bool:
            told.append(concerns(paths))
            return told[-1]

        async def heard() -> bool:
            return bool(told)

        bot.reconciler.concerns = noted  # type: ignore[method-assign]
        async with following(bot, FolderWatcher(tmp_path / "memory"), NEVER) as rounds:
            await rounds.next()  # because it began to be told
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


async def test_a_file_that_can_be_read_again_concerns_a_round_though_it_says_what_it_said(
    tmp_path: Path,
) -> None:
    async with living(tmp_path) as bot:
        await bot.says(PEANUTS)
        whole = bot.file().read_bytes()
        bot.file().write_bytes(whole.decode().encode("utf-16"))
        await bot.look()
        assert [n.code for n in bot.notices.standing()] == ["vault_file_broken"]
        bot.file().write_bytes(whole)
        assert await asyncio.to_thread(bot.reconciler.concerns, [str(bot.file())])
        await bot.look()
        assert list(bot.notices.standing()) == []
