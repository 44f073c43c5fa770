"""A bot beside an editor that holds an older version of its file: the steps of a story."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.tests.support.bots import FAMILY, WORK, Bot

PEANUTS, TEA, DOG, MEETING = "奶奶对花生过敏", "爷爷喜欢喝绿茶", "小明喜欢狗", "公司喜欢开晨会"
SAID = {
    word: sentence.format(word)
    for sentence, words in (
        ("奶奶对{}过敏", ("花生", "核桃", "腰果")),
        ("爷爷喜欢喝{}", ("绿茶", "红茶", "花茶")),
        ("小明喜欢{}", ("狗", "狼", "大狗")),
        ("小红喜欢{}", ("猫",)),
    )
    for word in words
}
"""An entry by the word in it."""
ASKS = ("聚餐点菜要避开什么", "谁吃不了坚果")


def edited(path: Path, *pairs: tuple[str, str]) -> None:
    """Save a file with words replaced."""
    text = path.read_text("utf-8")
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, "utf-8")


def added(path: Path, text: str) -> None:
    """Save a file with this behind what stands there."""
    before = path.read_text("utf-8") if path.exists() else ""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(before + text, "utf-8")


def block(path: Path, words: str) -> str:
    """The lines of an entry that say this, to the next entry."""
    pieces = path.read_text("utf-8").split("## ")
    return next("## " + piece for piece in pieces if words in piece)


async def told(bot: Bot, *texts: str) -> list[str]:
    """Entries of one file that are known: their ids."""
    ids = [await bot.says(text) for text in texts]
    await bot.look()
    return ids


async def moved(bot: Bot, memory_id: str) -> None:
    """To the company, by command."""
    stored = bot.catalogue.get(Key(FAMILY.name, memory_id))
    assert stored is not None
    there = bot.vault.move(stored, WORK)
    bot.living.drop(stored)
    bot.living.take(there)


def in_place(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")


def by_rename(path: Path, text: str) -> None:
    path.with_name("4913").write_text(text, "utf-8")
    os.replace(path.with_name("4913"), path)  # noqa: PTH105


class Desk:
    """A bot, and an editor that holds ``buffer`` and ``saves`` a file. Each step of a story is a
    method: its words are entries, and pairs ``old>new`` of what is replaced; ``_`` stands for a
    blank in a word."""

    def __init__(self, bot: Bot, saves: Callable[[Path, str], None] = in_place) -> None:
        self.bot = bot
        self.saves = saves
        self.buffer = ""
        self.ids: dict[str, str] = {}

    async def act(self, story: str) -> None:
        for step in story.split(" / "):
            name, *words = step.split()
            await getattr(self, name)(*(word.replace("_", " ") for word in words))

    async def look(self) -> None:
        await self.bot.look()

    # The bot, when it is told something, and by command

    async def say(self, *words: str) -> None:
        for word in words:
            self.ids[word] = await self.bot.says(SAID[word])

    async def edit(self, word: str, new: str) -> None:
        await self.bot.edits(self.ids[word], SAID[new])

    async def forget(self, *words: str) -> None:
        for word in words:
            await self.bot.forgets(self.ids[word])

    async def move(self, word: str) -> None:
        await moved(self.bot, self.ids[word])

    async def restore(self, word: str) -> None:
        assert await self.bot.restores(self.ids[word]) is not None

    async def ask(self, word: str, *asks: str) -> None:
        """Give an entry questions."""
        stored = self.bot.catalogue.get(Key(FAMILY.name, self.ids[word]))
        assert stored is not None
        async with self.bot.living.writing:
            changed = replace(stored.memory, asks=asks or ASKS)
            self.bot.living.take(await asyncio.to_thread(self.bot.vault.replace, stored, changed))
        await self.bot.look()

    # A person: in the file as it is, or in the editor

    async def change(self, *pairs: str) -> None:
        self._save(self.bot.file().read_text("utf-8"), pairs)

    async def cut(self, word: str, *pairs: str) -> None:
        text = self.bot.file().read_text("utf-8")
        self._save(text.replace(block(self.bot.file(), SAID[word]), ""), pairs)

    async def cut_lines(self, word: str) -> None:
        lines = self.bot.file().read_text("utf-8").splitlines(keepends=True)
        self._save("".join(one for one in lines if word not in one), ())

    async def empty(self, content: str = "") -> None:
        self._save(content.replace("|", "\n"), ())

    async def rename(self, name: str) -> None:
        self.bot.file().rename(self.bot.file(name))

    async def unlink(self) -> None:
        self.bot.file().unlink()

    async def unlink_at_work(self) -> None:
        self.bot.file(scope=WORK).unlink()

    async def copy_to(self, name: str, word: str) -> None:
        added(self.bot.file(name), f"\n{block(self.bot.file(), SAID[word])}")

    async def cut_to_work(self, word: str) -> None:
        await self.copy_to("../公司/preferences.md", word)
        await self.cut(word)

    async def file_to_work(self, name: str) -> None:
        self.bot.folder(WORK).mkdir()
        self.bot.file().rename(self.bot.file(name, WORK))

    async def lose_archive(self) -> None:
        shutil.rmtree(self.bot.file("archive"))

    async def open(self) -> None:
        self.buffer = self.bot.file().read_text("utf-8")

    async def copy(self, word: str, new: str, before: str = "") -> None:
        """An entry once more in the buffer, with another word."""
        (piece,) = [one for one in self.buffer.split("## ") if SAID[word] in one]
        lines = f"## {piece.replace(word, new)}\n"
        at = self.buffer.index(f"## {SAID[before]}") if before else len(self.buffer)
        self.buffer = f"{self.buffer[:at]}\n{lines}{self.buffer[at:]}"

    async def save(self, *pairs: str) -> None:
        self._save(self.buffer, pairs)

    def _save(self, text: str, pairs: tuple[str, ...]) -> None:
        for pair in pairs:
            old, new = pair.split(">")
            assert old in text
            text = text.replace(old, new)
        self.saves(self.bot.file(), text)
