"""What people do to the files, while the bot runs and while it is off, and what becomes of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import StateUnavailable
from astrbot_plugin_scoped_memory.llm_memory.models.notices import NoticeCode
from astrbot_plugin_scoped_memory.llm_memory.models.settings import VaultPace
from astrbot_plugin_scoped_memory.llm_memory.vault.ledger import SqliteLedger
from astrbot_plugin_scoped_memory.tests.support.bots import FAMILY, WORK, Bot, living

pytestmark = pytest.mark.engine

PEANUTS, TEA, KEY = "奶奶对花生过敏", "爷爷喜欢喝绿茶", "备用钥匙在门卫那里"

type UndoRecord = Callable[[Bot], None]


async def after(root: Path, action: UndoRecord, *, restart: bool) -> Bot:
    """A bot that knew two things of the family and one of work, after a person's deed."""
    async with living(root) as bot:
        await bot.says(PEANUTS)
        await bot.says(TEA)
        await bot.says("公司喜欢开晨会", WORK)
        if not restart:
            action(bot)
            await bot.look()
            bot.check()
            return bot
        action(bot)
    async with living(root) as bot:
        await bot.look()
        bot.check()
        return bot


def edited(path: Path, *pairs: tuple[str, str]) -> None:
    """Save a file with words replaced."""
    text = path.read_text("utf-8")
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, "utf-8")


def block(path: Path, words: str) -> str:
    """The lines of an entry that say this, to the next entry."""
    pieces = path.read_text("utf-8").split("## ")
    return next("## " + piece for piece in pieces if words in piece)


both = pytest.mark.parametrize("restart", [False, True], ids=["running", "while off"])


@both
async def test_a_deleted_entry_is_forgotten_and_can_be_brought_back(
    tmp_path: Path, restart: bool
) -> None:
    def action(bot: Bot) -> None:
        edited(bot.file(), (block(bot.file(), PEANUTS), ""))

    await after(tmp_path, action, restart=restart)
    async with living(tmp_path) as bot:
        assert bot.texts() == [TEA]
        archived = bot.file("archive/preferences.md").read_text("utf-8")
        assert "忘记者：在文件里删除" in archived
        memory_id = archived.partition("^")[2].partition("\n")[0]
        assert await bot.restores(memory_id) is not None
        assert bot.texts() == sorted([PEANUTS, TEA])
        bot.check()


@both
async def test_a_deleted_file_is_forgotten(tmp_path: Path, restart: bool) -> None:
    bot = await after(tmp_path, lambda bot: bot.file().unlink(), restart=restart)
    assert bot.texts() == []
    assert bot.file("archive/preferences.md").read_text("utf-8").count("## ") == 2


@both
async def test_an_entry_moved_to_another_scopes_file_belongs_to_it(
    tmp_path: Path, restart: bool
) -> None:
    def action(bot: Bot) -> None:
        moved = block(bot.file(), PEANUTS)
        edited(bot.file(), (moved, ""))
        target = bot.file("preferences.md", WORK)
        target.write_text(target.read_text("utf-8") + "\n" + moved, "utf-8")

    bot = await after(tmp_path, action, restart=restart)
    assert bot.texts() == [TEA]
    assert bot.texts(WORK) == sorted(["公司喜欢开晨会", PEANUTS])
    assert not bot.file("archive").exists()


@both
async def test_a_file_moved_to_another_scopes_folder_belongs_to_it(
    tmp_path: Path, restart: bool
) -> None:
    def action(bot: Bot) -> None:
        bot.file().rename(bot.file("家里的.md", WORK))

    bot = await after(tmp_path, action, restart=restart)
    assert bot.texts() == []
    assert bot.texts(WORK) == sorted(["公司喜欢开晨会", PEANUTS, TEA])
    assert not bot.file("archive").exists()


@both
async def test_a_renamed_file_keeps_its_entries(tmp_path: Path, restart: bool) -> None:
    bot = await after(tmp_path, lambda bot: bot.file().rename(bot.file("我的.md")), restart=restart)
    assert bot.texts() == sorted([PEANUTS, TEA])
    assert {stored.path for stored in bot.catalogue.all()} == {"我的.md", "preferences.md"}
    assert not bot.file("archive").exists()


async def test_a_renamed_file_and_one_that_the_bot_begins_in_its_place_are_two(
    tmp_path: Path,
) -> None:
    async with living(tmp_path) as bot:
        first = await bot.says(PEANUTS)
        bot.file().rename(bot.file("我的.md"))
        await bot.says(TEA)
        await bot.look()
        bot.check()
        assert bot.texts() == sorted([PEANUTS, TEA])
        assert bot.memory(first).judgment == PEANUTS


