"""What some weeks of the memory loop leave behind and cost, with a clock that is moved.

    python benchmarks/longrun.py [--turns 5000] [--days 14] [--conversations 30] [--scopes 8]
                                 [--budget 50000] [--json OUT]

People talk to an engine of real parts in `conversations` places of `scopes` scopes (the world is in
longrun_world.py), each turn as a bot does it: recall, primer, answer, observe. A scripted model
reads the turns (longrun_reader.py): it learns what was mentioned, and answers now and then with
broken JSON, with an error, with ids and scopes that are none of its business. Each night at four
the memory is consolidated, and the day's figures are taken. What must hold is counted at the end:
turns lost, memories said twice, words of a private scope anywhere outside of it, files, tokens and
memory without bounds. What does not hold is named, and the exit status is 1.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

import checkout

checkout.register()

from gauges import resident_megabytes, spread  # noqa: E402
from longrun_checks import (  # noqa: E402
    Leaks,
    kept_turns,
    living_figures,
    look_at_store,
    spent_by_day,
    what_holds,
)
from longrun_reader import BatchReader  # noqa: E402
from longrun_world import Message, World  # noqa: E402
from table import table  # noqa: E402

from astrbot_plugin_scoped_memory.llm_memory import (  # noqa: E402
    Engine,
    EnginePaths,
    EngineSettings,
    Ticket,
    Turn,
    build_engine,
)
from astrbot_plugin_scoped_memory.llm_memory.consolidation.report import (  # noqa: E402
    SleepReport,
)
from astrbot_plugin_scoped_memory.llm_memory.models.settings import LoopSettings  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.text.normalising import estimate_tokens  # noqa: E402

ZONE = ZoneInfo("Asia/Shanghai")
FIRST_DAY = datetime(2026, 11, 2, tzinfo=ZONE)
NIGHT_HOUR = 4
MOST_EXTRA_DAYS = 14
"""So long turns may wait for the next day's tokens when the last was said."""


