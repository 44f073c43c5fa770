"""What people do to the files, while the bot runs and while it is off, and what becomes of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.settings import Pace
from astrbot_plugin_scoped_memory.llm_memory.models.status import Notice
from astrbot_plugin_scoped_memory.tests.support.bots import FAMILY, WORK, Bot, living
from astrbot_plugin_scoped_memory.tests.support.engines import group, running
from astrbot_plugin_scoped_memory.tests.sync.desk import (
    DOG,
    MEETING,
    PEANUTS,
    TEA,
    added,
    block,
    edited,
    moved,
    told,
)

pytestmark = pytest.mark.engine

BY_HAND = (
    "\n## 备用钥匙在门卫那里\n找老王拿。\n\n# 其他\n- 女儿爱吃草莓，\n  不爱吃葡萄\n"
    "- 门锁的电池一年一换\n\n弟弟在学小提琴，\n每周六上课。\n\n> 引用\n"
)
EDITORS_OWN = (
    ".entities.md.swp", "entities.md~", "4913", "#entities.md#", ".#entities.md",
    "entities.md.tmp", ".0f0f.tmp", "preferences.conflict.md", ".entities.md.a8Xk2f",
    ".git/x.md", ".obsidian/x.md", ".trash/x.md", ".entities.md.kate-swp",
    ".syncthing.entities.md.tmp", "entities.md.part", ".stfolder/x.md",
)  # fmt: skip


def cut(bot: Bot) -> str:
    """One entry, out of its file."""
    piece = block(bot.file(), PEANUTS)
    edited(bot.file(), (piece, ""))
    return piece


def rename_scope(bot: Bot) -> None:
    for number in range(6):
        bot.file(f"{number}.md").write_text(f"## 第{number}件事 ^m-many{number}\n", "utf-8")
    bot.folder().rename(bot.folder().with_name("家"))


def leave_editors_own(bot: Bot) -> None:
    for name in EDITORS_OWN:
        bot.file(name).parent.mkdir(exist_ok=True)
        bot.file(name).write_text("## 不是记忆 ^m-temp1\n", "utf-8")


def link_out(bot: Bot) -> None:
    outside = bot.root / "outside.md"
    outside.write_text("## 外面的事 ^m-outside\n\n- 没有编号\n", "utf-8")
    bot.file("entities.md").symlink_to(outside)
    bot.file("archive").symlink_to(bot.root)


def keeps_bytes_and_reason(bot: Bot) -> bool:
    lines = bot.file().read_text("utf-8").split("\n")
    reasons = {s.memory.judgment: s.memory.reasoning for s in bot.catalogue.all()}
    without_ids = "\n".join(line.partition(" ^m-")[0] for line in lines)
    return without_ids.endswith(BY_HAND) and reasons["备用钥匙在门卫那里"] == "找老王拿。"


HERE: list[str] = [PEANUTS, TEA]
DEEDS: dict[str, tuple[Callable[[Bot], object], list[str], Callable[[Bot], bool]]] = {
    "rename a scope's folder": (
        rename_scope,
        [],
        lambda bot: bot.catalogue.counts() == {"家": 8} and bot.held() == {},
    ),
    "write without an id": (
        lambda bot: added(bot.file(), BY_HAND),
        [*HERE, "备用钥匙在门卫那里", "女儿爱吃草莓，\n不爱吃葡萄", "门锁的电池一年一换",
         "弟弟在学小提琴，\n每周六上课。"],
        keeps_bytes_and_reason,
    ),
    "write a note of one's own": (
        lambda bot: added(bot.file("旅行.md"), "## 日本\n- 护照\n"),
        HERE,
        lambda bot: bot.file("旅行.md").read_text("utf-8") == "## 日本\n- 护照\n",
    ),
    "leave an editor's own files": (
        leave_editors_own, HERE, lambda bot: bot.notices.standing() == ()
    ),
    "link out of the tree": (
        link_out,
        HERE,
        lambda bot: (bot.root / "outside.md").read_text("utf-8").endswith("没有编号\n"),
    ),
}  # fmt: skip
"""By what a person does: how, what lives then, and what else is so."""


@pytest.mark.parametrize("restart", [False, True], ids=["running", "while off"])
@pytest.mark.parametrize("name", DEEDS)
async def test_what_a_person_does_is_followed(tmp_path: Path, name: str, restart: bool) -> None:
    do, lives, more = DEEDS[name]
    async with living(tmp_path) as bot:
        await told(bot, PEANUTS, TEA)
        do(bot)
        if not restart:
            await bot.look()
            bot.check()
    async with living(tmp_path) as bot:
        await bot.look()
        bot.check()
        assert bot.texts() == sorted(lives)
        assert more(bot)
        assert not bot.file("archive/preferences.md").exists()


async def test_an_entry_pasted_first_and_cut_then_keeps_its_id(tmp_path: Path) -> None:
    """In the look between the two it is a copy, which waits for an id of its own."""
    async with living(tmp_path, pace=Pace(quiet_seconds=3600.0)) as bot:
        peanuts, tea = await bot.says(PEANUTS), await bot.says(TEA)
        await bot.look()
        piece = block(bot.file(), PEANUTS)
        bot.file("instructions.md").write_text(piece, "utf-8")
        await bot.look()
        assert bot.texts() == sorted([PEANUTS, TEA])
        edited(bot.file(), (piece, ""))
        await bot.look()
        assert bot.texts() == sorted([PEANUTS, TEA])
        assert {s.memory.memory_id: s.path for s in bot.catalogue.all()} == {
            peanuts: "instructions.md",
            tea: "preferences.md",
        }
        assert not bot.file("archive").exists()
        bot.check()


async def test_words_that_lose_their_id_get_it_back(tmp_path: Path) -> None:
    """An editor that did not notice the id, and saves on."""
    async with living(tmp_path) as bot:
        path = bot.file()
        path.parent.mkdir(parents=True)
        path.write_text("- 女儿爱吃草莓\n- 弟弟在学琴\n", "utf-8")
        await bot.look()
        ids = {s.memory.judgment: s.memory.memory_id for s in bot.catalogue.all()}
        path.write_text("- 女儿爱吃草莓和葡萄\n- 弟弟在学琴\n- 新的\n", "utf-8")
        await bot.look()
        bot.check()
        again = {s.memory.judgment: s.memory.memory_id for s in bot.catalogue.all()}
        assert again["弟弟在学琴"] == ids["弟弟在学琴"]
        assert again["女儿爱吃草莓和葡萄"] == ids["女儿爱吃草莓"]
        assert len(again) == 3
        assert not bot.file("archive").exists()


# Most of a scope, gone at once: held until a person confirms the deletion


async def many(bot: Bot, count: int = 8) -> list[Path]:
    """As many entries in files of their own, and one of another scope."""
    paths = [bot.file(f"{number}.md") for number in range(count)]
    for number, path in enumerate(paths):
        added(path, f"## 第{number}件事 ^m-many{number}\n> 2026-01-01T00:00+08:00\n")
    await bot.says(MEETING, WORK)
    await bot.look()
    assert len(bot.texts()) == count
    return paths


def taken(paths: list[Path]) -> dict[Path, bytes]:
    """What was in these files, which are gone."""
    kept = {path: path.read_bytes() for path in paths}
    for path in paths:
        path.unlink()
    return kept


@pytest.mark.parametrize(("had", "lost"), [(8, 4), (4, 4), (20, 10)])
async def test_half_or_a_few_are_forgotten(tmp_path: Path, had: int, lost: int) -> None:
    async with living(tmp_path) as bot:
        taken((await many(bot, had))[:lost])
        await bot.look()
        bot.check()
        assert bot.held() == {}
        assert len(bot.texts()) == had - lost


async def test_more_is_recalled_on_over_restarts_and_what_returns_is_held_no_more(
    tmp_path: Path,
) -> None:
    async with living(tmp_path) as bot:
        kept = taken(await many(bot))
        await bot.look()
    for count, (path, content) in enumerate(kept.items()):
        async with living(tmp_path) as bot:
            await bot.look()
            assert bot.held() == {"家人": str(8 - count)}
            assert len(bot.texts()) == 8
            path.write_bytes(content)
            await bot.look()
            if count == 7:
                bot.check()
    assert bot.held() == {}
    assert not bot.file("archive").exists()


async def test_while_it_is_held_the_bot_remembers_on_until_a_person_says_that_it_was_meant(
    tmp_path: Path,
) -> None:
    async with living(tmp_path) as bot:
        taken((await many(bot))[:5])
        await bot.look()
        await bot.says(PEANUTS)
        await bot.look()
        edited(bot.file(), ("花生", "核桃"))
        added(bot.file("TASKS.md"), "- 买牛奶\n")
        await bot.look()
        assert bot.held() == {"家人": "5"}
        assert {"奶奶对核桃过敏", "买牛奶", "第0件事"} <= set(bot.texts())
        assert await bot.reconciler.confirm() == 5
        assert bot.held() == {}
        assert bot.texts() == sorted(["第5件事", "第6件事", "第7件事", "奶奶对核桃过敏", "买牛奶"])
        assert await bot.restores("m-many3") is not None
        bot.check()


async def test_what_is_pasted_into_another_scope_lives_there_and_no_more_here(
    tmp_path: Path,
) -> None:
    async with living(tmp_path) as bot:
        await told(bot, *(f"小明喜欢第{number}只狗" for number in range(6)))
        cut = bot.file().read_text("utf-8")
        bot.file().write_text("", "utf-8")
        await bot.look()
        assert len(bot.texts()) == 6
        added(bot.file(scope=WORK), cut)
        await bot.look()
        assert bot.texts() == []
        assert len(bot.texts(WORK)) == 6
        assert bot.held() == {}


# Copies that a file manager or a sync client leaves beside a file

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
        stray = tmp_path / "memory/scopes/Home"
        for there, told in ((["Home", "work"], True), (["home"], True), ([], False)):
            for name in there:
                stray.with_name(name).mkdir(parents=True)
            if not there:
                stray.rmdir()
            await rig.engine.reconcile()
            found = [n.params for n in rig.engine.notices if n.code == "vault_twin"]
            assert found == [{"folder": "Home", "scope": "home"}] * told
