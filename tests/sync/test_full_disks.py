"""A disk that is full, or gone, and files that are too large, while people's edits are taken in:
nothing is recorded before it is done, and nothing that cannot be seen counts as deleted."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.catalogue.catalogue import Catalogue
from astrbot_plugin_scoped_memory.llm_memory.errors import StateUnavailable, VaultWriteFailed
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import StoredMemory
from astrbot_plugin_scoped_memory.llm_memory.vault.archive import VaultArchive
from astrbot_plugin_scoped_memory.llm_memory.vault.ledger import SqliteLedger
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown_vault import MarkdownVault
from astrbot_plugin_scoped_memory.llm_memory.vault.repair import VaultRepair
from astrbot_plugin_scoped_memory.llm_memory.vault.vault_tree import MAX_FILE_BYTES, VaultTree
from astrbot_plugin_scoped_memory.tests.support.bots import WORK, Bot, living
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, running
from astrbot_plugin_scoped_memory.tests.support.reflecting import texts_of
from astrbot_plugin_scoped_memory.tests.sync.test_editors import added, block, edited, told

pytestmark = pytest.mark.engine

FAMILY = group(777)
PEANUTS, TEA, DOG = "奶奶喜欢吃花生", "小明喜欢喝茶", "小明喜欢狗"
type Spoil = Callable[[Bot], object]
SCAN = "astrbot_plugin_scoped_memory.llm_memory.vault.scan.MAX_FILE_BYTES"


def corrections(rig: Rig) -> list[str]:
    return [one.words for one in rig.engine.parts.corrected.of_scope("家人")]


def full(*_: Any, **__: Any) -> None:
    raise VaultWriteFailed(os.strerror(errno.ENOSPC))


async def test_a_deletion_that_no_archive_takes_is_recorded_once_it_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest of its file is recalled meanwhile, and nothing of it is noted twice."""
    async with running(tmp_path, follow=False) as rig:
        path = tmp_path / "memory/scopes/家人" / (await rig.remember(PEANUTS, FAMILY)).memory.path
        await rig.remember(TEA, FAMILY)
        edited(path, (block(path, PEANUTS), ""), ("喝茶", "喝水"))
        with monkeypatch.context() as patched:
            patched.setattr(VaultArchive, "archive_deleted", full)
            for _ in range(3):
                await rig.engine.reconcile()
                assert corrections(rig) == []
                assert texts_of(rig) == {"家人": ["小明喜欢喝水"]}
    with monkeypatch.context() as patched:
        patched.setattr(VaultArchive, "archive_deleted", full)
        async with running(tmp_path, follow=False) as rig:
            assert texts_of(rig) == {"家人": ["小明喜欢喝水"]}
            assert "vault_unwritable" in {notice.code for notice in rig.engine.notices}
    async with running(tmp_path, follow=False) as rig:
        for _ in range(2):
            await rig.engine.reconcile()
            assert sorted(corrections(rig)) == sorted([PEANUTS, TEA])
        assert texts_of(rig) == {"家人": ["小明喜欢喝水"]}


