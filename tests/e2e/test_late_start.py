"""What the plugin consists of comes after AstrBot's start: also when it cannot be loaded."""

from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.bot import STARTED
from astrbot_plugin_scoped_memory.harness.places import Person, group
from astrbot_plugin_scoped_memory.harness.release import PLUGIN
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.waiting import until

pytestmark = [pytest.mark.astrbot, pytest.mark.timeout(300)]

ROOM = group(333)
SPEAKER = Person(3333, "阿丁")
BROKEN = "raise ImportError('半个文件')\n"


async def test_a_plugin_that_cannot_be_loaded_says_so_and_the_bot_answers(tmp_path: Path) -> None:
    whole = ""

    def part(rig: Rig) -> Path:
        return rig.bot.plugins / PLUGIN / "core" / "turn" / "turn_reader.py"

    def tear(rig: Rig) -> None:
        nonlocal whole
        whole = part(rig).read_text("utf-8")
        part(rig).write_text(BROKEN, "utf-8")

    async with Rig(tmp_path / "bot", admins=[SPEAKER.user_id], before_start=tear) as torn:
        status = await torn.panel.status()
        assert status["ready"] is False
        assert [w for w in status["warnings"] if "载入失败" in w and "半个文件" in w]
        told = await torn.onebot.ask(ROOM, SPEAKER, "/memory status")
        assert "载入失败" in told
        assert "半个文件" in told
        turn = await torn.turn(ROOM, SPEAKER, "今天星期几")
        assert turn.reply
        assert "core_memory_recall" not in turn.first.tool_names
        part(torn).write_text(whole, "utf-8")
        await torn.panel.reload()
        assert (await torn.panel.ready())["warnings"] == []
        assert (await torn.remember(ROOM, SPEAKER, "梯子在车库")).startswith("ok")
        await torn.crash()

        async def loaded() -> bool:
            return "added LLM tool: update_tasks" in torn.bot.logs()

        await until(loaded, within=60, what="the tools")
        log = torn.bot.logs()
        assert log.index(STARTED) < log.index("added LLM tool: core_memory_remember")
        assert "梯子在车库" in await torn.recall(ROOM, SPEAKER, "梯子")
