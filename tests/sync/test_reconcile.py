"""What people do to the files, while the bot runs and while it is off, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.settings import Pace
from astrbot_plugin_scoped_memory.tests.support.bots import WORK, Bot, living
from astrbot_plugin_scoped_memory.tests.sync.desk import (
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


@dataclass(frozen=True)
class Deed:
    """Something that a person does where the family has two entries and the company one.

    Attributes:
        do: How.
        family: What lives in the family's scope then.
        work: What lives in the company's.
        forgotten: How many entries lie in the family's archive.
        more: What else has to be so.
    """

    do: Callable[[Bot], object]
    family: tuple[str, ...] = (PEANUTS, TEA)
    work: tuple[str, ...] = (MEETING,)
    forgotten: int = 0
    more: Callable[[Bot], bool] = lambda _: True


def places(bot: Bot) -> set[str]:
    return {stored.path for stored in bot.catalogue.all()}


def first_keeps_its_id(bot: Bot) -> bool:
    """Ids sort by time."""
    same = [s.memory.memory_id for s in bot.catalogue.all() if s.memory.judgment == PEANUTS]
    return f"{PEANUTS} ^{min(same)}" in bot.file().read_text("utf-8")


def keeps_bytes_and_reason(bot: Bot) -> bool:
    lines = bot.file().read_text("utf-8").split("\n")
    reasons = {s.memory.judgment: s.memory.reasoning for s in bot.catalogue.all()}
    without_ids = "\n".join(line.partition(" ^m-")[0] for line in lines)
    return without_ids.endswith(BY_HAND) and reasons["备用钥匙在门卫那里"] == "找老王拿。"


DEEDS = {
    "delete an entry": Deed(cut, (TEA,), forgotten=1),
    "delete a file": Deed(lambda bot: bot.file().unlink(), (), forgotten=2),
    "move an entry to another scope's file": Deed(
        lambda bot: added(bot.file(scope=WORK), "\n" + cut(bot)), (TEA,), (MEETING, PEANUTS)
    ),
    "move a file to another scope's folder": Deed(
        lambda bot: bot.file().rename(bot.file("家里的.md", WORK)), (), (MEETING, PEANUTS, TEA)
    ),
    "rename a file": Deed(
        lambda bot: bot.file().rename(bot.file("我的.md")),
        more=lambda bot: places(bot) == {"我的.md", "preferences.md"},
    ),
    "rename a scope's folder": Deed(
        rename_scope,
        (),
        more=lambda bot: bot.catalogue.counts() == {"家": 8, "公司": 1} and bot.held() == {},
    ),
    "copy an entry": Deed(
        lambda bot: added(bot.file("a-copy.md"), block(bot.file(), PEANUTS)),
        (PEANUTS, PEANUTS, TEA),
        more=first_keeps_its_id,
    ),
    "copy an entry to another scope": Deed(
        lambda bot: added(bot.file("a-copy.md", WORK), block(bot.file(), PEANUTS)),
        work=(MEETING, PEANUTS),
        more=first_keeps_its_id,
    ),
    "copy an entry within its file and change the copy": Deed(
        lambda bot: added(bot.file(), "\n" + block(bot.file(), PEANUTS).replace("花生", "虾")),
        (PEANUTS, TEA, "奶奶对虾过敏"),
        more=first_keeps_its_id,
    ),
    "write without an id": Deed(
        lambda bot: added(bot.file(), BY_HAND),
        (PEANUTS, TEA, "备用钥匙在门卫那里", "女儿爱吃草莓，\n不爱吃葡萄", "门锁的电池一年一换",
         "弟弟在学小提琴，\n每周六上课。"),
        more=keeps_bytes_and_reason,
    ),
    "write a note of one's own": Deed(
        lambda bot: added(bot.file("旅行.md"), "## 日本\n- 护照\n"),
        more=lambda bot: bot.file("旅行.md").read_text("utf-8") == "## 日本\n- 护照\n",
    ),
    "leave an editor's own files": Deed(
        leave_editors_own, more=lambda bot: bot.notices.standing() == ()
    ),
    "link out of the tree": Deed(
        link_out,
        more=lambda bot: (bot.root / "outside.md").read_text("utf-8").endswith("没有编号\n"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("restart", [False, True], ids=["running", "while off"])
@pytest.mark.parametrize("name", DEEDS)
async def test_what_a_person_does_is_followed(tmp_path: Path, name: str, restart: bool) -> None:
    deed = DEEDS[name]
    async with living(tmp_path) as bot:
        ids = [await bot.says(PEANUTS), await bot.says(TEA)]
        await bot.says(MEETING, WORK)
        deed.do(bot)
        if not restart:
            await bot.look()
            bot.check()
    async with living(tmp_path) as bot:
        await bot.look()
        bot.check()
        assert bot.texts() == sorted(deed.family)
        assert bot.texts(WORK) == sorted(deed.work)
        assert deed.more(bot)
        archive = bot.file("archive/preferences.md")
        assert archive.exists() is bool(deed.forgotten)
        if deed.forgotten:
            assert archive.read_text("utf-8").count("忘记者：在文件里删除") == deed.forgotten
            assert await bot.restores(ids[0]) is not None
            assert PEANUTS in bot.texts()
            bot.check()


async def test_what_was_moved_back_by_hand_after_a_move_by_command_stays_there(
    tmp_path: Path,
) -> None:
    async with living(tmp_path) as bot:
        memory_id = await bot.says(PEANUTS)
        before = bot.file().read_text("utf-8")
        await moved(bot, memory_id)
        await bot.look()
        bot.file("preferences.md", WORK).unlink()
        bot.file().write_text(before, "utf-8")
        await bot.look()
        bot.check()
        assert bot.memory(memory_id).judgment == PEANUTS
        assert bot.texts(WORK) == []


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
