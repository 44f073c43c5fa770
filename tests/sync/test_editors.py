"""A person has a file open, or has just saved it, while the bot writes to it: a table of what both
do in turn, and of what lives then. What the bot wrote is not undone by an editor that did not know
of it, and what a person means is."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.settings import Pace
from astrbot_plugin_scoped_memory.llm_memory.vault import vault_writer
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.topic_file import parse_file
from astrbot_plugin_scoped_memory.llm_memory.vault.rules import stale_saves
from astrbot_plugin_scoped_memory.tests.support.bots import AT_ONCE, WORK, Bot, Watch, living
from astrbot_plugin_scoped_memory.tests.sync.desk import (
    DOG,
    MEETING,
    PEANUTS,
    SAID,
    TEA,
    Desk,
    added,
    block,
    by_rename,
    edited,
    in_place,
    told,
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


# A file that may still be written to is not rewritten, and no entry of it is taken for deleted


QUIET = replace(AT_ONCE, quiet_seconds=5.0)


WAITS: dict[str, list[tuple[float, str, int]]] = {
    "cut short for a moment": [(0, "half", 3), (4.9, "", 3), (0, "whole", 3), (10, "", 3)],
    "emptied for a moment": [(0, "empty", 3), (4.9, "", 3), (0, "whole", 3), (10, "", 3)],
    "away for a moment": [(0, "away", 3), (3, "whole", 3), (0, "away", 3), (3, "", 3), (2, "", 0)],
    "an entry that stays away": [(0, "cut", 3), (4, "", 3), (1, "", 2)],
    "each save begins the wait anew": [
        (0, "cut", 3), (3, "change", 3), (3, "change", 3), (3, "change", 3), (5, "", 2)
    ],
}  # fmt: skip
"""What is done to a file of three entries: after so many seconds, what, and how many live then."""


@pytest.mark.parametrize("name", WAITS)
async def test_what_is_missing_is_forgotten_after_five_seconds_without_a_save(
    tmp_path: Path, name: str
) -> None:
    watch = Watch()
    async with living(tmp_path, pace=QUIET, elapsed=watch) as bot:
        ids = await told(bot, PEANUTS, TEA, DOG)
        whole = bot.file().read_bytes()
        deeds: dict[str, Callable[[], object]] = {
            "": lambda: None,
            "half": lambda: bot.file().write_bytes(whole[: len(whole) // 2]),
            "empty": lambda: bot.file().write_bytes(b""),
            "whole": lambda: bot.file().write_bytes(whole),
            "away": lambda: bot.file().unlink(),
            "cut": lambda: edited(bot.file(), (block(bot.file(), PEANUTS), "")),
            "change": lambda: edited(bot.file(), ("绿茶", "绿绿茶")),
        }
        for seconds, deed, lives in WAITS[name]:
            watch.seconds += seconds
            deeds[deed]()
            await bot.look()
            assert len(bot.texts()) == lives
            assert bot.file("archive").exists() is (lives < 3)
        bot.check()
        assert {s.memory.memory_id for s in bot.catalogue.all()} <= set(ids)
        assert bot.reconciler.next_due is None


async def test_files_that_share_entries_wait_for_one_another(tmp_path: Path) -> None:
    """Over any number of others: what left one of them is not taken for new in the next."""
    watch = Watch()
    async with living(tmp_path, pace=QUIET, elapsed=watch) as bot:
        ids = await told(bot, PEANUTS, TEA)
        await bot.says(MEETING, WORK)
        await bot.look()
        moved, gone = block(bot.file(), PEANUTS), block(bot.file(), TEA)
        edited(bot.file(), (moved, ""), (gone, ""))
        target = bot.file("preferences.md", WORK)
        onwards = block(target, MEETING)
        target.write_text(moved, "utf-8")
        added(bot.file("entities.md"), onwards)
        await bot.look()
        assert bot.texts() == sorted([PEANUTS, TEA])
        assert bot.texts(WORK) == [MEETING]
        watch.seconds += 5.0
        await bot.look()
        bot.check()
        assert bot.texts() == [MEETING]
        assert bot.memory(ids[0], WORK).judgment == PEANUTS
        assert PEANUTS not in bot.file("archive/preferences.md").read_text("utf-8")


@pytest.mark.parametrize("age", [1.0, 60.0, -60.0])
async def test_at_the_start_the_files_own_time_tells(tmp_path: Path, age: float) -> None:
    async with living(tmp_path) as bot:
        await told(bot, PEANUTS, TEA)
    edited(bot.file(), (block(bot.file(), PEANUTS), ""))
    moment = time.time() - age
    os.utime(bot.file(), (moment, moment))
    watch = Watch()
    async with living(tmp_path, pace=QUIET, elapsed=watch) as bot:
        assert bot.texts() == (sorted([PEANUTS, TEA]) if age == 1.0 else [TEA])
        await bot.look()
        watch.seconds += 5.0
        await bot.look()
        bot.check()
        assert bot.texts() == [TEA]


async def test_a_file_that_the_bot_writes_to_meanwhile_is_left_to_the_next_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what shares an entry with it: a moved entry is not forgotten."""
    async with living(tmp_path) as bot:
        ids = await told(bot, PEANUTS, TEA)
        await bot.says(MEETING, WORK)
        await bot.look()
        piece = block(bot.file(), PEANUTS)
        edited(bot.file(), (piece, ""))
        added(bot.file(scope=WORK), f"\n{piece}")
        see = bot.vault.see

        def late(*arguments: object) -> object:
            found = see(*arguments)  # type: ignore[arg-type]
            added(bot.file(scope=WORK), "\n")
            return found

        with monkeypatch.context() as patch:
            patch.setattr(bot.vault, "see", late)
            await bot.look()
        assert bot.reconciler.next_due == 0.0
        assert bot.texts() == sorted([PEANUTS, TEA])
        await bot.look()
        assert bot.reconciler.next_due is None
        bot.check()
        assert bot.memory(ids[0], WORK).judgment == PEANUTS
        assert not bot.file("archive").exists()
