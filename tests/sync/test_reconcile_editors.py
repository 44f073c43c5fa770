"""A person has a file open while the bot writes to it: both survive."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.vault import vault_writer
from astrbot_plugin_scoped_memory.tests.support.bots import WORK, Bot, living
from astrbot_plugin_scoped_memory.tests.sync.test_reconcile import PEANUTS, edited

pytestmark = pytest.mark.engine

DOG = "小明喜欢狗"

both = pytest.mark.parametrize("restart", [False, True], ids=["running", "restarted"])


async def continued(bot: Bot, *, restart: bool) -> Bot:
    """The bot after a look, or after a restart."""
    if restart:
        bot.stop()
        bot = Bot(bot.root)
        await bot.start()
    await bot.look()
    return bot


def between(monkeypatch: pytest.MonkeyPatch, save: Callable[[], None], *, times: int = 1) -> None:
    """Have an editor save at the worst moment: the bot has read the file, and is about to write."""
    real = vault_writer.replace_durably
    left = times

    def late(*args: Any) -> None:
        nonlocal left
        if left:
            left -= 1
            save()
        real(*args)

    monkeypatch.setattr(vault_writer, "replace_durably", late)


class TestTheSameMoment:
    """The editor saves between the bot's reading and its writing."""

    async def test_an_edit_is_not_written_over_by_a_reinforcement(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with living(tmp_path) as bot:
            await bot.says(PEANUTS)
            await bot.says(DOG)
            between(monkeypatch, lambda: edited(bot.file(), ("狗", "狼狗")))
            await bot.says(PEANUTS)
            await bot.look()
            bot.check()
            assert bot.texts() == sorted([PEANUTS, "小明喜欢狼狗"])
            assert {s.memory.strength for s in bot.catalogue.all()} == {50, 55}

    async def test_an_edit_is_not_written_over_by_forgetting(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with living(tmp_path) as bot:
            memory_id = await bot.says(PEANUTS)
            await bot.says(DOG)
            edits = iter([("狗", "狼狗"), ("狼狗", "狗狗")])
            between(monkeypatch, lambda: edited(bot.file(), next(edits)), times=2)
            await bot.forgets(memory_id)
            await bot.look()
            bot.check()
            assert bot.texts() == ["小明喜欢狗狗"]
            archived = bot.file("archive/preferences.md").read_text("utf-8")
            assert archived.count("## ") == 1


class TestMostOfAScope:
    """Gone at once: held until a person confirms the deletion."""

    async def many(self, bot: Bot, count: int = 8) -> None:
        """As many entries in files of their own, and one of another scope."""
        bot.folder().mkdir(parents=True, exist_ok=True)
        for number in range(count):
            path = bot.folder() / f"{number}.md"
            path.write_text(
                f"## 第{number}件事 ^m-many{number}\n> 2026-01-01T00:00+08:00\n", "utf-8"
            )
        await bot.says("公司喜欢开晨会", WORK)
        await bot.look()
        assert len(bot.texts()) == count

    def take(self, bot: Bot, numbers: range) -> dict[Path, bytes]:
        """The files, and what was in them."""
        paths = [bot.folder() / f"{number}.md" for number in numbers]
        kept = {path: path.read_bytes() for path in paths}
        for path in paths:
            path.unlink()
        return kept

    @pytest.mark.parametrize(("had", "lost"), [(8, 4), (4, 4), (20, 10)])
    async def test_half_or_a_few_are_forgotten(self, tmp_path: Path, had: int, lost: int) -> None:
        async with living(tmp_path) as bot:
            await self.many(bot, had)
            self.take(bot, range(lost))
            await bot.look()
            bot.check()
            assert bot.held() == {}
            assert len(bot.texts()) == had - lost

    async def test_what_returns_is_held_no_more(self, tmp_path: Path) -> None:
        async with living(tmp_path) as bot:
            await self.many(bot)
            kept = self.take(bot, range(8))
            for count, (path, content) in enumerate(kept.items()):
                bot = await continued(bot, restart=count == 4)
                assert bot.held() == {"家人": str(8 - count)}
                path.write_bytes(content)
            await bot.look()
            assert bot.held() == {}
            bot.check()
            assert len(bot.texts()) == 8
            bot.stop()

    @both
    async def test_more_than_half_is_recalled_on_until_a_person_says_that_it_was_meant(
        self, tmp_path: Path, restart: bool
    ) -> None:
        async with living(tmp_path) as bot:
            await self.many(bot)
            self.take(bot, range(5))
            bot = await continued(bot, restart=restart)
            assert bot.held() == {"家人": "5"}
            assert len(bot.texts()) == 8
            assert not bot.file("archive").exists()
            assert await bot.reconciler.confirm() == 5
            assert bot.held() == {}
            assert bot.texts() == ["第5件事", "第6件事", "第7件事"]
            assert await bot.restores("m-many3") is not None
            bot.check()
            bot.stop()

    async def test_what_is_pasted_into_another_scope_lives_there_and_no_more_here(
        self, tmp_path: Path
    ) -> None:
        async with living(tmp_path) as bot:
            for number in range(6):
                await bot.says(f"小明喜欢第{number}只狗")
            await bot.look()
            cut = bot.file().read_text("utf-8")
            bot.file().write_text("", "utf-8")
            await bot.look()
            assert len(bot.texts()) == 6
            bot.file(scope=WORK).parent.mkdir(exist_ok=True)
            bot.file(scope=WORK).write_text(cut, "utf-8")
            await bot.look()
            assert bot.texts() == []
            assert len(bot.texts(WORK)) == 6
            assert bot.held() == {}

    async def test_while_it_is_held_the_bot_remembers_on(self, tmp_path: Path) -> None:
        async with living(tmp_path) as bot:
            await self.many(bot)
            self.take(bot, range(8))
            await bot.look()
            await bot.says(PEANUTS)
            await bot.look()
            assert bot.held() == {"家人": "8"}
            assert len(bot.texts()) == 9
            edited(bot.file(), ("花生", "核桃"))
            await bot.look()
            assert "奶奶对核桃过敏" in bot.texts()
            (bot.folder() / "TASKS.md").write_text("- 买牛奶\n", "utf-8")
            await bot.look()
            assert "买牛奶" in bot.texts()
            assert bot.held() == {"家人": "8"}
