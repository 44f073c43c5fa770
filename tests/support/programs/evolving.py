"""Gives a soul one text after the other, and says which is in force once it was acknowledged.

    python run.py evolving.py ROOT KILL_AT

ends by SIGKILL right before, or right after, the write that has this number.
"""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta
from pathlib import Path

from astrbot_plugin_scoped_memory.llm_memory.models.soul_requests import SoulChanged
from astrbot_plugin_scoped_memory.tests.support.programs import program
from astrbot_plugin_scoped_memory.tests.support.programs.deaths import Deaths
from astrbot_plugin_scoped_memory.tests.support.reflecting import StandingClock
from astrbot_plugin_scoped_memory.tests.support.souls import ADMIN, CAT, Souls, numbered


async def main(root: Path, at: int) -> None:
    deaths = Deaths(at)
    deaths.watch()
    deaths.armed = True
    souls = Souls(root)
    while True:
        view = await souls.view()
        souls.clock.now = StandingClock().now + timedelta(days=view.version.number)
        number = view.open.number if view.open else await souls.wish(numbered(view.text))
        done = await souls.gov.apply(CAT, number, ADMIN, souls.judge)
        if not isinstance(done, SoulChanged):
            sys.stderr.write(f"{done}\n")
            sys.exit(1)
        program.say(str(done.version.number))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
