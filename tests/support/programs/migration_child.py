"""The process that gets killed in the middle of a scope migration.

    python run.py migration_child.py ROOT URL COUNT

It ends by SIGKILL at the first write after it has looked at so many records, and says on standard
output how many they are by then; or ``done``, where there are fewer.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from astrbot_plugin_scoped_memory.llm_memory import (
    EnginePaths,
    EngineSettings,
    WalkPace,
    build_engine,
)
from astrbot_plugin_scoped_memory.tests.laws.moments import watched
from astrbot_plugin_scoped_memory.tests.support.programs import program


async def _live(root: Path, url: str, count: int) -> None:
    pace = WalkPace(batch=10, least_pause=0.02, most_pause=0.02)
    engine = build_engine(EnginePaths.under(root), EngineSettings(chroma_url=url, walk_pace=pace))

    def look() -> None:
        scanned = engine.migrations.status().tally.scanned
        if scanned >= count:
            program.say(str(scanned))
            os.kill(os.getpid(), signal.SIGKILL)

    with watched() as watch, watch.telling(look):
        await engine.open()
        await engine.migrations.run_once()
        await engine.close()
    program.say("done")


if __name__ == "__main__":
    asyncio.run(_live(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
