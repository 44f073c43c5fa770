"""A file that may still be written to is not rewritten, and no entry of it is taken for deleted."""

from __future__ import annotations

import errno
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import VaultWriteFailed
from astrbot_plugin_scoped_memory.llm_memory.models.notices import NoticeCode
from astrbot_plugin_scoped_memory.llm_memory.vault.archive import VaultArchive
from astrbot_plugin_scoped_memory.llm_memory.vault.repair import VaultRepair
from astrbot_plugin_scoped_memory.tests.support.bots import AT_ONCE, WORK, Bot, Watch, living
from astrbot_plugin_scoped_memory.tests.sync.test_reconcile import PEANUTS, TEA, block, edited

pytestmark = pytest.mark.engine

DOG, CAT = "小明喜欢狗", "小红喜欢猫"
QUIET = replace(AT_ONCE, quiet_seconds=5.0)


async def told(bot: Bot, *texts: str) -> list[str]:
    """Entries of one file that are known: their ids."""
    ids = [await bot.says(text) for text in texts]
    await bot.look()
    return ids


@pytest.mark.parametrize("part", [0.0, 0.5])
async def test_a_file_that_is_cut_short_for_a_moment_loses_nothing(
    tmp_path: Path, part: float
) -> None:
    watch = Watch()
    async with living(tmp_path, pace=QUIET, elapsed=watch) as bot:
        ids = await told(bot, PEANUTS, TEA, DOG)
        whole = bot.file().read_bytes()
        bot.file().write_bytes(whole[: int(len(whole) * part)])
        await bot.look()
        assert bot.texts() == sorted([PEANUTS, TEA, DOG])
        watch.seconds += 4.9
        await bot.look()
        assert not bot.file("archive").exists()
        bot.file().write_bytes(whole)
        await bot.look()
        watch.seconds += 10.0
        await bot.look()
        bot.check()
        assert {s.memory.memory_id for s in bot.catalogue.all()} == set(ids)
        assert not bot.file("archive").exists()
        assert bot.reconciler.next_due is None


async def test_what_stays_away_is_forgotten_after_that(tmp_path: Path) -> None:
    watch = Watch()
    async with living(tmp_path, pace=QUIET, elapsed=watch) as bot:
        await told(bot, PEANUTS, TEA)
        edited(bot.file(), (block(bot.file(), PEANUTS), ""))
        await bot.look()
        assert bot.reconciler.next_due == 5.0
        watch.seconds += 4.0
        await bot.look()
        assert bot.reconciler.next_due == 1.0
        assert len(bot.texts()) == 2
        watch.seconds += 1.0
        await bot.look()
        bot.check()
        assert bot.texts() == [TEA]
        assert bot.reconciler.next_due is None


async def test_another_save_begins_the_wait_anew(tmp_path: Path) -> None:
    watch = Watch()
    async with living(tmp_path, pace=QUIET, elapsed=watch) as bot:
        await told(bot, PEANUTS, TEA, DOG)
        edited(bot.file(), (block(bot.file(), PEANUTS), ""))
        for number in range(4):
            await bot.look()
            watch.seconds += 3.0
            edited(bot.file(), ("绿茶", f"{number}绿茶"))
        assert len(bot.texts()) == 3
        await bot.look()
        watch.seconds += 5.0
        await bot.look()
        bot.check()
        assert bot.texts() == sorted(["爷爷喜欢喝0123绿茶", DOG])


async def test_files_that_share_entries_wait_for_one_another(tmp_path: Path) -> None:
    """Of two scopes: what left one of them is not taken for new in the other meanwhile."""
    watch = Watch()
    async with living(tmp_path, pace=QUIET, elapsed=watch) as bot:
        ids = await told(bot, PEANUTS, TEA)
        await bot.says("公司喜欢开晨会", WORK)
        await bot.look()
        moved, gone = block(bot.file(), PEANUTS), block(bot.file(), TEA)
        edited(bot.file(), (moved, ""), (gone, ""))
        target = bot.file("preferences.md", WORK)
        target.write_text(target.read_text("utf-8") + "\n" + moved, "utf-8")
        await bot.look()
        assert bot.texts() == sorted([PEANUTS, TEA])
        assert bot.texts(WORK) == ["公司喜欢开晨会"]
        watch.seconds += 5.0
        await bot.look()
        bot.check()
        assert bot.texts() == []
        assert bot.memory(ids[0], WORK).judgment == PEANUTS
        assert PEANUTS not in bot.file("archive/preferences.md").read_text("utf-8")


