"""Large files of a person's: bounded in size, in work and in how long the event loop waits."""

from __future__ import annotations

from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.vault.vault_tree import MAX_FILE_BYTES
from astrbot_plugin_scoped_memory.tests.support.bots import Bot, living

pytestmark = pytest.mark.engine

PEANUTS = "奶奶喜欢吃花生"


def reasons(bot: Bot) -> dict[str, str]:
    found = (n for n in bot.notices.standing() if n.code == "vault_file_broken")
    return {n.params["path"]: n.params["reason"] for n in found}


def grown(path: Path, size: int) -> None:
    """Longer, without taking any room."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.truncate(size)


async def test_a_file_beyond_the_limit_is_told_and_not_read_and_what_was_known_of_it_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    read_bytes = Path.read_bytes

    def noted(path: Path) -> bytes:
        read.append(path.name)
        return read_bytes(path)

    too_large = {"preferences.md": "oversized", "日记.md": "oversized"}
    async with living(tmp_path) as bot:
        memory_id = await bot.says(PEANUTS)
        await bot.look()
        before = bot.file().read_bytes()
        grown(bot.file(), 300 * 1024 * 1024)
        grown(bot.file("日记.md"), MAX_FILE_BYTES + 1)
        with monkeypatch.context() as patch:
            patch.setattr(Path, "read_bytes", noted)
            await bot.look()
        assert reasons(bot) == too_large
        assert not too_large.keys() & set(read)
        assert bot.texts() == [PEANUTS]
    async with living(tmp_path) as bot:
        await bot.look()
        assert reasons(bot) == too_large
        bot.file().write_bytes(before)
        bot.file("日记.md").unlink()
        await bot.look()
        assert reasons(bot) == {}
        assert bot.memory(memory_id).judgment == PEANUTS
        assert not bot.file("archive").exists()
        bot.check()


async def test_a_file_that_its_ids_would_take_beyond_the_limit_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = "astrbot_plugin_scoped_memory.llm_memory.vault.scan.MAX_FILE_BYTES"
    monkeypatch.setattr(scan, 1000)
    async with living(tmp_path) as bot:
        path = bot.file("entities.md")
        path.parent.mkdir(parents=True)
        path.write_text("".join(f"- 第{n}箱放着工具\n" for n in range(35)), "utf-8")
        before = path.read_bytes()
        assert len(before) < 1000
        await bot.look()
        assert reasons(bot) == {"entities.md": "outgrown"}
        assert path.read_bytes() == before
        assert bot.texts() == []
