"""Accepts proposals of a home at the command line, a command for each, and says which record each
became. Without any it keeps the store open, as ``serve`` does, until its standard input is closed.

    python run.py accepting.py KILL_AT [ID ...]

ends by SIGKILL right before, or right after, the write that has this number; with 0 never. A
process writes while the store is its own.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import json
import sys
from collections.abc import Sequence

from astrbot_plugin_scoped_memory.llm_memory.__main__ import main
from astrbot_plugin_scoped_memory.llm_memory.cli.owner_levels import OwnerLevel, asked
from astrbot_plugin_scoped_memory.llm_memory.cli.parser import build_parser
from astrbot_plugin_scoped_memory.llm_memory.errors import NoOwner
from astrbot_plugin_scoped_memory.tests.support.programs import program
from astrbot_plugin_scoped_memory.tests.support.programs.deaths import Deaths


def accept(memory_id: str) -> bool:
    """Say so only once it was acknowledged."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = main(["decide", "accept", memory_id, "--yes", "--json"])
    if code:
        return False
    program.say(f"{json.loads(out.getvalue())['number']} {memory_id}")
    return True


async def kept_open(levels: Sequence[OwnerLevel]) -> None:
    """Ask now and then, so that the store is opened or followed; until nothing more comes in."""
    here, said = levels[0], False
    ended = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
    while not ended.done():
        with contextlib.suppress(NoOwner):
            await here.owner.listed(conversation_id=here.level.conversation, limit=1)
            if not said:
                said = True
                program.say("open")
        await asyncio.wait([ended], timeout=0.1)


def run(at: int, ids: Sequence[str]) -> None:
    deaths = Deaths(at)
    deaths.watch()
    deaths.armed = True
    if not ids:
        asked(build_parser().parse_args(["list"], argparse.Namespace()), kept_open)
    for memory_id in ids:
        while not accept(memory_id):  # what was refused is asked again, as people do
            pass


if __name__ == "__main__":
    run(int(sys.argv[1]), sys.argv[2:])
