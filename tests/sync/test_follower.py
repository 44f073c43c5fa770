"""When rounds run, and what the whole engine makes of them."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness import waiting
from astrbot_plugin_scoped_memory.llm_memory.errors import VaultWriteFailed
from astrbot_plugin_scoped_memory.llm_memory.models.settings import Pace
from astrbot_plugin_scoped_memory.llm_memory.sync import watcher as watcher_module
from astrbot_plugin_scoped_memory.llm_memory.sync.follower import VaultFollower
from astrbot_plugin_scoped_memory.llm_memory.sync.watcher import Changed, FolderWatcher
from astrbot_plugin_scoped_memory.llm_memory.text.hit_line import fence
from astrbot_plugin_scoped_memory.tests.fakes.watcher import FakeWatcher
from astrbot_plugin_scoped_memory.tests.support.bots import AT_ONCE, Bot, living
from astrbot_plugin_scoped_memory.tests.support.engines import group, person, running
from astrbot_plugin_scoped_memory.tests.sync.test_editors import PEANUTS, TEA, added, block, edited

pytestmark = pytest.mark.engine

NEVER = replace(AT_ONCE, scan_seconds=3600.0)
HERE = group(777)


class Rounds:
    """Counts looks."""

    count = 0

    async def __call__(self) -> None:
        self.count += 1

    async def reach(self, count: int) -> None:
        await until(lambda: self.count >= count)


async def until(so: Callable[[], bool]) -> None:
    async def is_so() -> bool:
        return so()

    await waiting.until(is_so, within=30, what="a round of the files")


@contextlib.asynccontextmanager
async def following(bot: Bot, watcher: FolderWatcher, pace: Pace) -> AsyncIterator[Rounds]:
    """A follower that runs inside, after its first round."""
    rounds = Rounds()
    task = asyncio.create_task(VaultFollower(bot.reconciler, watcher, pace, rounds).run())
    try:
        await rounds.reach(1)
        yield rounds
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_burst_of_changes_is_one_look_and_deferred_work_another(tmp_path: Path) -> None:
    async with living(tmp_path, pace=replace(NEVER, quiet_seconds=0.2)) as bot:
        await bot.says(PEANUTS)
        await bot.says(TEA)
        watcher = FakeWatcher()
        async with following(bot, watcher, replace(NEVER, debounce_seconds=0.5)) as rounds:
            for number in range(10):
                edited(bot.file(), ("过敏", f"过敏{number}"))
                watcher.change()
                await asyncio.sleep(0)
            edited(bot.file(), (block(bot.file(), "花生"), ""))
            added(bot.file(), "\n## 备用钥匙\n")
            await until(lambda: bot.texts() == sorted([TEA, "备用钥匙"]))
            await asyncio.sleep(1.0)
            assert rounds.count == 3
        assert not watcher.is_watched


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
            await until(lambda: bot.texts() == ["奶奶对核桃过敏"])
        assert failures == []


async def test_a_persons_change_wakes_a_round_and_own_writes_do_not(tmp_path: Path) -> None:
    async with living(tmp_path) as bot:
        peanuts, tea = await bot.says(PEANUTS), await bot.says(TEA)
        async with following(bot, FolderWatcher(tmp_path / "memory"), NEVER) as rounds:
            while rounds.count < 2:  # it takes a moment to begin
                bot.file("空的.md").write_text("", "utf-8")
                await asyncio.sleep(0.1)
            await asyncio.sleep(1.5)  # what is changed is told within a second
            before = rounds.count
            await bot.says("妈妈爱喝咖啡")
            await bot.edits(tea, "爷爷喜欢喝红茶")
            await bot.forgets(peanuts)
            await bot.restores(peanuts)
            await asyncio.sleep(1.5)
            assert rounds.count == before
            edited(bot.file(), ("咖啡", "豆浆"))
            await rounds.reach(before + 1)
            assert "妈妈爱喝豆浆" in bot.texts()
        bot.check()


class Late(FolderWatcher):
    begins = asyncio.Event()

    async def watch(self, changed: Changed) -> None:
        await self.begins.wait()
        await super().watch(changed)


async def test_what_is_saved_before_the_watch_begins_is_seen_once_it_has(tmp_path: Path) -> None:
    async with living(tmp_path) as bot:
        await bot.says(PEANUTS)
        watcher = Late(tmp_path / "memory")
        async with following(bot, watcher, NEVER):
            edited(bot.file(), ("花生", "核桃"))
            watcher.begins.set()
            await until(lambda: bot.texts() == ["奶奶对核桃过敏"])


CHANGES: dict[str, Callable[[Path], object]] = {
    "scopes/家人/粘贴.md": lambda path: added(path, "- 妈妈爱喝咖啡"),
    "scopes/家人/preferences.md": lambda path: path.unlink(),
    "shared/值班.md": lambda path: added(path, "# 值班"),
    "scopes/新名字": lambda path: path.with_name("家人").rename(path),
}


@pytest.mark.parametrize("path", CHANGES)
async def test_what_a_person_does_to_a_file_concerns_a_round(tmp_path: Path, path: str) -> None:
    """Also beside, and below, what the bot writes itself."""
    async with living(tmp_path) as bot:
        await bot.says(PEANUTS)
        own = str(bot.file())
        assert not await asyncio.to_thread(bot.reconciler.concerns, [own])
        edited(bot.file(), ("花生", "核桃"))
        await bot.says("妈妈爱喝咖啡")
        assert await asyncio.to_thread(bot.reconciler.concerns, [own])
        await bot.look()
        assert "奶奶对核桃过敏" in bot.texts()
        CHANGES[path](tmp_path / "memory" / path)
        changed = [own, str(tmp_path / "memory" / path)]
        assert await asyncio.to_thread(bot.reconciler.concerns, changed)


# The watcher


@pytest.mark.parametrize("replaced", [False, True], ids=["cancelled", "replaced"])
async def test_a_change_is_told_until_another_folder_is_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replaced: bool
) -> None:
    """From a thread of its own: one that is taken for good would be one of a handful."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    monkeypatch.setattr(watcher_module, "_SAME_FOLDER_MS", 100)
    folder, told = tmp_path / "memory", list[object]()
    folder.mkdir()
    watch = asyncio.create_task(FolderWatcher(folder).watch(told.append))
    async with asyncio.timeout(30):
        while not told:  # it takes a moment to begin
            (folder / "x.md").write_text("x", "utf-8")
            await asyncio.sleep(0.1)
        await asyncio.to_thread(folder.exists)
        if replaced:
            folder.rename(tmp_path / "away")
            folder.mkdir()
        else:
            watch.cancel()
        await asyncio.wait([watch])
    assert watch.cancelled() is not replaced