async def test_what_was_moved_back_by_hand_after_a_move_by_command_stays_there(
    tmp_path: Path,
) -> None:
    async with living(tmp_path) as bot:
        memory_id = await bot.says(PEANUTS)
        before = bot.file().read_text("utf-8")
        (stored,) = bot.catalogue.all()
        bot.living.drop(stored)
        bot.living.take(bot.vault.move(stored, WORK))
        await bot.look()
        bot.file("preferences.md", WORK).unlink()
        bot.file().write_text(before, "utf-8")
        await bot.look()
        bot.check()
        assert bot.memory(memory_id).judgment == PEANUTS
        assert bot.texts(WORK) == []


async def test_an_unreadable_folder_forgets_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.scandir

    def failing(path: str) -> object:
        if str(path).endswith("journal"):
            raise PermissionError(13, "denied")
        return real(path)

    async with living(tmp_path) as bot:
        await bot.says(PEANUTS)
        await bot.says("昨天图书馆闭馆")
        assert bot.file("journal").is_dir()
        with monkeypatch.context() as patch:
            patch.setattr(os, "scandir", failing)
            await bot.look()
        assert len(bot.texts()) == 2
        (notice,) = bot.notices.standing()
        assert notice.params["path"] == "journal"
        await bot.look()
        assert bot.notices.standing() == ()
        bot.check()