@pytest.mark.parametrize(
    ("owner", "call", "lives"),
    [(VaultRepair, "write_repair", [DOG]), (VaultArchive, "archive_deleted", [])],
)
async def test_what_a_disk_refuses_of_a_save_is_so_all_the_same_and_stays_so(
    tmp_path: Path, owner: type, call: str, lives: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A save without an entry that the editor did not know of, or that a person has deleted."""
    async with living(tmp_path) as bot:
        await told(bot, PEANUTS)
        buffer = bot.file().read_text("utf-8").replace("花生", "核桃")
        await bot.says(DOG)
        if not lives:
            await bot.look()
            buffer = bot.file().read_text("utf-8").replace(block(bot.file(), DOG), "")
        with monkeypatch.context() as patch:
            patch.setattr(owner, call, full)
            bot.file().write_text(buffer, "utf-8")
            await bot.look()
            assert not lives or bot.texts() == sorted(["奶奶喜欢吃核桃", DOG])
        bot.file().write_text(buffer.replace("花生", "核桃"), "utf-8")
        await bot.look()
        assert bot.texts() == sorted(["奶奶喜欢吃核桃", *lives])
    async with living(tmp_path) as bot:
        bot.check()
        assert bot.texts() == sorted(["奶奶喜欢吃核桃", *lives])


@pytest.mark.parametrize("killed", [True, False], ids=["killed", "refused"])
async def test_a_move_by_hand_is_noted_whatever_stops_the_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: bool
) -> None:
    """An entry of the target was deleted in the same save, which no archive takes."""
    record = SqliteLedger.record

    def then_killed(ledger: SqliteLedger, **rows: Any) -> None:
        record(ledger, **rows)
        if ("家人", ids[0]) in rows.get("gone", ()):
            raise RuntimeError("killed")

    async with living(tmp_path) as bot:
        ids = [await bot.says(PEANUTS), await bot.says(TEA, WORK), await bot.says(DOG, WORK)]
        await bot.look()
        piece, target = block(bot.file(), PEANUTS), bot.file(scope=WORK)
        edited(bot.file(), (piece, ""))
        edited(target, (block(target, TEA), piece))
        with monkeypatch.context() as patch, contextlib.suppress(RuntimeError):
            if killed:
                patch.setattr(SqliteLedger, "record", then_killed)
            else:
                patch.setattr(VaultArchive, "archive_deleted", full)
            await bot.look()
            assert (bot.texts(), bot.texts(WORK)) == ([], sorted([PEANUTS, DOG]))
    async with living(tmp_path) as bot:
        await bot.look()
        bot.check()
        assert {s.memory.memory_id for s in bot.catalogue.all()} == {ids[0], ids[2]}
        moved = bot.state.rows("SELECT scope, words FROM deed WHERE kind = 'moved'")
        assert [*map(tuple, moved)] == [("家人", PEANUTS)]


@pytest.mark.parametrize("writable", [True, False], ids=["", "ledger unwritable"])
async def test_a_start_tells_nothing_that_was_deleted_or_moved_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writable: bool
) -> None:
    shown = set[tuple[str, str]]()
    put = Catalogue.put

    def noted(catalogue: Catalogue, stored: StoredMemory) -> None:
        shown.add((stored.scope.name, stored.memory.judgment))
        put(catalogue, stored)

    def unwritable(*_: Any, **__: Any) -> None:
        raise StateUnavailable("disk full")

    async with living(tmp_path) as bot:
        await told(bot, PEANUTS, TEA)
        piece = block(bot.file(), PEANUTS)
        edited(bot.file(), (piece, ""), (block(bot.file(), TEA), ""))
        added(bot.file("新.md", WORK), piece)
    monkeypatch.setattr(Catalogue, "put", noted)
    if not writable:
        monkeypatch.setattr(SqliteLedger, "record", unwritable)
    async with living(tmp_path) as bot:
        assert shown == {("公司", PEANUTS)}
        assert bot.reconciler.holds_deletions is not writable, "no backup may be thrown away"
        monkeypatch.undo()
        await bot.look()
        assert not bot.reconciler.holds_deletions


@pytest.mark.parametrize(
    ("owner", "call", "first"),
    [
        (MarkdownVault, "finish_moves", False),
        (VaultTree, "stamps", True),
        (MarkdownVault, "look", False),
    ],
    ids=["before the look", "during the look", "after the look"],
)
async def test_a_tree_that_vanishes_at_the_start_has_no_deletions_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: type, call: str, first: bool
) -> None:
    async with running(tmp_path, follow=False) as rig:
        await rig.remember(PEANUTS, FAMILY)
        await rig.remember(TEA, group(888))
    tree, elsewhere = tmp_path / "memory/scopes", tmp_path / "elsewhere"
    whole = getattr(owner, call)

    def taken_out(*arguments: object) -> object:
        found = None if first else whole(*arguments)
        if tree.exists():
            tree.rename(elsewhere)
        return whole(*arguments) if first else found

    with monkeypatch.context() as patched:
        patched.setattr(owner, call, taken_out)
        async with running(tmp_path, follow=False) as rig:
            assert corrections(rig) == []
            patched.undo()
            elsewhere.rename(tree)
            await rig.engine.reconcile()
            assert corrections(rig) == []
            assert texts_of(rig) == {"家人": [PEANUTS], "公司": [TEA]}
            assert not list(tree.rglob("archive/*.md"))


def reasons(bot: Bot) -> dict[str, str]:
    found = (n for n in bot.notices.standing() if n.code == "vault_file_broken")
    return {n.params["path"]: n.params["reason"] for n in found}


def sparse(bot: Bot) -> None:
    """Longer, without taking any room."""
    for path, size in ((bot.file(), 300 * 1024 * 1024), (bot.file("日记.md"), MAX_FILE_BYTES + 1)):
        with path.open("ab") as file:
            file.truncate(size)


def in_another_encoding(bot: Bot) -> None:
    bot.file().write_bytes("汉字".encode("gb18030"))


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (in_another_encoding, {"preferences.md": "gb18030"}),
        (sparse, {"preferences.md": "oversized", "日记.md": "oversized"}),
    ],
)
async def test_a_file_that_cannot_be_read_is_told_and_what_was_known_of_it_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: Spoil, told: dict[str, str]
) -> None:
    read: list[str] = []
    read_bytes = Path.read_bytes

    def noted(path: Path) -> bytes:
        read.append(path.name)
        return read_bytes(path)

    async with living(tmp_path) as bot:
        memory_id = await bot.says(PEANUTS)
        await bot.look()
        before = bot.file().read_bytes()
        spoil(bot)
        with monkeypatch.context() as patch:
            patch.setattr(Path, "read_bytes", noted)
            await bot.look()
        assert reasons(bot) == told
        assert "oversized" not in told.values() or not told.keys() & set(read)
        assert bot.texts() == [PEANUTS]
    async with living(tmp_path) as bot:  # after a restart, too
        await bot.look()
        assert reasons(bot) == told
        assert bot.texts() == [PEANUTS]
        bot.file().write_bytes(before)
        bot.file("日记.md").unlink(missing_ok=True)
        await bot.look()
        assert reasons(bot) == {}
        assert bot.memory(memory_id).judgment == PEANUTS
        assert not bot.file("archive").exists()
        bot.check()


@pytest.mark.parametrize("text", ["".join(f"- 第{n}箱放着工具\n" for n in range(35)), "长" * 100])
async def test_a_file_that_its_ids_or_its_repair_would_take_beyond_the_limit_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """A repair: of a buffer from before what the bot wrote since."""
    async with living(tmp_path) as bot:
        await bot.says(PEANUTS)
        whole = bot.file().read_text("utf-8")
        await bot.look()
        await bot.says(DOG)
        bot.file().write_text(f"{whole}\n{text}\n", "utf-8")
        before = bot.file().read_bytes()
        monkeypatch.setattr(SCAN, len(before) + 40)
        await bot.look()
        assert bot.file().read_bytes() == before
        assert bot.texts() == sorted([PEANUTS, DOG])
        outgrown = reasons(bot) == {"preferences.md": "outgrown"}
        assert outgrown is text.startswith("-")
        assert outgrown or "vault_unwritable" in {n.code for n in bot.notices.standing()}
