"""The vault on Windows and macOS: line ends, junctions, folded case, files held by others.

None of these systems is at hand here: what they do is put in by hand.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.errors import VaultWriteFailed
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Topic
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope
from astrbot_plugin_scoped_memory.llm_memory.storage import retry
from astrbot_plugin_scoped_memory.llm_memory.vault import vault_tree
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.entry import render
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.topic_file import parse_file
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown_vault import MarkdownVault
from astrbot_plugin_scoped_memory.tests.vault.test_vault import (
    FAMILY,
    NOW,
    WORK,
    Tree,
    memory,
)

pytestmark = pytest.mark.engine

BOM = "\ufeff"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """An empty vault."""
    return Tree(tmp_path / "memory")


def windows_text(*numbers: int) -> str:
    """What Notepad saves."""
    entries = "\n".join(render(memory(number, reasoning="一\n二")) for number in numbers)
    return (BOM + "我的笔记\n\n" + entries).replace("\n", "\r\n")


class TestLineEnds:
    """A file that was saved on Windows stays one: every change of ours has its line ends."""

    def test_an_appended_entry_has_the_line_ends_of_the_file(self, tree: Tree) -> None:
        path = tree.write("entities.md", windows_text(1))
        tree.add(memory(2, reasoning="一\n二"))
        assert path.read_bytes().decode() == windows_text(1, 2)
        assert tree.texts() == ["第1件事", "第2件事"]

    @pytest.mark.parametrize("last", ["\r", "", "\r\n"])
    def test_a_last_line_without_its_end_is_read_and_appended_to(
        self, tree: Tree, last: str
    ) -> None:
        tree.write("entities.md", "笔记\r\n## 第1件事 ^m-00000000000001" + last)
        assert tree.texts() == ["第1件事"]
        tree.add(memory(2))
        assert tree.texts() == ["第1件事", "第2件事"]

    @given(
        st.lists(st.sampled_from(["\n", "\r\n"]), min_size=11, max_size=11),
        st.sampled_from(["", BOM]),
        st.sampled_from(["", "\n", "\r\n"]),
    )
    def test_of_a_file_with_both_kinds_every_line_keeps_its_own(
        self, ends: list[str], bom: str, last: str
    ) -> None:
        text = "一\n\n三\n" + render(memory(1, reasoning="理由")) + "## 我的\n话\n\n末"
        pieces = [line + end for line, end in zip(text.split("\n"), [*ends, last], strict=True)]
        before, between, after = ("".join(part) for part in (pieces[:3], pieces[3:-4], pieces[-4:]))
        file = parse_file(bom + before + between + after, fallback_time=NOW)
        (entry,) = file.entries
        assert file.without(entry) == bom + before + after
        ours = (render(memory(1, "改了")) + "\n").replace("\n", ends[0])
        assert file.with_replaced(entry, memory(1, "改了")) == bom + before + ours + after


def junctions(monkeypatch: pytest.MonkeyPatch, *paths: Path) -> None:
    """Have these taken for Windows' links between folders, which are no symbolic links."""
    monkeypatch.setattr(os.path, "isjunction", lambda path: Path(path) in paths)


class TestJunctions:
    """They lead as far away as a link does."""

    def test_a_scope_folder_that_is_one_is_no_scope(
        self, tree: Tree, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tree.add(memory(1))
        tree.add(memory(2), WORK)
        junctions(monkeypatch, tree.folder())
        assert tree.vault.scopes() == (WORK,)
        assert [report.scope for report in tree.vault.illegal_folders()] == ["家人"]
        assert tree.texts() == []
        with pytest.raises(VaultWriteFailed, match="link"):
            tree.add(memory(3))

    def test_a_folder_in_a_scope_that_is_one_is_not_entered(
        self, tree: Tree, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tree.add(memory(1))
        tree.write("旅行/日本.md", render(memory(2)))
        assert tree.texts() == ["第1件事", "第2件事"]
        junctions(monkeypatch, tree.folder() / "旅行")
        assert tree.texts() == ["第1件事"]


class TestFoldedCase:
    """On macOS and Windows ``Home`` answers to ``home``."""

    HOME = Scope.parse("home")

    @pytest.fixture(autouse=True)
    def folding(self, tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
        """A disk on which the folder ``Home`` is there under each spelling of its name."""
        tree.folder(Scope.parse("Home")).mkdir()
        real = vault_tree.make_folder

        def make(folder: Path) -> None:
            if folder.name.lower() != "home":
                real(folder)

        monkeypatch.setattr(vault_tree, "make_folder", make)

    def test_a_scope_does_not_write_into_the_folder_of_another(self, tree: Tree) -> None:
        with pytest.raises(VaultWriteFailed, match="case only"):
            tree.vault.append(self.HOME, Topic.ENTITIES, memory(1))
        with pytest.raises(VaultWriteFailed, match="case only"):
            tree.vault.ensure(self.HOME)
        assert list(tree.folder(Scope.parse("Home")).iterdir()) == []

    def test_the_folders_own_scope_and_others_write(self, tree: Tree) -> None:
        tree.add(memory(1), Scope.parse("Home"))
        tree.add(memory(2))
        assert tree.texts(Scope.parse("Home")) == ["第1件事"]
        assert tree.texts() == ["第2件事"]


def test_no_patience_is_spent_on_files_while_the_bot_starts(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "IS_WINDOWS", True)
    tree.add(memory(1))
    tries = 0

    def held(_: Path) -> bytes:
        nonlocal tries
        tries += 1
        raise PermissionError(errno.EACCES, "used by another process")

    monkeypatch.setattr(Path, "read_bytes", held)
    (report,) = MarkdownVault(tree.root).read(FAMILY).broken
    assert (report.path, report.reason, tries) == ("entities.md", "unreadable", 1)