async def test_without_a_ledger_the_files_are_read_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with living(tmp_path) as bot:
        await bot.says(PEANUTS)
        path = bot.file()
        path.write_text(path.read_text("utf-8").replace("花生", "核桃"), "utf-8")

    def full(*_: object, **__: object) -> None:
        raise StateUnavailable("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(SqliteLedger, "record", full)
        async with living(tmp_path) as bot:
            assert bot.texts() == ["奶奶对核桃过敏"]
            assert await bot.says(TEA)
    async with living(tmp_path) as bot:
        assert bot.texts() == sorted(["奶奶对核桃过敏", TEA])
        bot.check()


@both
async def test_a_renamed_scope_folder_is_another_scope(tmp_path: Path, restart: bool) -> None:
    def action(bot: Bot) -> None:
        for number in range(6):
            (bot.folder() / f"{number}.md").write_text(f"## 第{number}件事 ^m-many{number}\n")
        bot.folder().rename(bot.folder().with_name("家"))

    bot = await after(tmp_path, action, restart=restart)
    assert bot.texts() == []
    by_scope = bot.catalogue.counts()
    assert by_scope == {"家": 8, "公司": 1}
    assert bot.held() == {}


@both
@pytest.mark.parametrize("elsewhere", [False, True], ids=["same scope", "other scope"])
async def test_a_copied_entry_gets_an_id_of_its_own(
    tmp_path: Path, restart: bool, elsewhere: bool
) -> None:
    def action(bot: Bot) -> None:
        scope = WORK if elsewhere else FAMILY
        bot.file("a-copy.md", scope).write_text(block(bot.file(), PEANUTS), "utf-8")

    bot = await after(tmp_path, action, restart=restart)
    ids = [s.memory.memory_id for s in bot.catalogue.all() if s.memory.judgment == PEANUTS]
    assert len(set(ids)) == 2
    first = min(ids)  # ids sort by time
    assert f"^{first}" in bot.file().read_text("utf-8")


async def test_an_entry_pasted_first_and_cut_then_keeps_its_id(tmp_path: Path) -> None:
    """In the look between the two it is a copy, which waits for an id of its own."""
    async with living(tmp_path, pace=VaultPace(quiet_seconds=3600.0)) as bot:
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


async def test_an_entry_copied_within_its_file_leaves_the_first_its_id(tmp_path: Path) -> None:
    def action(bot: Bot) -> None:
        path = bot.file()
        copy = block(path, PEANUTS).replace("花生", "虾")
        path.write_text(path.read_text("utf-8") + "\n" + copy, "utf-8")

    bot = await after(tmp_path, action, restart=False)
    assert bot.texts() == sorted([PEANUTS, TEA, "奶奶对虾过敏"])
    (first,) = [s for s in bot.catalogue.all() if s.memory.judgment == PEANUTS]
    assert f"{PEANUTS} ^{first.memory.memory_id}" in bot.file().read_text("utf-8")


@both
async def test_what_a_person_writes_without_an_id_is_remembered(
    tmp_path: Path, restart: bool
) -> None:
    words = (
        "\n## 备用钥匙在门卫那里\n找老王拿。\n\n# 其他\n- 女儿爱吃草莓，\n  不爱吃葡萄\n"
        "- 门锁的电池一年一换\n\n弟弟在学小提琴，\n每周六上课。\n\n> 引用\n"
    )

    def action(bot: Bot) -> None:
        path = bot.file()
        path.write_text(path.read_text("utf-8") + words, "utf-8")

    bot = await after(tmp_path, action, restart=restart)
    assert bot.texts() == sorted(
        [PEANUTS, TEA, KEY, "女儿爱吃草莓，\n不爱吃葡萄", "门锁的电池一年一换",
         "弟弟在学小提琴，\n每周六上课。"]
    )  # fmt: skip
    text = bot.file().read_text("utf-8")
    without_ids = "\n".join(line.partition(" ^m-")[0] for line in text.split("\n"))
    assert without_ids.endswith(words)
    reasons = {s.memory.judgment: s.memory.reasoning for s in bot.catalogue.all()}
    assert reasons[KEY] == "找老王拿。"


async def test_what_stands_in_a_file_of_a_persons_own_is_a_note_and_no_memory(
    tmp_path: Path,
) -> None:
    def action(bot: Bot) -> None:
        bot.file("旅行.md").write_text("## 日本\n- 护照\n", "utf-8")

    bot = await after(tmp_path, action, restart=False)
    assert bot.texts() == sorted([PEANUTS, TEA])
    assert bot.file("旅行.md").read_text("utf-8") == "## 日本\n- 护照\n"


async def test_the_bot_does_not_write_into_a_file_that_is_being_written(tmp_path: Path) -> None:
    async with living(tmp_path, pace=VaultPace(quiet_seconds=3600.0)) as bot:
        await bot.says(PEANUTS)
        path = bot.file()
        written = path.read_text("utf-8") + "\n## 备用钥匙\n"
        path.write_text(written, "utf-8")
        await bot.look()
        await bot.look()
        assert path.read_text("utf-8") == written
        assert bot.reconciler.next_due is not None
    async with living(tmp_path) as bot:
        await bot.look()
        assert bot.texts() == sorted([PEANUTS, "备用钥匙"])


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


@pytest.mark.parametrize(
    "name", [".entities.md.swp", "entities.md~", "4913", "#entities.md#", ".#entities.md",
             "entities.md.tmp", ".0f0f.tmp", "preferences.conflict.md", ".entities.md.a8Xk2f",
             ".git/x.md", ".obsidian/x.md", ".trash/x.md", ".entities.md.kate-swp",
             ".syncthing.entities.md.tmp", "entities.md.part", ".stfolder/x.md"],
)  # fmt: skip
async def test_an_editors_own_files_are_ignored(tmp_path: Path, name: str) -> None:
    def action(bot: Bot) -> None:
        bot.file(name).parent.mkdir(exist_ok=True)
        bot.file(name).write_text("## 不是记忆 ^m-temp1\n", "utf-8")

    bot = await after(tmp_path, action, restart=False)
    assert bot.texts() == sorted([PEANUTS, TEA])
    assert bot.notices.standing() == ()


async def test_a_link_out_of_the_tree_is_never_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("## 外面的事 ^m-outside\n\n- 没有编号\n", "utf-8")
    before = outside.read_bytes()

    def action(bot: Bot) -> None:
        bot.file("entities.md").symlink_to(outside)
        bot.file("archive").symlink_to(tmp_path)

    bot = await after(tmp_path, action, restart=False)
    assert bot.texts() == sorted([PEANUTS, TEA])
    assert outside.read_bytes() == before


async def test_a_file_that_cannot_be_read_is_reported_and_forgets_nothing(tmp_path: Path) -> None:
    async with living(tmp_path) as bot:
        await bot.says(PEANUTS)
        await bot.says("小王负责前端")
        sound = bot.file().read_bytes()
        bot.file().write_bytes("汉字".encode("gb18030"))
        await bot.look()
        (notice,) = bot.notices.standing()
        assert (notice.code, notice.params["reason"]) == (NoticeCode.VAULT_FILE_BROKEN, "gb18030")
        await bot.look()
        assert len(bot.notices.standing()) == 1
        assert bot.texts() == sorted([PEANUTS, "小王负责前端"])
        bot.file().write_bytes(sound)
        await bot.look()
        assert bot.notices.standing() == ()
        bot.check()
        assert not bot.file("archive").exists()


async def test_our_own_writes_are_nothing_new(tmp_path: Path) -> None:
    async with living(tmp_path) as bot:
        first = await bot.says(PEANUTS)
        await bot.says(TEA)
        await bot.says(PEANUTS)
        told = bot.index.told
        await bot.look()
        assert bot.index.told == told
        await bot.forgets(first)
        await bot.restores(first)
        told = bot.index.told
        await bot.look()
        os.utime(bot.file(), (1, 1))
        await bot.look()
        assert bot.index.told == told
        bot.check()
