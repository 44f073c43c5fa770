"""Ids are never given twice, and one that two entries have is told."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory, Topic
from astrbot_plugin_scoped_memory.llm_memory.models.notices import Notice, NoticeCode
from astrbot_plugin_scoped_memory.llm_memory.runtime import identifiers
from astrbot_plugin_scoped_memory.tests.support.bots import FAMILY, WORK, Bot, living

pytestmark = pytest.mark.engine

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
_ID = re.compile(r"\^(m-[0-9a-z]+)")


@pytest.fixture
def same_random(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random bits that are always the same."""
    monkeypatch.setattr(identifiers.secrets, "randbits", lambda _: 0)


def ids_in(*files: Path) -> list[str]:
    return [name for path in files for name in _ID.findall(path.read_text("utf-8"))]


def told(bot: Bot) -> list[Notice]:
    return [n for n in bot.notices.standing() if n.code is NoticeCode.VAULT_SAME_ID]


def write(path: Path, text: str) -> None:
    """A file of always the same time, which is the time of the ids in it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    os.utime(path, (MOMENT.timestamp(), MOMENT.timestamp()))


@pytest.mark.usefixtures("same_random")
async def test_random_bits_that_repeat_give_every_entry_an_id_of_its_own(tmp_path: Path) -> None:
    async with living(tmp_path) as bot:
        words = [f"第{n}号箱子里放着工具" for n in range(30)]
        for name, scope in (("entities.md", FAMILY), ("decisions.md", FAMILY), ("tasks.md", WORK)):
            write(bot.file(name, scope), "".join(f"- {name} {line}\n" for line in words))
        await bot.look()
        bot.check()
        found = ids_in(*bot.root.rglob("*.md"))
        assert len(set(found)) == len(found) == 90
        assert len(list(bot.catalogue.all())) == 90


@pytest.mark.usefixtures("same_random")
async def test_an_id_that_lies_in_the_archive_is_not_given_again(tmp_path: Path) -> None:
    async with living(tmp_path) as bot:
        write(bot.file("entities.md"), "- 备用钥匙在门卫那里\n")
        await bot.look()
        (forgotten,) = ids_in(bot.file("entities.md"))
        await bot.forgets(forgotten)
        write(bot.file("entities.md"), "- 备用雨伞在门卫那里\n")
        await bot.look()
        (fresh,) = ids_in(bot.file("entities.md"))
        assert fresh != forgotten
        assert await bot.restores(forgotten) is not None
        assert bot.texts() == ["备用钥匙在门卫那里", "备用雨伞在门卫那里"]


@pytest.mark.usefixtures("same_random")
async def test_what_is_remembered_at_one_moment_gets_ids_of_its_own(tmp_path: Path) -> None:
    async with living(tmp_path, now=MOMENT.timestamp) as bot:
        for number, scope in zip(range(4), (FAMILY, WORK, FAMILY, WORK), strict=True):
            memory = Memory("", f"第{number}号箱子", MOMENT)
            stored = bot.vault.append(scope, Topic.ENTITIES, memory)
            bot.living.take(stored)
        assert len({s.memory.memory_id for s in bot.catalogue.all()}) == 4
        bot.check()


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
