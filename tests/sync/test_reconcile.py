"""What people do to the files, while the bot runs and while it is off, and what becomes of it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.settings import Pace
from astrbot_plugin_scoped_memory.llm_memory.models.status import Notice
from astrbot_plugin_scoped_memory.tests.support.bots import AT_ONCE, WORK, Bot, Watch, living
from astrbot_plugin_scoped_memory.tests.support.engines import group, running
from astrbot_plugin_scoped_memory.tests.sync.test_editors import (
    DOG,
    MEETING,
    PEANUTS,
    TEA,
    added,
    block,
    edited,
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


def rename_scope(bot: Bot) -> None:
    for number in range(6):
        bot.file(f"{number}.md").write_text(f"## 第{number}件事 ^m-many{number}\n", "utf-8")
    bot.folder().rename(bot.folder().with_name("家"))


def leave_editors_own(bot: Bot) -> None:
    for name in EDITORS_OWN:
        bot.file(name).parent.mkdir(exist_ok=True)
        bot.file(name).write_text("## 不是记忆 ^m-temp1\n", "utf-8")


def name_folders_as_files(bot: Bot) -> None:
    added(bot.file("旧笔记.md") / "里面.md", "## 门牌是蓝色的 ^m-0001\n")
    bot.file("archive/x.md").mkdir(parents=True)


def link_out(bot: Bot) -> None:
    outside = bot.root / "outside.md"
    outside.write_text("## 外面的事 ^m-outside\n\n- 没有编号\n", "utf-8")
    bot.file("entities.md").symlink_to(outside)
    bot.file("archive").symlink_to(bot.root)


def put_in_its_place(bot: Bot, put: Callable[[Path], object]) -> None:
    added(bot.file("新.md"), f"## {DOG} ^m-0001\n")
    bot.file().unlink()
    put(bot.file())


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
    "leave an editor's own files": (
        leave_editors_own, HERE, lambda bot: bot.notices.standing() == ()
    ),
    "name folders as files": (
        name_folders_as_files, [*HERE, "门牌是蓝色的"], lambda bot: bot.notices.standing() == ()
    ),
    "put a folder in a file's place": (
        lambda bot: put_in_its_place(bot, Path.mkdir),
        [DOG],
        lambda bot: bot.reconciler.next_due is None,
    ),
    "put a link in a file's place": (
        lambda bot: put_in_its_place(bot, lambda path: path.symlink_to(bot.file("新.md"))),
        [DOG],
        lambda bot: bot.reconciler.next_due is None,
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
        assert bot.file("archive/preferences.md").exists() is (lives == [DOG])


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


# Most of a scope, gone at once: held until a person confirms the deletion


async def many(bot: Bot, count: int = 8) -> list[Path]:
    """As many entries in files of their own, and one of another scope."""
    paths = [bot.file(f"{number}.md") for number in range(count)]
    for number, path in enumerate(paths):
        added(path, f"## 第{number}件事 ^m-many{number}\n> 2026-01-01T00:00+08:00\n")
    await bot.says(MEETING, WORK)
    await bot.look()
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
        await told(bot, PEANUTS)
        edited(bot.file(), ("花生", "核桃"))
        await bot.look()
        assert bot.held() == {"家人": "5"}
        assert {"奶奶对核桃过敏", "第0件事"} <= set(bot.texts())
        assert await bot.reconciler.confirm() == 5
        assert bot.held() == {}
        assert bot.texts() == sorted(["第5件事", "第6件事", "第7件事", "奶奶对核桃过敏"])
        assert await bot.restores("m-many3") is not None
        bot.check()


# Copies that a file manager or a sync client leaves beside a file

TOLD = (PEANUTS, TEA, DOG)
COPY = "preferences (1).md"
NAMES = [COPY, "preferences - 副本.md", "~$preferences.md", "备份/preferences.md.md"]


def notices(bot: Bot) -> list[Notice]:
    return [n for n in bot.notices.standing() if n.code == "vault_copy"]


@pytest.mark.parametrize("ledger", [True, False], ids=["", "nothing known"])
async def test_copies_are_told_once_and_left_as_they_are(tmp_path: Path, ledger: bool) -> None:
    async with living(tmp_path, ledger=ledger) as bot:
        ids = await told(bot, *TOLD)
        texts, before = bot.texts(), bot.file().read_bytes()
        copies = [bot.file(name) for name in NAMES]
        for copy in copies:
            added(copy, before.decode())
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


async def test_a_folder_that_differs_from_a_mapped_scope_in_case_only_is_told(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, {group(777).umo: "home"}) as rig:
        stray = tmp_path / "memory/scopes/Home"
        stray.mkdir(parents=True)
        for told, step in ((1, stray.with_name("work").mkdir), (0, stray.rmdir)):
            step()
            await rig.engine.reconcile()
            found = [n.params for n in rig.engine.notices if n.code == "vault_twin"]
            assert found == [{"folder": "Home", "scope": "home"}] * told


# A file that may still be written to is not rewritten, and no entry of it is taken for deleted


QUIET = replace(AT_ONCE, quiet_seconds=5.0)


WAITS: dict[str, list[tuple[float, str, int]]] = {
    "cut short for a moment": [(0, "half", 3), (4.9, "", 3), (0, "whole", 3), (10, "", 3)],
    "emptied for a moment": [(0, "empty", 3), (4.9, "", 3), (0, "whole", 3), (10, "", 3)],
    "away for a moment": [(0, "away", 3), (3, "whole", 3), (0, "away", 3), (3, "", 3), (2, "", 0)],
    "an entry that stays away": [(0, "cut", 3), (4, "", 3), (1, "", 2)],
    "each save begins the wait anew": [
        (0, "cut", 3), (3, "change", 3), (3, "change", 3), (3, "change", 3), (5, "", 2)
    ],
}  # fmt: skip
"""What is done to a file of three entries: after so many seconds, what, and how many live then."""


@pytest.mark.parametrize("name", WAITS)
async def test_what_is_missing_is_forgotten_after_five_seconds_without_a_save(
    tmp_path: Path, name: str
) -> None:
    watch = Watch()
    async with living(tmp_path, pace=QUIET, elapsed=watch) as bot:
        ids = await told(bot, PEANUTS, TEA, DOG)
        whole = bot.file().read_bytes()
        deeds: dict[str, Callable[[], object]] = {
            "": lambda: None,
            "half": lambda: bot.file().write_bytes(whole[: len(whole) // 2]),
            "empty": lambda: bot.file().write_bytes(b""),
            "whole": lambda: bot.file().write_bytes(whole),
            "away": lambda: bot.file().unlink(),
            "cut": lambda: edited(bot.file(), (block(bot.file(), PEANUTS), "")),
            "change": lambda: edited(bot.file(), ("绿茶", "绿绿茶")),
        }
        for seconds, deed, lives in WAITS[name]:
            watch.seconds += seconds
            deeds[deed]()
            await bot.look()
            assert len(bot.texts()) == lives
            assert bot.file("archive").exists() is (lives < 3)
        bot.check()
        assert {s.memory.memory_id for s in bot.catalogue.all()} <= set(ids)
        assert bot.reconciler.next_due is None


async def test_files_that_share_entries_wait_for_one_another(tmp_path: Path) -> None:
    """Over any number of others: what left one of them is not taken for new in the next."""
    watch = Watch()
    async with living(tmp_path, pace=QUIET, elapsed=watch) as bot:
        ids = await told(bot, PEANUTS, TEA)
        await bot.says(MEETING, WORK)
        await bot.look()
        moved, gone = block(bot.file(), PEANUTS), block(bot.file(), TEA)
        edited(bot.file(), (moved, ""), (gone, ""))
        target = bot.file("preferences.md", WORK)
        onwards = block(target, MEETING)
        target.write_text(moved, "utf-8")
        added(bot.file("entities.md"), onwards)
        await bot.look()
        assert bot.texts() == sorted([PEANUTS, TEA])
        assert bot.texts(WORK) == [MEETING]
        watch.seconds += 5.0
        await bot.look()
        bot.check()
        assert bot.texts() == [MEETING]
        assert bot.memory(ids[0], WORK).judgment == PEANUTS
        assert PEANUTS not in bot.file("archive/preferences.md").read_text("utf-8")


async def test_a_start_reads_what_is_known_of_an_unchanged_file_once(tmp_path: Path) -> None:
    async with living(tmp_path) as bot:
        await told(bot, PEANUTS, TEA)
    with mock.patch.object(type(bot.vault.ledger), "entries_in", return_value=[]) as read:
        async with living(tmp_path):
            pass
    assert [key for call in read.call_args_list for key in call.args[0]] == [
        ("家人", "preferences.md")
    ]


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


async def test_a_file_that_the_bot_writes_to_meanwhile_is_left_to_the_next_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what shares an entry with it: a moved entry is not forgotten."""
    async with living(tmp_path) as bot:
        ids = await told(bot, PEANUTS, TEA)
        await bot.says(MEETING, WORK)
        await bot.look()
        piece = block(bot.file(), PEANUTS)
        edited(bot.file(), (piece, ""))
        added(bot.file(scope=WORK), f"\n{piece}")
        see = bot.vault.see

        def late(*arguments: object) -> object:
            found = see(*arguments)  # type: ignore[arg-type]
            added(bot.file(scope=WORK), "\n")
            return found

        with monkeypatch.context() as patch:
            patch.setattr(bot.vault, "see", late)
            await bot.look()
        assert bot.reconciler.next_due == 1.0
        assert bot.texts() == sorted([PEANUTS, TEA])
        await bot.look()
        assert bot.reconciler.next_due is None
        bot.check()
        assert bot.memory(ids[0], WORK).judgment == PEANUTS
        assert not bot.file("archive").exists()
