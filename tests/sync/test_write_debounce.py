"""A file that may still be written to is not rewritten, and no entry of it is taken for deleted."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.tests.support.bots import AT_ONCE, WORK, Watch, living
from astrbot_plugin_scoped_memory.tests.sync.desk import (
    DOG,
    MEETING,
    PEANUTS,
    TEA,
    added,
    block,
    edited,
    told,
)

pytestmark = pytest.mark.engine

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


async def test_what_is_written_slowly_in_place_of_an_old_buffer_arrives_whole(
    tmp_path: Path,
) -> None:
    watch = Watch()
    async with living(tmp_path, pace=QUIET, elapsed=watch) as bot:
        await told(bot, PEANUTS, TEA)
        buffer = bot.file().read_text("utf-8").replace("花生", "核桃")
        await told(bot, DOG)
        content = f"{buffer}\n## 末尾的事 ^m-last01\n> 2026-01-01T00:00+08:00\n".encode()
        for tenths in (0, 3, 6, 9, 10):
            bot.file().write_bytes(content[: len(content) * tenths // 10])
            for _ in range(3):
                watch.seconds += 1.6
                await bot.look()
        watch.seconds += 5.0
        await bot.look()
        bot.check()
        assert bot.texts() == sorted(["奶奶对核桃过敏", TEA, DOG, "末尾的事"])
        assert not bot.file("archive").exists()


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
