"""Copies that a file manager or a sync client leaves beside a file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.status import Notice
from astrbot_plugin_scoped_memory.tests.support.bots import FAMILY, WORK, Bot, living
from astrbot_plugin_scoped_memory.tests.support.engines import group, running
from astrbot_plugin_scoped_memory.tests.sync.test_reconcile import edited

pytestmark = pytest.mark.engine

TOLD = ["奶奶对花生过敏", "爷爷喜欢喝绿茶", "妹妹喜欢画画"]
NAMES = [
    "preferences (1).md",
    "preferences - 副本.md",
    "preferences - Copy.md",
    "preferences 2.md",
    "preferences-DESKTOP.md",
    "~$preferences.md",
    "preferences_backup.md",
    "备份/preferences.md.md",
]


def notices(bot: Bot) -> list[Notice]:
    return [n for n in bot.notices.standing() if n.code == "vault_copy"]


async def told(bot: Bot) -> list[str]:
    """The bot knows three things, in one file: their ids."""
    ids = [await bot.says(f"小明喜欢：{text}") for text in TOLD]
    await bot.look()
    assert bot.file().read_text("utf-8").count("## ") == len(TOLD)
    return ids


def copied(bot: Bot, name: str) -> Path:
    path = bot.file(name)
    path.parent.mkdir(exist_ok=True)
    shutil.copyfile(bot.file(), path)
    return path


@pytest.mark.parametrize("ledger", [True, False], ids=["", "nothing known"])
async def test_copies_are_told_once_and_left_as_they_are(tmp_path: Path, ledger: bool) -> None:
    async with living(tmp_path, ledger=ledger) as bot:
        ids = await told(bot)
        texts, before = bot.texts(), bot.file().read_bytes()
        copies = [copied(bot, name) for name in NAMES]
        await bot.look()
        await bot.look()
        same = {"scope": "家人", "original": "preferences.md", "count": "3", "different": "0"}
        found = sorted((dict(n.params) for n in notices(bot)), key=lambda params: params["path"])
        assert found == [{**same, "path": name} for name in sorted(NAMES)]
        assert bot.texts() == texts
        bot.check()
    async with living(tmp_path, ledger=ledger) as bot:
        await bot.look()
        assert len(notices(bot)) == len(NAMES)
        assert {s.path for s in bot.catalogue.all()} == {"preferences.md"}
        assert sorted(s.memory.memory_id for s in bot.catalogue.all()) == sorted(ids)
        bot.check()
        for copy in copies:
            assert copy.read_bytes() == before
            copy.unlink()
        await bot.look()
        assert notices(bot) == []
        assert bot.texts() == texts
        assert not bot.file("archive").exists()


async def test_what_the_bot_does_to_the_original_leaves_the_copy_one(tmp_path: Path) -> None:
    async with living(tmp_path) as bot:
        ids = await told(bot)
        before = copied(bot, "preferences (1).md").read_bytes()
        await bot.look()
        for memory_id, text in zip(ids, TOLD, strict=True):
            await bot.edits(memory_id, f"改了：{text}")
        await bot.look()
        await bot.forgets(ids[0])
        await bot.look()
        assert bot.texts() == sorted(f"改了：{text}" for text in TOLD[1:])
        bot.check()
        assert len(notices(bot)) == 1
        assert bot.file("preferences (1).md").read_bytes() == before


@pytest.mark.parametrize("restart", [False, True], ids=["running", "while off"])
async def test_a_copy_whose_original_is_deleted_takes_its_place_without_what_was_corrected(
    tmp_path: Path, restart: bool
) -> None:
    async with living(tmp_path) as bot:
        ids = await told(bot)
        copied(bot, "preferences (1).md")
        await bot.look()
        await bot.forgets(ids[0])
        stored = next(s for s in bot.catalogue.all() if s.memory.memory_id == ids[1])
        moved = bot.vault.move(stored, WORK)
        bot.living.drop(stored)
        bot.living.take(moved)
        await bot.look()
        bot.file().unlink()
        for _ in range(0 if restart else 2):
            await bot.look()
    async with living(tmp_path) as bot:
        await bot.look()
        bot.check()
        assert notices(bot) == []
        assert bot.texts() == [f"小明喜欢：{TOLD[2]}"]
        assert bot.texts(WORK) == [f"小明喜欢：{TOLD[1]}"]
        assert bot.memory(ids[2]).judgment == bot.texts()[0]
        assert await bot.restores(ids[0]) is not None


async def test_who_works_on_in_a_copy_is_told_and_loses_nothing(tmp_path: Path) -> None:
    async with living(tmp_path) as bot:
        await told(bot)
        texts = bot.texts()
        copy = copied(bot, "preferences (1).md")
        await bot.look()
        edited(copy, (TOLD[0], "奶奶对核桃过敏"))
        await bot.look()
        (notice,) = notices(bot)
        assert notice.params["different"] == "1"
        assert bot.texts() == texts
        edited(copy, (TOLD[1], "爷爷喜欢喝红茶"))
        await bot.look()
        await bot.look()
        assert notices(bot) == []
        mine = ["奶奶对核桃过敏", "爷爷喜欢喝红茶", TOLD[2]]
        assert bot.texts() == sorted([*texts, *(f"小明喜欢：{text}" for text in mine)])
        bot.check()


async def test_a_file_with_entries_of_its_own_into_which_others_are_pasted_is_no_copy(
    tmp_path: Path,
) -> None:
    async with living(tmp_path) as bot:
        await told(bot)
        own = bot.file("家里.md")
        own.write_text("## 阳台朝南 ^m-0own\n\n## 车库在地下二层 ^m-1own\n", "utf-8")
        await bot.look()
        own.write_text(own.read_text("utf-8") + "\n" + bot.file().read_text("utf-8"), "utf-8")
        await bot.look()
        await bot.look()
        assert notices(bot) == []
        assert len(bot.texts()) == 8
        assert {"阳台朝南", "车库在地下二层"} <= set(bot.texts())
        bot.check()


async def test_a_copy_in_another_scope_is_that_scopes(tmp_path: Path) -> None:
    async with living(tmp_path) as bot:
        await told(bot)
        target = bot.file("preferences (1).md", WORK)
        target.parent.mkdir(parents=True)
        shutil.copyfile(bot.file(), target)
        await bot.look()
        await bot.look()
        assert notices(bot) == []
        assert len(bot.texts(WORK)) == len(bot.texts(FAMILY)) == 3
        bot.check()


async def test_a_folder_that_differs_from_a_mapped_scope_in_case_only_is_told(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, {group(777).umo: "home"}) as rig:

        async def twins() -> list[dict[str, str]]:
            await rig.engine.reconcile()
            found = (await rig.engine.status()).notices
            return [dict(n.params) for n in found if n.code == "vault_twin"]

        stray = tmp_path / "memory/scopes/Home"
        for folder in (stray, stray.with_name("work")):
            folder.mkdir(parents=True)
        assert await twins() == [{"folder": "Home", "scope": "home"}]
        stray.with_name("home").mkdir()
        assert await twins() == [{"folder": "Home", "scope": "home"}]
        stray.rmdir()
        assert await twins() == []
