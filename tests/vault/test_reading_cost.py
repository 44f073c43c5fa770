"""What a file costs to read and to repair grows with its size, and no faster."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.key import Key
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.topic_file import (
    TopicFile,
    parse_file,
)
from astrbot_plugin_scoped_memory.llm_memory.vault.vault_tree import VaultTree
from astrbot_plugin_scoped_memory.tests.support.bots import FAMILY, WORK, Bot, living
from astrbot_plugin_scoped_memory.tests.support.stalls import LoopSteps

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 22, 8, tzinfo=UTC)
MARK = "^m-aaaaaaaaaa"


def parsed(text: str) -> TopicFile:
    return parse_file(text, fallback_time=NOW)


def steps(text: str) -> int:
    """The calls that parsing takes."""
    with LoopSteps() as counted:
        parsed(text)
    return counted.most


@pytest.mark.parametrize("line", ["  - 一步", "  理由", "  > 强度 7", "", "- 别的"])
@pytest.mark.parametrize("head", [f"- 奶奶过敏 {MARK}", f"## 奶奶过敏 {MARK}", f"奶奶过敏 {MARK}"])
def test_twice_as_many_lines_take_twice_the_steps(head: str, line: str) -> None:
    few, many = (steps("\n".join([head, "", *[line] * count])) for count in (500, 1000))
    assert many <= 2.2 * few


@pytest.mark.parametrize(
    "text",
    [
        f"x{' ' * 1_000_000}y ^m-",
        f"{' ' * 1_000_000}y {MARK}",
        f"## 奶奶过敏 {MARK}" + "\n" * 1_000_000,
        f"- 奶奶过敏 {MARK}\n" + "\n" * 1_000_000 + "  理由",
    ],
    ids=["blanks in a line", "blanks before", "blank lines", "blank lines in an item"],
)
def test_a_million_blanks_are_read_to_their_end(text: str) -> None:
    """Where each blank was compared with all behind it, this took days."""
    assert "".join(parsed(text).with_lines({})) == text


@pytest.mark.property
@given(st.text(alphabet=" \t^m-abcd1-x*#>", max_size=24))
def test_the_mark_of_an_entry_is_what_it_always_was(line: str) -> None:
    plain = re.compile(r"[ \t]+\^(m-[0-9a-z]{4,32})[ \t]*$").search(line)
    entries = [entry.memory.memory_id for entry in parsed(line).entries]
    assert entries == ([plain[1]] if plain and entries else [])
    for entry in parsed(line).entries:
        assert plain is not None
        changed = parsed(line).with_other_ids({entry: "m-other"})
        assert changed == f"{line[: plain.start()]} ^m-other"


async def moved(bot: Bot, memory_id: str) -> list[str]:
    """The files of the target that a move reads."""
    stored = bot.catalogue.get(Key(FAMILY.name, memory_id))
    assert stored is not None
    read: list[str] = []
    reads = VaultTree.read

    def noted(self: VaultTree, path: Path, **options: object) -> object:
        read.extend([path.name] * (WORK.name in path.parts))
        return reads(self, path, **options)  # type: ignore[arg-type]

    with mock.patch.object(VaultTree, "read", noted):
        there = await asyncio.to_thread(bot.vault.move, stored, WORK)
    bot.living.drop(stored)
    bot.living.take(there)
    return read


async def test_a_move_finds_what_a_person_has_just_pasted_into_the_target(tmp_path: Path) -> None:
    async with living(tmp_path) as bot:
        bot.vault.ensure(WORK)
        memory_id = await bot.says("奶奶对花生过敏")
        await bot.look()
        pasted = bot.file("粘贴.md", WORK)
        pasted.write_bytes(bot.file().read_bytes())
        assert await moved(bot, memory_id) == ["粘贴.md"]
        await bot.look()
        assert (bot.texts(), bot.texts(WORK)) == ([], ["奶奶对花生过敏"])
        bot.check()