async def test_a_file_that_is_away_for_a_moment_is_not_forgotten(tmp_path: Path) -> None:
    watch = Watch()
    async with living(tmp_path, pace=QUIET, elapsed=watch) as bot:
        await told(bot, PEANUTS)
        whole = bot.file().read_bytes()
        bot.file().unlink()
        await bot.look()
        watch.seconds += 3.0
        bot.file().write_bytes(whole)
        await bot.look()
        bot.check()
        assert bot.texts() == [PEANUTS]
        bot.file().unlink()
        await bot.look()
        watch.seconds += 3.0  # the first time away does not count
        await bot.look()
        assert bot.texts() == [PEANUTS]
        watch.seconds += 2.0
        await bot.look()
        bot.check()
        assert bot.texts() == []


@pytest.mark.parametrize("age", [1.0, 60.0, -60.0])
async def test_at_the_start_the_files_own_time_tells(tmp_path: Path, age: float) -> None:
    async with living(tmp_path) as bot:
        await told(bot, PEANUTS, TEA)
    edited(bot.file(), (block(bot.file(), PEANUTS), ""))
    moment = time.time() - age
    os.utime(bot.file(), (moment, moment))
    watch = Watch()
    async with living(tmp_path, pace=QUIET, elapsed=watch) as bot:
        assert bot.texts() == (sorted([PEANUTS, TEA]) if age == 1.0 else [TEA])
        await bot.look()
        watch.seconds += 5.0
        await bot.look()
        bot.check()
        assert bot.texts() == [TEA]


def full(*_: Any, **__: Any) -> None:
    raise VaultWriteFailed(os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("restart", [False, True], ids=["running", "while off"])
async def test_where_the_archive_takes_nothing_the_rest_of_the_file_is_recalled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, restart: bool
) -> None:
    async with living(tmp_path) as bot:
        await told(bot, PEANUTS, TEA, DOG)
        await bot.says(CAT)
        if restart:
            bot.stop()
        edited(bot.file(), (block(bot.file(), PEANUTS), ""), ("绿茶", "红茶"))
        with monkeypatch.context() as patch:
            patch.setattr(VaultArchive, "archive_deleted", full)
            if restart:
                bot = Bot(tmp_path)
                await bot.start()
            await bot.look()
            assert bot.texts() == sorted(["爷爷喜欢喝红茶", DOG, CAT])
            assert bot.notices.stands(NoticeCode.VAULT_UNWRITABLE)
            if restart:
                bot.stop()
                bot = Bot(tmp_path)
                await bot.start()
                assert bot.texts() == sorted(["爷爷喜欢喝红茶", DOG, CAT])
        await bot.look()
        bot.check()
        assert bot.texts() == sorted(["爷爷喜欢喝红茶", DOG, CAT])
        assert PEANUTS in bot.file("archive/preferences.md").read_text("utf-8")
        bot.stop()


async def test_what_a_file_needs_and_cannot_be_written_lives_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with living(tmp_path) as bot:
        await told(bot, PEANUTS)
        buffer = bot.file().read_text("utf-8")
        await bot.says(DOG)
    bot.file().write_text(buffer.replace("花生", "核桃"), "utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(VaultRepair, "write_repair", full)
        async with living(tmp_path) as bot:
            assert bot.texts() == sorted(["奶奶对核桃过敏", DOG])
    async with living(tmp_path) as bot:
        bot.check()
        assert bot.texts() == sorted(["奶奶对核桃过敏", DOG])
