"""A person has a file open, or has just saved it, while the bot writes to it: a table of what both
do in turn, and of what lives then. What the bot wrote is not undone by an editor that did not know
of it, and what a person means is."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.llm_memory.models.settings import Pace
from astrbot_plugin_scoped_memory.llm_memory.vault import vault_writer
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.topic_file import parse_file
from astrbot_plugin_scoped_memory.llm_memory.vault.rules import stale_saves
from astrbot_plugin_scoped_memory.tests.support.bots import (
    AT_ONCE,
    FAMILY,
    WORK,
    Bot,
    Watch,
    living,
)
from astrbot_plugin_scoped_memory.tests.vault.test_vault import NOW

pytestmark = pytest.mark.engine

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
        stored = self.bot.catalogue.get(Key(FAMILY.name, self.ids[word]))
        assert stored is not None
        there = self.bot.vault.move(stored, WORK)
        self.bot.living.drop(stored)
        self.bot.living.take(there)

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
        self.bot.file(name).parent.mkdir(exist_ok=True)
        self.bot.file().rename(self.bot.file(name))

    async def unlink(self, name: str = "preferences.md") -> None:
        self.bot.file(name).unlink()

    async def copy_to(self, name: str, *words: str) -> None:
        """Paste entries, or else the buffer, behind what stands in another file."""
        pieces = [block(self.bot.file(), SAID[word]) for word in words] or [self.buffer]
        added(self.bot.file(name), "\n" + "".join(pieces))

    async def note(self, *words: str) -> None:
        """Write entries of their own into a file."""
        added(
            self.bot.file("家里的.md"),
            "\n".join(f"## {word} ^m-{n}own" for n, word in enumerate(words)),
        )

    async def change_in(self, name: str, *pairs: str) -> None:
        edited(self.bot.file(name), *((old, new) for old, new in (p.split(">") for p in pairs)))

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
        self.bot.folder().mkdir(parents=True, exist_ok=True)
        self.saves(self.bot.file(), text)


SLOW = replace(AT_ONCE, quiet_seconds=3600.0)


def tales() -> dict[str, list[str]]:
    """By name the lines below it."""
    text = (Path(__file__).parents[1] / "data" / "editors.txt").read_text("utf-8")
    lines = [line for line in text.split("\n") if line and not line.startswith("//")]
    told = "\n".join(lines).removeprefix("== ").split("\n== ")
    return {name: lines for name, *lines in (tale.split("\n") for tale in told)}


TALES = tales()


@pytest.mark.parametrize(
    ("saves", "pace"),
    [(in_place, None), (by_rename, AT_ONCE), (in_place, SLOW)],
    ids=["goes on", "is restarted", "is restarted, and waits for an hour without saves"],
)
@pytest.mark.parametrize("name", TALES)
async def test_what_lives(
    tmp_path: Path, name: str, saves: Callable[[Path, str], None], pace: Pace | None
) -> None:
    story, lives, *more = TALES[name]
    wanted = dict(line.split(": ", 1) for line in more)
    pairs = {key: [one.split("=") for one in value.split()] for key, value in wanted.items()}
    async with living(tmp_path) as bot:
        desk = Desk(bot, saves)
        await desk.act(story)
        watch = Watch()
        if pace is not None:
            bot.stop()
            bot = Bot(tmp_path, pace=pace, elapsed=watch)
            await bot.start()
        for _ in range(3):  # what was cut is one version more
            watch.seconds += SLOW.quiet_seconds
            await bot.look()
        for _ in range(2):
            bot.check()
            assert bot.texts() == sorted(SAID.get(word, word) for word in lives.strip("-").split())
            assert bot.texts(WORK) == sorted(SAID[word] for word in wanted.get("work", "").split())
            for word, new in pairs.get("now", ()):
                assert bot.memory(desk.ids[word]).judgment == SAID[new]
            for word, asks in pairs.get("asks", ()):
                left = asks.replace("_", " ").split(" / ") if asks else []
                assert bot.memory(desk.ids[word]).asks == tuple(left)
            if "strength" in wanted:
                assert bot.memory(desk.ids["花生"]).strength == int(wanted["strength"])
            await bot.look()
        aside = [(SAID[word], int(strength)) for word, strength in pairs.get("aside", ())]
        assert in_file(bot.file("preferences.conflict.md")) == aside
        if "archived" in wanted:
            archived = in_file(bot.file("archive/preferences.md"))
            assert len(archived) == int(wanted["archived"])
        bot.stop()


def in_file(path: Path) -> list[tuple[str, int]]:
    """Words and strength of what stands in a file."""
    text = path.read_text("utf-8") if path.exists() else ""
    entries = parse_file(text, fallback_time=NOW).entries
    return [(entry.memory.judgment, entry.memory.strength) for entry in entries]


async def test_a_day_later_no_editor_holds_an_old_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with living(tmp_path) as bot:
        await Desk(bot).act("say 花生 狗 / cut 狗 花生>核桃")
        monkeypatch.setattr(stale_saves, "BUFFER_SECONDS", -1.0)
        await bot.look()
        bot.check()
        assert bot.texts() == [SAID["核桃"]]


async def test_a_file_that_is_being_written_is_not_written_to_and_forgotten_once_it_is_gone(
    tmp_path: Path,
) -> None:
    async with living(tmp_path, pace=SLOW, elapsed=Watch()) as bot:
        await bot.says(PEANUTS)
        added(bot.file(), "\n## 没有编号\n")
        written = bot.file().read_text("utf-8")
        for _ in range(2):
            await bot.look()
            assert bot.file().read_text("utf-8") == written
        assert bot.reconciler.next_due is not None
    async with living(tmp_path) as bot:
        bot.file().unlink()
        await Desk(bot).act("say 狗 / look")
        bot.check()
        assert bot.texts() == [DOG]


@pytest.mark.parametrize("call", ["append_durably", "replace_durably"])
async def test_a_save_between_the_bots_reading_and_its_writing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """By what it appends, makes stronger and forgets."""
    async with living(tmp_path, pace=Pace(quiet_seconds=0.0)) as bot:
        desk = Desk(bot)
        await desk.act("say 花生 绿茶 / look")
        real, edits = getattr(vault_writer, call), iter([("绿茶", "红茶"), ("红茶", "花茶")])

        def late(*args: Any) -> None:
            if pair := next(edits, None):
                edited(bot.file(), pair)
                desk.buffer = bot.file().read_text("utf-8")
            real(*args)

        with monkeypatch.context() as patch:
            patch.setattr(vault_writer, call, late)
            if call == "append_durably":
                await desk.act("say 狗")
            else:
                await desk.act("say 花生 / forget 花生")
        if call == "append_durably":
            await desk.act("look / save 红茶>花茶")
        else:
            assert len(in_file(bot.file("archive/preferences.md"))) == 1
        await bot.look()
        bot.check()
        assert bot.texts() == sorted([SAID["花茶"], *([PEANUTS, DOG] if "app" in call else [])])
