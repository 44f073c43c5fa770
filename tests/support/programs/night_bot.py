"""A bot that tidies up at night and is killed at one of the moments when something became durable.

    python run.py night_bot.py ROOT KILL_AT

ends by SIGKILL right before, or right after, the write that has this number; with 0 it comes to its
end and prints how many there were.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.support.engines import Ticker, running
from astrbot_plugin_scoped_memory.tests.support.nights import NIGHT, OneDirection
from astrbot_plugin_scoped_memory.tests.support.programs import program
from astrbot_plugin_scoped_memory.tests.support.programs.deaths import Deaths


async def main(root: Path, at: int) -> None:
    deaths = Deaths(at)
    deaths.watch()
    clock = Ticker(NIGHT)
    chat = ScriptedChat(otherwise="这一天过得很好。")
    async with running(root, embedder=OneDirection("乌龙茶"), clock=clock, chat=chat) as rig:
        await rig.until_indexed()
        deaths.armed = True
        sleep = rig.engine.loop.sleep
        report = await sleep.run_once("nightly")
        deaths.armed = False
        assert not report.errors, report.errors
    program.say(str(deaths.count))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
