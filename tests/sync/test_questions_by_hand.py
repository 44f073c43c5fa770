"""A person edits an entry that has questions: its words, its questions, or neither."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.key import Key
from astrbot_plugin_scoped_memory.tests.support.bots import FAMILY, Bot, living
from astrbot_plugin_scoped_memory.tests.sync.test_reconcile import PEANUTS, edited
from astrbot_plugin_scoped_memory.tests.sync.test_reconcile_editors import DOG, both, continued

pytestmark = pytest.mark.engine

ASKS = ("聚餐点菜要避开什么", "谁吃不了坚果")
LINE = "聚餐点菜要避开什么 / 谁吃不了坚果"


async def asked(bot: Bot, words: str = PEANUTS, asks: tuple[str, ...] = ASKS) -> str:
    """The id of a new entry that the bot gave questions."""
    return await ask(bot, await bot.says(words), asks)


async def ask(bot: Bot, memory_id: str, asks: tuple[str, ...] = ASKS) -> str:
    """Give an entry questions."""
    stored = bot.catalogue.get(Key(FAMILY.name, memory_id))
    assert stored is not None
    async with bot.living.writing:
        changed = replace(stored.memory, asks=asks)
        bot.living.take(await asyncio.to_thread(bot.vault.replace, stored, changed))
    await bot.look()
    return memory_id


@both
async def test_other_words_have_no_questions(tmp_path: Path, restart: bool) -> None:
    async with living(tmp_path) as bot:
        first = await asked(bot)
        other = await asked(bot, DOG, ("谁家养了狗",))
        edited(bot.file(), ("花生", "核桃"))
        bot = await continued(bot, restart=restart)
        assert (bot.memory(first).judgment, bot.memory(first).asks) == ("奶奶对核桃过敏", ())
        assert bot.memory(other).asks == ("谁家养了狗",)
        text = bot.file().read_text("utf-8")
        assert LINE not in text
        assert "谁家养了狗" in text


@both
async def test_they_stay_away_where_the_editor_saves_what_it_holds(
    tmp_path: Path, restart: bool
) -> None:
    async with living(tmp_path) as bot:
        first, other = await asked(bot), await bot.says(DOG)
        await bot.look()
        edited(bot.file(), ("花生", "核桃"))
        buffer = bot.file().read_text("utf-8")
        await bot.look()
        bot.file().write_text(buffer.replace("喜欢狗", "喜欢大狗"), "utf-8")
        bot = await continued(bot, restart=restart)
        assert bot.memory(first).asks == ()
        assert bot.memory(other).judgment == "小明喜欢大狗"


@both
async def test_what_changes_no_word_keeps_them(tmp_path: Path, restart: bool) -> None:
    async with living(tmp_path) as bot:
        first = await asked(bot)
        edited(bot.file(), (PEANUTS, f"{PEANUTS}。"), ("强度 50", "强度 80"))
        bot = await continued(bot, restart=restart)
        assert (bot.memory(first).strength, bot.memory(first).asks) == (80, ASKS)


@both
@pytest.mark.parametrize(
    ("new", "asks"),
    [("谁不能吃花生酱", ("谁不能吃花生酱",)), ("问一 / 问二 / 问三", ("问一", "问二", "问三"))],
)
async def test_questions_by_hand_are_followed(
    tmp_path: Path, restart: bool, new: str, asks: tuple[str, ...]
) -> None:
    async with living(tmp_path) as bot:
        first = await asked(bot)
        edited(bot.file(), ("花生", "核桃"), (LINE, new))
        bot = await continued(bot, restart=restart)
        assert bot.memory(first).judgment == "奶奶对核桃过敏"
        assert bot.memory(first).asks == asks
        assert new in bot.file().read_text("utf-8")


@both
async def test_questions_that_a_person_deletes_are_gone(tmp_path: Path, restart: bool) -> None:
    async with living(tmp_path) as bot:
        first = await asked(bot)
        lines = bot.file().read_text("utf-8").splitlines(keepends=True)
        bot.file().write_text("".join(one for one in lines if "问法：" not in one), "utf-8")
        bot = await continued(bot, restart=restart)
        assert (bot.memory(first).judgment, bot.memory(first).asks) == (PEANUTS, ())
        assert not bot.file("archive").exists()


@both
async def test_questions_that_an_old_buffer_lacks_come_back(tmp_path: Path, restart: bool) -> None:
    async with living(tmp_path) as bot:
        first, other = await bot.says(PEANUTS), await bot.says(DOG)
        await bot.look()
        buffer = bot.file().read_text("utf-8")
        await ask(bot, first)
        bot.file().write_text(buffer.replace("喜欢狗", "喜欢大狗"), "utf-8")
        bot = await continued(bot, restart=restart)
        assert bot.memory(first).asks == ASKS
        assert bot.memory(other).judgment == "小明喜欢大狗"


@both
async def test_words_that_an_old_buffer_changes_win_over_questions(
    tmp_path: Path, restart: bool
) -> None:
    async with living(tmp_path) as bot:
        first = await bot.says(PEANUTS)
        await bot.look()
        buffer = bot.file().read_text("utf-8")
        await ask(bot, first)
        bot.file().write_text(buffer.replace("花生", "核桃"), "utf-8")
        bot = await continued(bot, restart=restart)
        assert (bot.memory(first).judgment, bot.memory(first).asks) == ("奶奶对核桃过敏", ())
        assert sorted(path.name for path in bot.folder().iterdir()) == ["preferences.md"]
