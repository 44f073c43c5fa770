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

from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory
from astrbot_plugin_scoped_memory.llm_memory.models.key import Key
from astrbot_plugin_scoped_memory.llm_memory.vault import repair as vault_repair
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.entry import render
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.topic_file import (
    TopicFile,
    digest,
    parse_file,
)
from astrbot_plugin_scoped_memory.llm_memory.vault.models import KnownEntry, Repair, SeenFile
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


ENTRIES = st.lists(
    st.tuples(
        st.sampled_from(["## {} ^m-{}\n\n{}\n", "- {} ^m-{}\n  {}\n", "{} ^m-{}\n\n{}\n\n"]),
        st.sampled_from(["奶奶过敏", "钥匙在门卫那里", "周六去爬山"]),
        st.sampled_from(["", "理由", "- 一步", "> 强度 7"]),
        st.sampled_from(["keep", "cut", "restore"]),
    ),
    min_size=1,
    max_size=6,
)


def plainly(file: TopicFile, repair: Repair) -> str:
    """One change at a time, each followed by another look at the whole file."""
    for memory_id, words in repair.cut:
        entries = [e for e in file.entries if e.memory.memory_id == memory_id]
        for entry in (e for e in entries if file.digest(e) == words):
            file = parsed(file.without(entry))
    for known in repair.restored:
        if (entry := file.find(known.memory_id)) is not None:
            file = parsed(file.with_replaced(entry, known.memory))
    return file.with_lines({})


@pytest.mark.property
@given(ENTRIES)
def test_a_repair_at_once_writes_what_one_step_after_the_other_would(
    made: list[tuple[str, str, str, str]],
) -> None:
    text = "".join(
        form.format(words, f"{number:04}", more)
        for number, (form, words, more, _) in enumerate(made)
    )
    file = parsed(text)
    fates = {f"m-{number:04}": fate for number, (*_, fate) in enumerate(made)}
    found = [(e.memory, file.digest(e), fates[e.memory.memory_id]) for e in file.entries]
    repair = Repair(
        cut=tuple((memory.memory_id, words) for memory, words, fate in found if fate == "cut"),
        restored=tuple(
            KnownEntry("家人", "x.md", Memory(memory.memory_id, "原来的话", NOW, "原来的理由"), "")
            for memory, _, fate in found
            if fate == "restore"
        ),
    )
    snapshot = mock.Mock(modified=NOW, parsed=lambda: file)
    rooms = mock.Mock()
    repairing = vault_repair.VaultRepair(rooms, rooms, rooms, rooms)
    seen = SeenFile(FAMILY, "x.md", digest(text), (), "", ())
    assert repairing.repaired(seen, snapshot, repair, name=False) == plainly(file, repair)


async def test_a_repair_parses_a_file_as_often_for_many_entries_as_for_two(tmp_path: Path) -> None:
    """An old editor buffer brings back what was forgotten by command meanwhile."""
    parses = []
    for count in (2, 12):
        async with living(tmp_path / str(count)) as bot:
            ids = [await bot.says(f"奶奶爱喝第{number}种茶") for number in range(count + 3)]
            old = bot.file().read_bytes()
            for memory_id in ids[:count]:
                await bot.forgets(memory_id)
            await bot.look()
            bot.file().write_bytes(old)
            with mock.patch.object(vault_repair, "parse_file", side_effect=parse_file) as parse:
                await bot.look()
            parses.append(parse.call_count)
            assert len(bot.texts()) == 3
            bot.check()
    assert 0 < parses[1] <= parses[0]


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


async def test_a_move_reads_no_file_of_the_target_that_is_known(tmp_path: Path) -> None:
    async with living(tmp_path) as bot:
        bot.vault.ensure(WORK)
        for number in range(20):
            one = Memory(f"m-work{number:06}", f"第{number}份合同", NOW)
            bot.file(f"entities-{number}.md", WORK).write_text(render(one), "utf-8")
        await bot.look()
        memory_id = await bot.says("奶奶对花生过敏")
        await bot.look()
        assert await moved(bot, memory_id) == []
        await bot.look()
        bot.check()
        assert "奶奶对花生过敏" in bot.texts(WORK)


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