@dataclass
class Clock:
    """The engine's: it stands where it was put."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now


@dataclass
class Run:
    """One engine, its people and its reader, day after day."""

    root: Path
    world: World
    engine: Engine
    reader: BatchReader
    clock: Clock
    leaks: Leaks
    observed: list[str] = field(default_factory=list)
    refused: int = 0
    queue_most: int = 0
    turn_ms: list[float] = field(default_factory=list)
    observe_ms: list[float] = field(default_factory=list)
    primer_tokens: list[int] = field(default_factory=list)

    async def day(self, midnight: datetime, turns: int) -> dict[str, Any]:
        """People talk; then the night. The figures of that day."""
        for message in self.world.day(midnight, turns):
            self.clock.now = max(message.at, self.clock.now)
            await self._turn(message)
            await self.engine.reflection.read_due()
            self.queue_most = max(self.queue_most, await self._waiting())
        await self._evening(midnight)
        waiting = await self._waiting()
        report = await self._night(midnight)
        return {
            "turns": turns,
            "waiting": waiting,
            "living": (await self.engine.status()).total,
            "archived": report.archived + report.merged,
            "errors": len(report.errors),
            **_sizes(self.root),
            "rss_mb": resident_megabytes(os.getpid()),
        }

    async def _turn(self, message: Message) -> None:
        """As a bot does it: what is known, what stands where, the answer, the queue."""
        service, where, scope = self.engine.service, message.place.where, message.place.scope
        began = time.perf_counter()
        recall = await service.recall(
            message.text,
            conversation_id=where,
            limit=3,
            token_budget=600,
            actor=message.actor,
        )
        asked = {"seconds": 30.0, "limit": 0, "token_budget": 0, "primed": True}
        start = await service.begin_turn("", conversation_id=where, actor=message.actor, **asked)
        primer = start.primer
        self.leaks.look("recalled", scope, [hit.preview for hit in recall.hits])
        if primer.sections:
            self.leaks.look("primed", scope, [repr(primer)])
            self.primer_tokens.append(estimate_tokens(start.text))
        known = any(message.value in hit.preview for hit in recall.hits if message.value)
        turn = Turn(
            message.actor,
            message.text,
            f"是{message.value}。" if known else "好的。",
            tuple(hit.memory_id for hit in recall.hits),
            message.at,
        )
        observing = time.perf_counter()
        outcome = await service.observe(turn, conversation_id=where)
        ended = time.perf_counter()
        self.turn_ms.append((ended - began) * 1000)
        self.observe_ms.append((ended - observing) * 1000)
        if isinstance(outcome, Ticket):
            self.observed.append(message.text)
        else:
            self.refused += 1

    async def _evening(self, midnight: datetime) -> None:
        """Silence until the night: what was said last is read."""
        for hour in (24, 25):
            self.clock.now = midnight + timedelta(hours=hour)
            await self.engine.reflection.read_due()

    async def _night(self, midnight: datetime) -> SleepReport:
        self.clock.now = midnight + timedelta(days=1, hours=NIGHT_HOUR)
        while True:
            report = await self.engine.sleep.run_once("nightly")
            if report.postponed == "":
                return report
            await asyncio.sleep(0.05)  # a real night is long enough for an index to be built

    async def _waiting(self) -> int:
        return (await self.engine.status()).loop.queue.waiting

    async def settle(self, midnight: datetime) -> int:
        """Days on which nobody speaks, until all that was said is read: how many it took."""
        for extra in range(MOST_EXTRA_DAYS):
            status = (await self.engine.status()).loop
            if not status.queue.waiting:
                return extra
            for hour in (8, 12, 16, 20):
                self.clock.now = midnight + timedelta(days=extra, hours=hour)
                await self.engine.reflection.read_due()
            await self._night(midnight + timedelta(days=extra))
        return MOST_EXTRA_DAYS


async def run(root: Path, options: argparse.Namespace) -> dict[str, Any]:
    """The figures of all days, and what holds at the end."""
    world = World(options.conversations, options.scopes)
    leaks = Leaks()
    scopes = {place.where.umo: place.scope for place in world.where}
    reader = BatchReader(lambda umo: scopes.get(umo, ""), leaks)
    clock = Clock(FIRST_DAY)
    loop = LoopSettings(daily_tokens=options.budget, sleep_at=(NIGHT_HOUR, 0))
    settings = EngineSettings(scope_map=world.scope_map, loop=loop)
    paths = EnginePaths.under(root)
    engine = build_engine(paths, settings, clock=clock, chat=reader)
    await engine.open()
    running = asyncio.create_task(engine.run(None))
    began = time.perf_counter()
    weeks = Run(root, world, engine, reader, clock, leaks)
    days: dict[str, Any] = {}
    try:
        for number in range(options.days):
            midnight = FIRST_DAY + timedelta(days=number)
            turns = options.turns * (number + 1) // options.days
            turns -= options.turns * number // options.days
            days[f"{midnight:%Y-%m-%d}"] = await weeks.day(midnight, turns)
        extra = await weeks.settle(FIRST_DAY + timedelta(days=options.days))
        queue = (await engine.status()).loop.queue
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await engine.close()
    look_at_store(root, leaks)
    spent = spent_by_day(root)
    for day, figures in days.items():
        figures |= spent.get(day, {})  # of older days nothing is kept
    kept = kept_turns(root)
    figures = {
        "turns": len(weeks.observed),
        "conversations": len(world.where),
        "scopes": len(world.people),
        "budget": options.budget,
        "seconds": round(time.perf_counter() - began, 1),
        "days": days,
        "calls": {"all": reader.calls, **reader.kinds},
        "tokens": {
            "all": reader.tokens,
            "a_turn": round(reader.tokens / max(len(weeks.observed), 1)),
            "most_a_day": max(day["tokens"] for day in spent.values()),
        },
        "queue": {
            "most": weeks.queue_most,
            "end": queue.waiting,
            "dead": queue.dead,
            "days_until_read": extra,
        },
        "turns_lost": sum(not reader.read[text] and text not in kept for text in weeks.observed),
        "turns_read_twice": sum(count > 1 for count in reader.read.values()),
        "turns_refused": weeks.refused,
        "memories": living_figures(root, world.facts) | {"changes": world.changes},
        "isolation": leaks.figures(),
        "primers": {
            "count": len(weeks.primer_tokens),
            "most_tokens": max(weeks.primer_tokens, default=0),
        },
        "turn_ms": spread(weeks.turn_ms),
        "observe_ms": spread(weeks.observe_ms),
    }
    return figures | {"holds": what_holds(figures)}


def _sizes(root: Path) -> dict[str, float]:
    """Files and megabytes by where they lie."""
    found: dict[str, float] = {}
    for name in ("memory", "state", "index", "backups"):
        files = [path for path in (root / name).rglob("*") if path.is_file()]
        found[f"{name}_files"] = len(files)
        found[f"{name}_mb"] = round(sum(path.stat().st_size for path in files) / 2**20, 2)
    return found


def main() -> None:
    """Measure and tell."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--turns", type=int, default=5000)
    parser.add_argument("--days", type=int, default=14)
    parser.add_argument("--conversations", type=int, default=30)
    parser.add_argument("--scopes", type=int, default=8)
    parser.add_argument("--budget", type=int, default=50_000)
    parser.add_argument("--keep", type=Path, help="leave the bot's folder here")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = asyncio.run(run(options.keep or Path(folder), options))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1, ensure_ascii=False), "utf-8")
    sys.stdout.write(table(figures))
    broken = [promise for promise, held in figures["holds"].items() if not held]
    if broken:
        sys.exit(f"not so: {'; '.join(broken)}")


if __name__ == "__main__":
    main()
