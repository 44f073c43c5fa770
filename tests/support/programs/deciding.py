"""Accepts all open proposals of a family at once, says which record each became, and follows the
files until its standard input is closed.

    python run.py deciding.py ROOT KILL_AT

ends by SIGKILL right before, or right after, the write that has this number; with 0 never.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from pathlib import Path

from astrbot_plugin_scoped_memory.llm_memory.models.decisions import (
    Accept,
    Decisions,
    DecisionState,
    ListDecisions,
    Recorded,
)
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running
from astrbot_plugin_scoped_memory.tests.support.programs import program
from astrbot_plugin_scoped_memory.tests.support.programs.deaths import Deaths

HOME = group(777)
ADMIN = person(9, "站长", admin=True)


async def accept(rig: Rig, memory_id: str) -> None:
    """Say so only once it was acknowledged."""
    change = Accept(memory_id, unseen=True)
    outcome = await rig.engine.service.decide(change, conversation_id=HOME, actor=ADMIN)
    if isinstance(outcome, Recorded):
        program.say(f"{outcome.number} {memory_id}")
    else:
        sys.stderr.write(f"{outcome}\n")


async def proposals(rig: Rig) -> list[str]:
    """The ids of those that are open."""
    listed = await rig.engine.service.decide(ListDecisions(), conversation_id=HOME, actor=ADMIN)
    if not isinstance(listed, Decisions):
        return [""]
    return [item.memory_id for item in listed.items if item.state is DecisionState.PROPOSED]


async def main(root: Path, at: int) -> None:
    deaths = Deaths(at)
    deaths.watch()
    deaths.armed = True
    async with running(root, words_alone=True) as rig:
        following = asyncio.create_task(rig.engine.follow())
        while waiting := await proposals(rig):  # what was refused is asked again, as people do
            await asyncio.gather(*(accept(rig, memory_id) for memory_id in waiting))
        program.say("done")
        await asyncio.to_thread(sys.stdin.read)
        following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await following


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
