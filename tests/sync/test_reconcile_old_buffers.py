"""What tells an editor's old version of a file from what a person means."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.vault import vault_writer
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.topic_file import digest, parse_file
from astrbot_plugin_scoped_memory.llm_memory.vault.models import EMPTY
from astrbot_plugin_scoped_memory.tests.support.bots import AT_ONCE, Bot, Watch, living
from astrbot_plugin_scoped_memory.tests.sync.test_reconcile import PEANUTS, TEA, block, edited
from astrbot_plugin_scoped_memory.tests.vault.test_vault import NOW

pytestmark = pytest.mark.engine

DOG, CAT, WALNUTS, WOLF = "小明喜欢狗", "小红喜欢猫", "奶奶对核桃过敏", "小明喜欢狼"


def named(path: Path) -> dict[str, str]:
    """What stands in a file: words by id."""
    file = parse_file(path.read_text("utf-8"), fallback_time=NOW)
    return {entry.memory.memory_id: entry.memory.judgment for entry in file.entries}


class TestAnEditByCommand:
    """Taken back by hand it is taken back; undone by an old buffer it is not."""

    async def edited(self, bot: Bot) -> tuple[str, str]:
        """Three entries, the first of them edited by command: its id, and the file before."""
        memory_id = await bot.says(PEANUTS)
        await bot.says(TEA)
        await bot.says(DOG)
        await bot.look()
        before = bot.file().read_text("utf-8")
        await bot.edits(memory_id, WALNUTS)
        return memory_id, before

    async def go_on(self, bot: Bot, how: str) -> None:
        """What the bot writes after that."""
        if how == "an entry":
            await bot.says(CAT)
        elif how == "another edit":
            (other,) = (s for s in bot.catalogue.all() if s.memory.judgment == DOG)
            await bot.edits(other.memory.memory_id, WOLF)

    @pytest.mark.parametrize("later", ["nothing", "an entry", "another edit"])
    async def test_one_entry_taken_back_by_hand_stays_so(self, tmp_path: Path, later: str) -> None:
        async with living(tmp_path) as bot:
            memory_id, _ = await self.edited(bot)
            await self.go_on(bot, later)
            await bot.look()
            edited(bot.file(), (WALNUTS, PEANUTS))
            for _ in range(2):
                await bot.look()
                bot.check()
                assert bot.memory(memory_id).judgment == PEANUTS
            assert f"## {WALNUTS}" in bot.file("archive/preferences.md").read_text("utf-8")
            assert not list(bot.folder().glob("*.conflict*"))
            assert WALNUTS not in bot.file().read_text("utf-8")

    async def test_with_something_else_and_what_came_later_it_stays_so_too(
        self, tmp_path: Path
    ) -> None:
        async with living(tmp_path) as bot:
            memory_id, _ = await self.edited(bot)
            await bot.says(CAT)
            await bot.look()
            edited(bot.file(), (WALNUTS, PEANUTS), ("绿茶", "红茶"))
            await bot.look()
            bot.check()
            assert bot.memory(memory_id).judgment == PEANUTS

    @pytest.mark.parametrize(
        ("since", "saved", "texts"),
        [
            ("", "红茶", [WALNUTS, "爷爷喜欢喝红茶", DOG]),
            ("an entry", "绿茶", [WALNUTS, TEA, DOG, CAT]),
            ("another edit", "绿茶", [WALNUTS, TEA, WOLF]),
        ],
        ids=["something else changed in it", "without what came later", "before two edits"],
    )
    async def test_an_old_buffer_undoes_nothing(
        self, tmp_path: Path, since: str, saved: str, texts: list[str]
    ) -> None:
        async with living(tmp_path) as bot:
            memory_id, before = await self.edited(bot)
            await self.go_on(bot, since)
            bot.file().write_text(before.replace("绿茶", saved), "utf-8")
            await bot.look()
            bot.check()
            assert bot.memory(memory_id).judgment == WALNUTS
            assert bot.texts() == sorted(texts)

    async def test_a_weaker_entry_is_never_taken_for_an_edit_by_hand(self, tmp_path: Path) -> None:
        async with living(tmp_path) as bot:
            memory_id = await bot.says(PEANUTS)
            await bot.look()
            before = bot.file().read_bytes()
            await bot.says(PEANUTS)
            bot.file().write_bytes(before)
            await bot.look()
            bot.check()
            assert bot.memory(memory_id).strength == 55
            assert not bot.file("archive").exists()


class TestAForgottenId:
    """It stays with what may come back."""

    @pytest.mark.parametrize("both", [False, True], ids=["alone", "beside the forgotten one"])
    async def test_a_persons_other_words_under_it_get_an_id_of_their_own(
        self, tmp_path: Path, both: bool
    ) -> None:
        async with living(tmp_path) as bot:
            memory_id = await bot.says(PEANUTS)
            await bot.says(DOG)
            await bot.look()
            buffer = bot.file().read_text("utf-8")
            mine = buffer.replace("花生", "核桃")
            if both:
                mine = buffer + "\n" + block(bot.file(), PEANUTS).replace("花生", "核桃")
            await bot.forgets(memory_id)
            bot.file().write_text(mine, "utf-8")
            await bot.look()
            await bot.look()  # what was cut is one version more
            bot.check()
            assert bot.texts() == sorted([WALNUTS, DOG])
            assert memory_id not in named(bot.file())
            assert await bot.restores(memory_id) is not None
            await bot.look()
            bot.check()
            assert bot.memory(memory_id).judgment == PEANUTS
            assert bot.texts() == sorted([PEANUTS, WALNUTS, DOG])


@pytest.mark.parametrize("quiet", [0.0, 3600.0])
async def test_of_copies_below_what_is_cut_the_right_one_gets_the_new_id(
    tmp_path: Path, quiet: float
) -> None:
    async with living(tmp_path) as bot:
        gone = await bot.says(PEANUTS)
        kept = await bot.says(TEA)
        await bot.says(DOG)
        await bot.look()
        buffer = bot.file().read_text("utf-8")
        copy = block(bot.file(), TEA).replace("绿茶", "红茶")
        await bot.forgets(gone)
        # The forgotten one first, then an original, the copy of it, and another.
        bot.file().write_text(buffer.replace("## 小明", f"{copy}\n## 小明"), "utf-8")
    watch = Watch()
    pace = replace(AT_ONCE, quiet_seconds=quiet)
    async with living(tmp_path, pace=pace, elapsed=watch) as bot:
        for _ in range(3):
            watch.seconds += quiet
            await bot.look()
        bot.check()
        assert bot.texts() == sorted([TEA, "爷爷喜欢喝红茶", DOG])
        assert bot.memory(kept).judgment == TEA
        archived = bot.file("archive/preferences.md").read_text("utf-8")
        assert archived.count("## ") == 1


class TestBetweenASaveAndTheLook:
    """What the bot writes then, a person's editor does not know either."""

    @pytest.mark.parametrize("then", ["reinforced", "forgotten", "appended and forgotten"])
    async def test_an_append_before_a_rewrite_is_not_taken_for_seen(
        self, tmp_path: Path, then: str
    ) -> None:
        async with living(tmp_path) as bot:
            memory_id = await bot.says(PEANUTS)
            await bot.says(TEA)
            await bot.look()
            edited(bot.file(), ("绿茶", "红茶"))
            buffer = bot.file().read_text("utf-8")
            await bot.says(DOG)
            if then == "reinforced":
                await bot.says(PEANUTS)
            elif then == "forgotten":
                await bot.forgets(memory_id)
            else:
                await bot.forgets(await bot.says(CAT))
            await bot.look()
            bot.file().write_text(buffer.replace("红茶", "花茶"), "utf-8")
            await bot.look()
            bot.check()
            assert DOG in bot.texts()
            assert "爷爷喜欢喝花茶" in bot.texts()
            assert CAT not in bot.texts()

    @pytest.mark.parametrize("changed", [False, True])
    async def test_what_the_bot_appends_behind_an_old_buffer_is_no_part_of_it(
        self, tmp_path: Path, changed: bool
    ) -> None:
        async with living(tmp_path) as bot:
            memory_id = await bot.says(PEANUTS)
            await bot.says(TEA)
            await bot.look()
            buffer = bot.file().read_text("utf-8")
            await bot.edits(memory_id, WALNUTS)
            await bot.says(DOG)
            tea = "红茶" if changed else "绿茶"
            bot.file().write_text(buffer.replace("绿茶", tea), "utf-8")
            await bot.says(CAT)
            await bot.look()
            bot.check()
            assert bot.texts() == sorted([WALNUTS, f"爷爷喜欢喝{tea}", DOG, CAT])

    async def test_what_is_appended_to_a_file_that_a_person_emptied_brings_nothing_back(
        self, tmp_path: Path
    ) -> None:
        assert digest("") == EMPTY
        async with living(tmp_path) as bot:
            await bot.says(PEANUTS)
            edited(bot.file(), ("花生", "核桃"))
            await bot.look()
            await bot.says(TEA)
            await bot.look()
            bot.file().write_bytes(b"")
            await bot.says(DOG)
            await bot.look()
            bot.check()
            assert bot.texts() == [DOG]

    @pytest.mark.parametrize("then", ["appended", "reinforced"])
    async def test_what_it_wrote_to_a_version_that_is_gone_again_is_not_lost(
        self, tmp_path: Path, then: str
    ) -> None:
        """An editor empties the file, or saves it and takes that back, all before the next look."""
        async with living(tmp_path) as bot:
            memory_id = await bot.says(PEANUTS)
            await bot.says(TEA)
            edited(bot.file(), ("绿茶", "红茶"))
            await bot.look()
            before = bot.file().read_bytes()
            if then == "appended":
                bot.file().write_bytes(b"")
                await bot.says(DOG)
            else:
                edited(bot.file(), ("红茶", "花茶"))
                await bot.says(PEANUTS)
            bot.file().write_bytes(before)
            await bot.look()
            bot.check()
            again = [DOG] if then == "appended" else []
            assert bot.texts() == sorted([PEANUTS, "爷爷喜欢喝红茶", *again])
            assert bot.memory(memory_id).strength == (50 if again else 55)

    async def test_a_file_that_is_gone_before_the_bot_begins_it_anew_is_forgotten(
        self, tmp_path: Path
    ) -> None:
        slow = replace(AT_ONCE, quiet_seconds=3600.0)
        async with living(tmp_path, pace=slow, elapsed=Watch()) as bot:
            await bot.says(PEANUTS)
            bot.file().write_text(bot.file().read_text("utf-8") + "\n## 没有编号\n", "utf-8")
            await bot.look()
        async with living(tmp_path) as bot:
            bot.file().unlink()
            await bot.says(DOG)
            await bot.look()
            bot.check()
            assert bot.texts() == [DOG]

    async def test_so_it_is_where_the_save_came_while_the_bot_was_writing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with living(tmp_path) as bot:
            await bot.says(PEANUTS)
            await bot.says(TEA)
            await bot.look()
            buffer: list[str] = []
            real = vault_writer.append_durably

            def late(*args: Any) -> None:
                edited(bot.file(), ("绿茶", "铁观音"))
                buffer.append(bot.file().read_text("utf-8"))
                real(*args)

            with monkeypatch.context() as patch:
                patch.setattr(vault_writer, "append_durably", late)
                await bot.says(DOG)
            await bot.look()
            bot.check()
            assert DOG in bot.texts()
            bot.file().write_text(buffer[0].replace("铁观音", "花茶"), "utf-8")
            await bot.look()
            bot.check()
            assert bot.texts() == sorted([PEANUTS, "爷爷喜欢喝花茶", DOG])
