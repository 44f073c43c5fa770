"""A person has a file open, or has just saved it, while the bot writes to it: a table of what both
do in turn, and of what lives then. What the bot wrote is not undone by an editor that did not know
of it, and what a person means is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.settings import Pace
from astrbot_plugin_scoped_memory.llm_memory.vault import vault_writer
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.topic_file import parse_file
from astrbot_plugin_scoped_memory.llm_memory.vault.rules import stale_saves
from astrbot_plugin_scoped_memory.tests.support.bots import AT_ONCE, Bot, Watch, living
from astrbot_plugin_scoped_memory.tests.sync.desk import (
    DOG,
    PEANUTS,
    SAID,
    Desk,
    added,
    by_rename,
    edited,
    in_place,
)
from astrbot_plugin_scoped_memory.tests.vault.test_vault import NOW

pytestmark = pytest.mark.engine

SLOW = replace(AT_ONCE, quiet_seconds=3600.0)


def tales() -> dict[str, list[str]]:
    """By name the lines below it."""
    text = (Path(__file__).parents[1] / "data" / "editors.txt").read_text("utf-8")
    lines = [line for line in text.split("\n") if line and not line.startswith("//")]
    found: dict[str, list[str]] = {}
    for line in lines:
        if line.startswith("== "):
            found[line.removeprefix("== ")] = []
        else:
            found[[*found][-1]].append(line)
    return found


TALES = tales()


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


@pytest.mark.parametrize(
    ("saves", "then"),
    [
        (in_place, goes_on),
        (by_rename, goes_on),
        (in_place, is_restarted),
        (by_rename, is_restarted_with_patience),
    ],
)
@pytest.mark.parametrize("name", TALES)
async def test_what_lives(
    tmp_path: Path, name: str, saves: Callable[[Path, str], None], then: Callable[[Bot], Any]
) -> None:
    story, lives, *more = TALES[name]
    wanted = dict(line.split(": ", 1) for line in more)
    pairs = {key: [one.split("=") for one in value.split()] for key, value in wanted.items()}
    async with living(tmp_path) as bot:
        desk = Desk(bot, saves)
        await desk.act(story)
        bot = await then(bot)
        for _ in range(2):
            bot.check()
            texts = [] if lives == "-" else [SAID.get(word, word) for word in lives.split()]
            assert bot.texts() == sorted(texts)
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


async def test_a_file_that_is_gone_before_the_bot_begins_it_anew_is_forgotten(
    tmp_path: Path,
) -> None:
    async with living(tmp_path, pace=SLOW, elapsed=Watch()) as bot:
        await bot.says(PEANUTS)
        added(bot.file(), "\n## 没有编号\n")
        await bot.look()
    async with living(tmp_path) as bot:
        bot.file().unlink()
        await Desk(bot).act("say 狗 / look")
        bot.check()
        assert bot.texts() == [SAID["狗"]]


async def test_the_bot_does_not_write_into_a_file_that_is_being_written(tmp_path: Path) -> None:
    async with living(tmp_path, pace=SLOW) as bot:
        await bot.says(PEANUTS)
        added(bot.file(), "\n## 备用钥匙\n")
        written = bot.file().read_text("utf-8")
        await bot.look()
        await bot.look()
        assert bot.file().read_text("utf-8") == written
        assert bot.reconciler.next_due is not None
    async with living(tmp_path) as bot:
        await bot.look()
        assert bot.texts() == sorted([PEANUTS, "备用钥匙"])


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
