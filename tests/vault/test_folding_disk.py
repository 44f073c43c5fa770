"""Files that are renamed on a disk where a file answers to its former name, too, as on macOS and
Windows.

None of them is at hand here: what they do is put in by hand.
"""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.vault_layout import folded
from astrbot_plugin_scoped_memory.tests.support.bots import FAMILY, Bot, living
from astrbot_plugin_scoped_memory.tests.sync.test_reconcile import PEANUTS, TEA, edited

pytestmark = pytest.mark.engine

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


@pytest.fixture(autouse=True)
def folding(monkeypatch: pytest.MonkeyPatch) -> None:
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


async def test_a_scope_folder_that_is_spelled_otherwise_is_another_scope(tmp_path: Path) -> None:
    from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope

    home, other = Scope.parse("Home"), Scope.parse("home")
    async with living(tmp_path) as bot:
        memory_id = await bot.says(PEANUTS, home)
        await bot.look()
        os.rename(bot.folder(home), bot.folder(other))  # noqa: PTH104
        await bot.look()
        bot.check()
        assert (bot.texts(home), bot.texts(other)) == ([], [PEANUTS])
        assert bot.memory(memory_id, other).judgment == PEANUTS


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
