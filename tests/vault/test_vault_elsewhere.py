"""The vault on Windows and macOS: line ends, junctions, folded case, files held by others.

None of these systems is at hand here: what they do is put in by hand.
"""

from __future__ import annotations

import errno
import os
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.errors import VaultWriteFailed
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Topic
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope
from astrbot_plugin_scoped_memory.llm_memory.models.vault_layout import folded
from astrbot_plugin_scoped_memory.llm_memory.storage import files
from astrbot_plugin_scoped_memory.llm_memory.vault import vault_tree
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.entry import render
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.topic_file import parse_file
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown_vault import MarkdownVault
from astrbot_plugin_scoped_memory.tests.support.bots import Bot, living
from astrbot_plugin_scoped_memory.tests.sync.test_editors import PEANUTS, TEA, edited
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
        assert [report.scope for report in tree.vault.look().broken] == ["家人"]
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
    monkeypatch.setattr(files, "IS_WINDOWS", True)
    tree.add(memory(1))
    tries = 0

    def held(_: Path) -> bytes:
        nonlocal tries
        tries += 1
        raise PermissionError(errno.EACCES, "used by another process")

    monkeypatch.setattr(Path, "read_bytes", held)
    (report,) = MarkdownVault(tree.root).read(FAMILY).broken
    assert (report.path, report.reason, tries) == ("entities.md", "unreadable", 1)


# A disk where a file answers to its former name, too


CAFE = unicodedata.normalize("NFC", "Café.md")
NAMES = [
    ("preferences.md", "Preferences.md"),
    ("preferences.md", "PREFERENCES.MD"),
    (CAFE, unicodedata.normalize("NFD", CAFE)),
    (unicodedata.normalize("NFD", CAFE), CAFE),
    (f"旅行/{CAFE}", f"旅行/{unicodedata.normalize('NFD', CAFE).upper()}"),
]


def answering(path: Path) -> Path:
    """The file that answers to a name."""
    found = Path(path.anchor)
    for name in path.parts[1:]:
        try:
            names = os.listdir(found)  # noqa: PTH208  (what is put in stands in Path itself)
        except OSError:
            names = []
        if name not in names:
            name = next((n for n in names if folded(n) == folded(name)), name)
        found = found / name
    return found


@pytest.fixture
def any_spelling(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk on which each file answers to every spelling of its name."""
    for name in ("stat", "open", "unlink", "mkdir"):
        real = getattr(Path, name)

        def step(path: Path, *args: Any, real: Any = real, **kwargs: Any) -> Any:
            return real(answering(path), *args, **kwargs)

        monkeypatch.setattr(Path, name, step)
    replace = Path.replace
    monkeypatch.setattr(
        Path, "replace", lambda path, target: replace(answering(path), answering(Path(target)))
    )


def renamed(bot: Bot, old: str, new: str) -> None:
    """By a person, or a program that keeps folders the same."""
    os.rename(bot.file(old), bot.file(new))  # noqa: PTH104


def ids(bot: Bot) -> dict[str, str]:
    """Words by id."""
    return {s.memory.memory_id: s.memory.judgment for s in bot.catalogue.all()}


async def begun(bot: Bot, name: str) -> dict[str, str]:
    """Two entries in a file of this name."""
    await bot.says(PEANUTS)
    await bot.says(TEA)
    if name != "preferences.md":
        bot.file(name).parent.mkdir(exist_ok=True)
        renamed(bot, "preferences.md", name)
    await bot.look()
    return ids(bot)


@pytest.mark.usefixtures("any_spelling")
@pytest.mark.parametrize("restart", [False, True], ids=["running", "while off"])
@pytest.mark.parametrize(("old", "new"), NAMES)
async def test_a_file_that_is_spelled_otherwise_keeps_its_ids(
    tmp_path: Path, old: str, new: str, restart: bool
) -> None:
    async with living(tmp_path) as bot:
        before = await begun(bot, old)
        if restart:
            bot.stop()
        renamed(bot, old, new)
        if restart:
            bot = Bot(tmp_path)
            await bot.start()
        await bot.look()
        bot.check()
        assert ids(bot) == before
        assert {stored.path for stored in bot.catalogue.all()} == {new}
        assert not bot.file("archive").exists()
        told = bot.index.told
        await bot.look()
        assert bot.index.told == told
        bot.stop()


@pytest.mark.usefixtures("any_spelling")
async def test_what_the_bot_writes_to_it_meanwhile_and_afterwards_keeps_its_id(
    tmp_path: Path,
) -> None:
    async with living(tmp_path) as bot:
        before = await begun(bot, "preferences.md")
        renamed(bot, "preferences.md", "Preferences.md")
        first = await bot.says("小明喜欢狗")
        await bot.look()
        second = await bot.says("小红喜欢猫")
        await bot.says(PEANUTS)
        await bot.look()
        bot.check()
        assert ids(bot) == {**before, first: "小明喜欢狗", second: "小红喜欢猫"}
        assert [path.name for path in bot.folder().iterdir()] == ["Preferences.md"]
        await bot.forgets(first)
        assert await bot.restores(first) is not None
        await bot.look()
        bot.check()
        assert len(bot.texts()) == 4


@pytest.mark.usefixtures("any_spelling")
async def test_a_scope_folder_that_is_spelled_otherwise_is_another_scope(tmp_path: Path) -> None:
    home, other = Scope.parse("Home"), Scope.parse("home")
    async with living(tmp_path) as bot:
        memory_id = await bot.says(PEANUTS, home)
        await bot.look()
        os.rename(bot.folder(home), bot.folder(other))  # noqa: PTH104
        await bot.look()
        bot.check()
        assert (bot.texts(home), bot.texts(other)) == ([], [PEANUTS])
        assert bot.memory(memory_id, other).judgment == PEANUTS


@pytest.mark.usefixtures("any_spelling")
async def test_a_file_that_comes_back_under_its_name_is_the_same(tmp_path: Path) -> None:
    async with living(tmp_path) as bot:
        before = await begun(bot, "preferences.md")
        renamed(bot, "preferences.md", "Preferences.md")
        edited(bot.file("Preferences.md"), ("花生", "核桃"))
        renamed(bot, "Preferences.md", "preferences.md")
        await bot.look()
        bot.check()
        assert ids(bot).keys() == before.keys()
        assert bot.texts(FAMILY) == sorted([TEA, "奶奶对核桃过敏"])
