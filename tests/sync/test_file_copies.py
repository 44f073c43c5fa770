"""Copies that a file manager or a sync client leaves beside a file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.status import Notice
from astrbot_plugin_scoped_memory.tests.support.bots import FAMILY, WORK, Bot, living
from astrbot_plugin_scoped_memory.tests.support.engines import group, running
from astrbot_plugin_scoped_memory.tests.sync.desk import (
    DOG,
    PEANUTS,
    TEA,
    added,
    edited,
    moved,
    told,
)

pytestmark = pytest.mark.engine

TOLD = (PEANUTS, TEA, DOG)
COPY = "preferences (1).md"
NAMES = [
    COPY,
    "preferences - 副本.md",
    "preferences-DESKTOP.md",
    "~$preferences.md",
    "备份/preferences.md.md",
]


def notices(bot: Bot) -> list[Notice]:
    return [n for n in bot.notices.standing() if n.code == "vault_copy"]


def copied(bot: Bot, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(bot.file(), path)
    return path


@pytest.mark.parametrize("ledger", [True, False], ids=["", "nothing known"])
async def test_copies_are_told_once_and_left_as_they_are(tmp_path: Path, ledger: bool) -> None:
    async with living(tmp_path, ledger=ledger) as bot:
        ids = await told(bot, *TOLD)
        texts, before = bot.texts(), bot.file().read_bytes()
        copies = [copied(bot, bot.file(name)) for name in NAMES]
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


@pytest.mark.parametrize("restart", [False, True], ids=["running", "while off"])
async def test_a_copy_whose_original_is_deleted_takes_its_place_without_what_was_corrected(
    tmp_path: Path, restart: bool
) -> None:
    async with living(tmp_path) as bot:
        ids = await told(bot, *TOLD)
        before = copied(bot, bot.file(COPY)).read_bytes()
        await bot.look()
        await bot.edits(ids[2], "小明喜欢大狗")
        await bot.look()
        await bot.forgets(ids[0])
        assert len(notices(bot)) == 1
        assert bot.file(COPY).read_bytes() == before
        await moved(bot, ids[1])
        await bot.look()
        bot.file().unlink()
        for _ in range(0 if restart else 2):
            await bot.look()
    async with living(tmp_path) as bot:
        await bot.look()
        bot.check()
        assert notices(bot) == []
        assert (bot.texts(), bot.texts(WORK)) == ([DOG], [TEA])
        assert bot.memory(ids[2]).judgment == DOG
        assert await bot.restores(ids[0]) is not None


async def test_who_works_on_in_a_copy_is_told_and_loses_nothing(tmp_path: Path) -> None:
    async with living(tmp_path) as bot:
        await told(bot, *TOLD)
        copy = copied(bot, bot.file(COPY))
        await bot.look()
        edited(copy, ("花生", "核桃"))
        await bot.look()
        (notice,) = notices(bot)
        assert notice.params["different"] == "1"
        assert bot.texts() == sorted(TOLD)
        edited(copy, ("绿茶", "红茶"))
        await bot.look()
        await bot.look()
        assert notices(bot) == []
        assert bot.texts() == sorted([*TOLD, "奶奶对核桃过敏", "爷爷喜欢喝红茶", DOG])
        bot.check()


async def test_a_file_with_entries_of_its_own_and_one_of_another_scope_are_no_copies(
    tmp_path: Path,
) -> None:
    async with living(tmp_path) as bot:
        await told(bot, *TOLD)
        own = bot.file("家里.md")
        added(own, "## 阳台朝南 ^m-0own\n\n## 车库在地下二层 ^m-1own\n")
        await bot.look()
        added(own, "\n" + bot.file().read_text("utf-8"))
        copied(bot, bot.file(COPY, WORK))
        await bot.look()
        await bot.look()
        assert notices(bot) == []
        assert bot.texts(FAMILY) == sorted([*TOLD, *TOLD, "阳台朝南", "车库在地下二层"])
        assert bot.texts(WORK) == sorted(TOLD)
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
