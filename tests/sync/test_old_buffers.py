"""A person has a file open, or has just saved it, while the bot writes to it: a table of what both
do in turn, and of what lives then. What the bot wrote is not undone by an editor that did not know
of it, and what a person means is."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.llm_memory.vault import vault_writer
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.topic_file import parse_file
from astrbot_plugin_scoped_memory.llm_memory.vault.rules import stale_saves
from astrbot_plugin_scoped_memory.tests.support.bots import AT_ONCE, FAMILY, Bot, Watch, living
from astrbot_plugin_scoped_memory.tests.sync.test_reconcile import block, edited
from astrbot_plugin_scoped_memory.tests.vault.test_vault import NOW

pytestmark = pytest.mark.engine

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
SLOW = replace(AT_ONCE, quiet_seconds=3600.0)
ASKS = ("聚餐点菜要避开什么", "谁吃不了坚果")
LINE = "聚餐点菜要避开什么_/_谁吃不了坚果"


class Desk:
    """A bot, and an editor that holds ``buffer``. Each step of a story is a method: its words are
    entries, and pairs ``old>new`` of what is replaced; ``_`` stands for a blank in a word."""

    def __init__(self, bot: Bot) -> None:
        self.bot = bot
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
        self.bot.file().write_text("".join(one for one in lines if word not in one), "utf-8")

    async def empty(self, content: str = "") -> None:
        self.bot.file().write_text(content.replace("|", "\n"), "utf-8")

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
        self.bot.file().write_text(text, "utf-8")


@dataclass(frozen=True)
class Told:
    """A story, and how it ends.

    Attributes:
        lives: What all entries say, by the word in each.
        now: What the entry that was first told so says now.
        strength: Of the first entry.
        asks: The questions of entries.
        archived: How many entries lie in the archive.
        conflict: What is kept aside of the bot's, and its strength.
    """

    story: str
    lives: str
    now: dict[str, str] = field(default_factory=dict)
    strength: int = 0
    asks: dict[str, tuple[str, ...]] = field(default_factory=dict)
    archived: int | None = None
    conflict: tuple[tuple[str, int], ...] = ()


THREE = "say 花生 绿茶 狗 / look / open / edit 花生 核桃"
"""One of three is edited by command."""
SAVED = "say 花生 绿茶 / look / change 绿茶>红茶 / open / say 狗"
"""The bot appends between a save and the look."""
TALES = {
    # What an editor saves descends from a version that lacks what the bot wrote since.
    "appended since": Told(
        "say 花生 / look / open / say 狗 猫 / save 花生>核桃",
        "核桃 狗 猫",
        {"狗": "狗", "猫": "猫"},
        archived=0,
    ),
    "appended between save and look": Told(
        "say 花生 / look / change 花生>核桃 / open / say 狗 / look / save 核桃>腰果", "腰果 狗"
    ),
    "appended since each of two saves": Told(
        "say 花生 / look / open / say 狗 / save 花生>核桃 / look / say 猫 / save 花生>腰果",
        "腰果 狗 猫",
    ),
    "saved as it was": Told("say 花生 / open / say 狗 / save", "花生 狗"),
    "saved as it was, again": Told("say 花生 / open / say 狗 / save / look / save", "花生"),
    "forgotten since, with an old archive": Told(
        "say 花生 狗 / look / open / forget 花生 / lose_archive / save 狗>狼 / look / restore 花生",
        "花生 狼",
    ),
    "made stronger since": Told(
        "say 花生 / look / open / say 花生 / save", "花生", strength=55, archived=0
    ),
    # A deletion is meant, and not undone by us.
    "deleted, older than what the save holds": Told(
        "say 花生 绿茶 狗 / cut 绿茶 狗>狼", "花生 狼", archived=1
    ),
    "deleted, saved once with the file": Told(
        "say 花生 狗 / change 花生>核桃 / look / cut 狗 核桃>腰果", "腰果", archived=1
    ),
    "emptied": Told("say 花生 狗 / empty", "", archived=2),
    "emptied to blank lines": Told("say 花生 狗 / empty ||", "", archived=2),
    "emptied, and appended to": Told(
        "say 花生 / change 花生>核桃 / look / say 绿茶 / look / empty / say 狗", "狗"
    ),
    # The same entry, changed by both at once: the person's version counts.
    "made stronger and changed by hand": Told(
        "say 花生 / look / open / say 花生 / save 花生>核桃",
        "核桃",
        {"花生": "核桃"},
        strength=50,
        conflict=(("花生", 55),),
    ),
    "changed by hand after it was made stronger": Told(
        "say 花生 / say 花生 / change 花生>核桃", "核桃"
    ),
    # An edit by command, taken back by hand, is; undone by an old buffer it is not.
    "taken back": Told(
        f"{THREE} / look / change 核桃>花生", "花生 绿茶 狗", {"花生": "花生"}, archived=2
    ),
    "taken back after an entry": Told(
        f"{THREE} / say 猫 / look / change 核桃>花生", "花生 绿茶 狗 猫", {"花生": "花生"}
    ),
    "taken back after another edit": Told(
        f"{THREE} / edit 狗 狼 / look / change 核桃>花生", "花生 绿茶 狼", {"花生": "花生"}
    ),
    "taken back with something else": Told(
        f"{THREE} / say 猫 / look / change 核桃>花生 绿茶>红茶",
        "花生 红茶 狗 猫",
        {"花生": "花生"},
    ),
    "an old buffer, changed": Told(f"{THREE} / save 绿茶>红茶", "核桃 红茶 狗", {"花生": "核桃"}),
    "an old buffer without what came later": Told(
        f"{THREE} / say 猫 / save", "核桃 绿茶 狗 猫", {"花生": "核桃"}
    ),
    "an old buffer before two edits": Told(
        f"{THREE} / edit 狗 狼 / save", "核桃 绿茶 狼", {"花生": "核桃"}
    ),
    "behind an old buffer": Told(
        "say 花生 绿茶 / look / open / edit 花生 核桃 / say 狗 / save / say 猫", "核桃 绿茶 狗 猫"
    ),
    "behind an old buffer, changed": Told(
        "say 花生 绿茶 / look / open / edit 花生 核桃 / say 狗 / save 绿茶>红茶 / say 猫",
        "核桃 红茶 狗 猫",
    ),
    # A forgotten id stays with what may come back.
    "other words under a forgotten id": Told(
        "say 花生 狗 / look / open / forget 花生 / save 花生>核桃 / look / look / restore 花生",
        "花生 核桃 狗",
        {"花生": "花生"},
    ),
    "other words beside the forgotten ones": Told(
        "say 花生 狗 / look / open / copy 花生 核桃 / forget 花生 / save / look / look"
        " / restore 花生",
        "花生 核桃 狗",
        {"花生": "花生"},
    ),
    "a copy below what is cut": Told(
        "say 花生 绿茶 狗 / look / open / copy 绿茶 红茶 狗 / forget 花生 / save",
        "绿茶 红茶 狗",
        {"绿茶": "绿茶"},
        archived=1,
    ),
    # What the bot writes between a save and the look, an editor does not know either.
    "then made stronger": Told(f"{SAVED} / say 花生 / look / save 红茶>花茶", "花生 花茶 狗"),
    "then forgotten": Told(f"{SAVED} / forget 花生 / look / save 红茶>花茶", "花茶 狗"),
    "then appended and forgotten": Told(
        f"{SAVED} / say 猫 / forget 猫 / look / save 红茶>花茶", "花生 花茶 狗"
    ),
    "appended to a version that is gone again": Told(
        "say 花生 绿茶 / change 绿茶>红茶 / look / open / empty / say 狗 / save",
        "花生 红茶 狗",
        strength=50,
    ),
    "made stronger in a version that is gone again": Told(
        "say 花生 绿茶 / change 绿茶>红茶 / look / open / change 红茶>花茶 / say 花生 / save",
        "花生 红茶",
        strength=55,
    ),
    # Questions of an entry go with its words.
    "other words have no questions": Told(
        "say 花生 狗 / ask 花生 / ask 狗 谁家养了狗 / change 花生>核桃",
        "核桃 狗",
        asks={"花生": (), "狗": ("谁家养了狗",)},
    ),
    "nor where the editor saves what it holds": Told(
        "say 花生 狗 / ask 花生 / change 花生>核桃 / open / look / save 狗>大狗",
        "核桃 大狗",
        asks={"花生": ()},
    ),
    "what changes no word keeps them": Told(
        "say 花生 / ask 花生 / change 过敏>过敏。 强度_50>强度_80",
        "奶奶对花生过敏。",
        strength=80,
        asks={"花生": ASKS},
    ),
    "questions by hand": Told(
        f"say 花生 / ask 花生 / change 花生>核桃 {LINE}>问一_/_问二_/_问三",
        "核桃",
        asks={"花生": ("问一", "问二", "问三")},
    ),
    "questions that a person deletes": Told(
        "say 花生 / ask 花生 / cut_lines 问法：", "花生", asks={"花生": ()}, archived=0
    ),
    "questions that an old buffer lacks": Told(
        "say 花生 狗 / look / open / ask 花生 / save 狗>大狗", "花生 大狗", asks={"花生": ASKS}
    ),
    "words that an old buffer changes win over questions": Told(
        "say 花生 / look / open / ask 花生 / save 花生>核桃", "核桃", asks={"花生": ()}
    ),
}


async def goes_on(bot: Bot) -> Bot:
    for _ in range(2):  # what was cut is one version more
        await bot.look()
    return bot


async def is_restarted(bot: Bot) -> Bot:
    bot.stop()
    bot = Bot(bot.root)
    await bot.start()
    await bot.look()
    return bot


async def is_restarted_with_patience(bot: Bot) -> Bot:
    """It waits for an hour without saves before it writes."""
    bot.stop()
    watch = Watch()
    bot = Bot(bot.root, pace=SLOW, elapsed=watch)
    await bot.start()
    for _ in range(3):
        watch.seconds += SLOW.quiet_seconds
        await bot.look()
    return bot


@pytest.mark.parametrize("then", [goes_on, is_restarted, is_restarted_with_patience])
@pytest.mark.parametrize("name", TALES)
async def test_what_lives(tmp_path: Path, name: str, then: Callable[[Bot], Any]) -> None:
    told = TALES[name]
    async with living(tmp_path) as bot:
        desk = Desk(bot)
        await desk.act(told.story)
        bot = await then(bot)
        for _ in range(2):
            bot.check()
            assert bot.texts() == sorted(SAID.get(word, word) for word in told.lives.split())
            for word, new in told.now.items():
                assert bot.memory(desk.ids[word]).judgment == SAID[new]
            for word, asks in told.asks.items():
                assert bot.memory(desk.ids[word]).asks == asks
            if told.strength:
                assert bot.memory(desk.ids["花生"]).strength == told.strength
            await bot.look()
        aside = in_file(bot.file("preferences.conflict.md"))
        assert aside == [(SAID[word], strength) for word, strength in told.conflict]
        if told.archived is not None:
            assert len(in_file(bot.file("archive/preferences.md"))) == told.archived
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


async def test_a_file_that_is_gone_before_the_bot_begins_it_anew_is_forgotten(
    tmp_path: Path,
) -> None:
    async with living(tmp_path, pace=SLOW, elapsed=Watch()) as bot:
        await bot.says(SAID["花生"])
        bot.file().write_text(bot.file().read_text("utf-8") + "\n## 没有编号\n", "utf-8")
        await bot.look()
    async with living(tmp_path) as bot:
        bot.file().unlink()
        await Desk(bot).act("say 狗 / look")
        bot.check()
        assert bot.texts() == [SAID["狗"]]


async def test_a_save_that_came_while_the_bot_was_appending_is_one_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with living(tmp_path) as bot:
        desk = Desk(bot)
        await desk.act("say 花生 绿茶 / look")
        append = vault_writer.append_durably

        def late(*args: Any) -> None:
            edited(bot.file(), ("绿茶", "红茶"))
            desk.buffer = bot.file().read_text("utf-8")
            append(*args)

        with monkeypatch.context() as patch:
            patch.setattr(vault_writer, "append_durably", late)
            await desk.act("say 狗")
        await desk.act("look / save 红茶>花茶 / look")
        bot.check()
        assert bot.texts() == sorted([SAID["花生"], SAID["花茶"], SAID["狗"]])
