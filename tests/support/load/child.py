"""The process that gets killed: one engine, fifty conversations.

    python run.py child.py ROOT PLAN LEDGER

It says what happens on standard output, a line an event. SIGTERM ends it like any program that does
not listen to it; at SIGINT, or when its time is up, it closes the engine.
"""

from __future__ import annotations

import asyncio
import faulthandler
import random
import signal
import sys
from pathlib import Path

from astrbot_plugin_scoped_memory.tests.support.load.audit import audit
from astrbot_plugin_scoped_memory.tests.support.load.ledger import Ledger
from astrbot_plugin_scoped_memory.tests.support.load.plan import Plan
from astrbot_plugin_scoped_memory.tests.support.load.player import Common, cast
from astrbot_plugin_scoped_memory.tests.support.load.stage import Stage, tell_warnings
from astrbot_plugin_scoped_memory.tests.support.load.voice import say
from astrbot_plugin_scoped_memory.tests.support.stalls import StallWatch


async def _live(root: Path, plan_file: Path, ledger_file: Path) -> None:
    tell_warnings()
    plan = Plan.load(plan_file)
    stage = Stage(root, random.Random(plan.seed))
    common = Common(stage, plan.life)
    players = cast(common, plan.seed, Ledger.load(ledger_file))
    asked = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, asked.set)

    async def play() -> None:
        if plan.wait_for_index:
            await stage.until_ready(60)
        await asyncio.gather(
            *(player.play(plan.pause, only_writes=plan.only_writes) for player in players)
        )

    async def reload() -> None:
        calmly = False
        while plan.reload_every is not None:
            await asyncio.sleep(plan.reload_every)
            if calmly:
                await stage.until_ready(60)
            calmly = not calmly
            await asyncio.shield(stage.reload())

    async with StallWatch() as watch:
        work = asyncio.gather(play(), reload(), stage.report(watch))
        await stage.open()
        ending = asyncio.ensure_future(asked.wait())
        await asyncio.wait([work, ending], timeout=plan.seconds, return_when="FIRST_COMPLETED")
        if work.done():
            await work  # one of them raised
        work.cancel()
        ending.cancel()
        await asyncio.gather(work, ending, return_exceptions=True)
        say("indexed", done=await stage.until_ready(60, caught_up=True))
        found, looked = await audit(common, random.Random(plan.seed))
        say("audited", found=found, looked=looked)
        await stage.close()
    say("ended")


if __name__ == "__main__":
    faulthandler.enable()
    asyncio.run(_live(*(Path(argument) for argument in sys.argv[1:4])))