async def test_where_changes_cannot_be_watched_it_raises(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no"):
        await FolderWatcher(tmp_path / "no").watch(bool)


# The engine


CONTROLS = "\x00\x01\x08\x0b\x1b\x7f\x85"
BY_HAND = (
    f"## 水表在{CONTROLS}楼道里 ^m-hand0001\n> 谁：小{CONTROLS}明 · 标签：水{CONTROLS}表\n\n"
    f"每{CONTROLS}月抄一次。\n\n## 另外\n\n- 电表\\{CONTROLS}在门{CONTROLS}外 ^m-hand0002\n"
)


async def test_control_characters_of_a_persons_file_are_told_nowhere(tmp_path: Path) -> None:
    """The file keeps them."""
    folder = tmp_path / "memory/scopes/家人"
    added(folder / "entities.md", BY_HAND)
    added(folder / "旅行.md", f"# 京{CONTROLS}都\n\n旅馆{CONTROLS}在四条，水表在地下\n")
    async with running(tmp_path) as rig:
        await rig.until_words()
        service = rig.engine.service
        told: list[object] = [rig.living(), rig.engine.parts.note_book.all()]
        for query in ("水表在哪", "电表在哪", "旅馆在哪"):
            found = await rig.recall(query, HERE)
            assert found.hits
            told += [found, fence(found.hits, rig.engine.parts.texts)]
        for path in ("entities.md", "旅行.md", "m-hand0001"):
            told.append(await service.read(path, conversation_id=HERE))
        assert not [one for one in map(repr, told) if re.search(r"\\x[0189]|\\x7f", one)]
        await service.export(conversation_id=HERE, actor=person(9, admin=True))
        exported = "".join(path.read_text("utf-8") for path in (tmp_path / "exports").glob("*"))
        assert "水表在楼道里" in exported
    assert (folder / "entities.md").read_text("utf-8") == BY_HAND
