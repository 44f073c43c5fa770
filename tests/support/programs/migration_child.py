"""The process that gets killed in the middle of a scope migration.

    python run.py migration_child.py ROOT URL

It says on standard output how many records it has looked at, a line a change, and ``done``.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from astrbot_plugin_scoped_memory.llm_memory import (
    EnginePaths,
    EngineSettings,
    MigrationState,
    WalkPace,
    build_engine,
)
from astrbot_plugin_scoped_memory.tests.support.programs import program


async def _live(root: Path, url: str) -> None:
    pace = WalkPace(batch=10, least_pause=0.02, most_pause=0.02)
    engine = build_engine(EnginePaths.under(root), EngineSettings(chroma_url=url, walk_pace=pace))
    await engine.open()
    migrating = asyncio.create_task(engine.migrate())
    said = ""
    while said != "done":
        status = engine.migrations.status()
        done = status.state is MigrationState.DONE
        now = "done" if done else str(status.tally.scanned)
        if now != said:
            said = now
            program.say(said)
        await asyncio.sleep(0.005)
    migrating.cancel()
    await asyncio.gather(migrating, return_exceptions=True)
    await engine.close()


if __name__ == "__main__":
    asyncio.run(_live(Path(sys.argv[1]), sys.argv[2]))
