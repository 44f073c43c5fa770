"""Each entry has an id of its own, and one that two entries have is told."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.status import Notice
from astrbot_plugin_scoped_memory.llm_memory.runtime import identifiers
from astrbot_plugin_scoped_memory.tests.support.bots import Bot, living

pytestmark = pytest.mark.engine

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
_ID = re.compile(r"\^(m-[0-9a-z]+)")


def ids_in(*files: Path) -> list[str]:
    return [name for path in files for name in _ID.findall(path.read_text("utf-8"))]


def told(bot: Bot) -> list[Notice]:
    return [n for n in bot.notices.standing() if n.code == "vault_same_id"]


def write(path: Path, text: str) -> None:
    """A file of always the same time, which is the time of the ids in it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    os.utime(path, (MOMENT.timestamp(), MOMENT.timestamp()))


async def test_entries_of_one_save_get_ids_of_their_own_even_if_the_random_bits_repeat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identifiers.secrets, "randbits", lambda _: 0)
    async with living(tmp_path) as bot:
        write(bot.file("entities.md"), "".join(f"- 第{n}号箱子里放着工具\n" for n in range(30)))
        await bot.look()
        bot.check()
        assert len(set(ids_in(bot.file("entities.md")))) == len(list(bot.catalogue.all())) == 30


@pytest.mark.parametrize("elsewhere", [False, True], ids=["in the file", "in another file"])
async def test_two_entries_with_one_id_are_told_and_both_kept(
    tmp_path: Path, elsewhere: bool
) -> None:
    async with living(tmp_path) as bot:
        memory_id = await bot.says("奶奶对花生过敏")
        await bot.look()
        first = bot.file("entities.md") if elsewhere else bot.file()
        first.touch()
        text = first.read_text("utf-8") + f"\n## 爷爷喜欢喝绿茶 ^{memory_id}\n"
        first.write_text(text, "utf-8")
        await bot.look()
        (notice,) = told(bot)
        assert notice.params == {
            "scope": "家人", "path": first.name, "count": "1", "ids": memory_id
        }  # fmt: skip
        assert bot.texts() == ["奶奶对花生过敏", "爷爷喜欢喝绿茶"]
        assert bot.memory(memory_id).judgment == "奶奶对花生过敏"
        bot.check()
        first.write_text(first.read_text("utf-8") + "\n", "utf-8")
        await bot.look()
        assert told(bot) == []


async def test_an_entry_that_is_copied_word_by_word_is_not_told(tmp_path: Path) -> None:
    async with living(tmp_path) as bot:
        await bot.says("奶奶对花生过敏")
        await bot.look()
        entry = bot.file().read_text("utf-8")
        bot.file("entities.md").write_text(entry, "utf-8")
        await bot.look()
        assert told(bot) == []
        assert bot.texts() == ["奶奶对花生过敏", "奶奶对花生过敏"]
