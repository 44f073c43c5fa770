"""A disk that is full, or gone, while people's edits are taken in: nothing is recorded before it is
done, and nothing that cannot be seen counts as deleted."""

from __future__ import annotations

from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import VaultWriteFailed
from astrbot_plugin_scoped_memory.llm_memory.vault import vault_writer
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown_vault import MarkdownVault
from astrbot_plugin_scoped_memory.llm_memory.vault.vault_tree import VaultTree
from astrbot_plugin_scoped_memory.tests.support.bots import living
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, running
from astrbot_plugin_scoped_memory.tests.support.reflecting import texts_of

pytestmark = pytest.mark.engine

FAMILY = group(777)
PEANUTS, TEA = "奶奶喜欢吃花生", "小明喜欢喝茶"


def corrections(rig: Rig) -> list[str]:
    return [one.words for one in rig.engine.parts.corrected.of_scope("家人")]


async def test_a_deletion_that_no_archive_takes_is_recorded_once_it_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path, follow=False) as rig:
        stored = (await rig.remember(PEANUTS, FAMILY)).memory
        await rig.remember(TEA, FAMILY)
        path = tmp_path / "memory/scopes/家人" / stored.path
        whole = path.read_text("utf-8")
        kept = next(f"## {one}" for one in whole.split("## ") if TEA in one)
        path.write_text(kept, "utf-8")

        def full(target: Path, _: bytes) -> None:
            raise VaultWriteFailed(f"{target.name}: no space left")

        with monkeypatch.context() as patched:
            patched.setattr(vault_writer, "append_durably", full)
            for _ in range(3):
                await rig.engine.reconcile()
                assert corrections(rig) == []
        for _ in range(2):
            await rig.engine.reconcile()
            assert corrections(rig) == [PEANUTS]
        assert texts_of(rig) == {"家人": [TEA]}


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


async def test_a_folder_that_is_called_as_a_file_is_no_broken_file(tmp_path: Path) -> None:
    async with living(tmp_path) as bot:
        await bot.says(PEANUTS)
        inside = bot.file("旧笔记.md") / "里面.md"
        inside.parent.mkdir()
        inside.write_text(f"## {TEA} ^m-0001\n", "utf-8")
        bot.file("archive/x.md").mkdir(parents=True)
        await bot.look()
        assert sorted(bot.texts()) == sorted([PEANUTS, TEA])
        codes = {notice.code for notice in bot.notices.standing()}
        assert "vault_file_broken" not in codes


async def test_a_file_that_a_repair_would_take_beyond_the_limit_is_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with living(tmp_path) as bot:
        await bot.says(PEANUTS)
        whole = bot.file().read_text("utf-8")
        await bot.look()
        await bot.says("爷爷喜欢听戏")
        # An editor saves the buffer from before, with a long line.
        monkeypatch.setattr(
            "astrbot_plugin_scoped_memory.llm_memory.vault.scan.MAX_FILE_BYTES", 600
        )
        saved = whole + "\n" + "长" * 100 + "\n"
        bot.file().write_text(saved, "utf-8")
        await bot.look()
        assert bot.file().read_text("utf-8") == saved
        assert sorted(bot.texts()) == sorted([PEANUTS, "爷爷喜欢听戏"])
        codes = {notice.code for notice in bot.notices.standing()}
        assert codes & {"vault_unwritable", "vault_file_broken"}
