"""A real AstrBot with fifty conversations: panel saves that move them, and kill -9."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from astrbot_plugin_scoped_memory.harness.logs import parse_log
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.tests.support.load.bot_player import BotPlayer, World
from astrbot_plugin_scoped_memory.tests.support.load.cast import CONVERSATIONS, base_map, moved_map
from astrbot_plugin_scoped_memory.tests.support.load.comparison import compare
from astrbot_plugin_scoped_memory.tests.support.load.figures import Figures, Sample
from astrbot_plugin_scoped_memory.tests.support.load.ledger import Ledger
from astrbot_plugin_scoped_memory.tests.support.load.meter import install_meter, read_meter
from astrbot_plugin_scoped_memory.tests.support.stalls import StallWatch
from astrbot_plugin_scoped_memory.tests.support.vitals import family

_PATIENCE_SECONDS = 150.0
"""For one reply: a late one would be taken for the answer to the next question."""


class BotSoak:
    """``async with``-free: ``run`` starts the bot, plays, kills, ends it."""

    def __init__(self, root: Path, *, seconds: float, kills: int, seed: int) -> None:
        self.figures = Figures("astrbot", seed)
        self._root = root
        self._seconds = seconds
        self._kills = kills
        self._chance = random.Random(seed)
        self._pause = 4.0
        self._life = 1

    async def run(self) -> Figures:
        """The whole soak."""
        config = {"conversation_scope_map": base_map()}
        rig = Rig(self._root, config=config, reply_seconds=_PATIENCE_SECONDS)
        self._meter = install_meter(self._root / "data" / "plugins")
        async with rig, StallWatch() as idle:
            world = World(rig, Ledger(), self.figures, base_map())
            await rig.panel.ready()
            players = [BotPlayer(n, world, self.figures.seed) for n in range(CONVERSATIONS)]
            world.up.set()
            async with self._playing(world, players):
                await self._rounds(world, players)
            status = await rig.panel.ready()
            self.figures.more["status at the end"] = str(
                {name: status[name] for name in status if name not in {"warnings"}}
            )[:600]
            self.figures.noise_ms = idle.take().loop_ms
            self._look_at_log(rig)
            await asyncio.to_thread(rig.bot.sigterm)
            self.figures.terminations += 1
            await compare(rig.bot.plugin_data, world.ledger, self.figures)
        for row in read_meter(self._meter):
            self.figures.stall(round(row["loop"], 1), round(row["held"], 1), row["where"])
        return self.figures

    @contextlib.asynccontextmanager
    async def _playing(self, world: World, players: Sequence[BotPlayer]) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(player.play(self._pause)) for player in players]
        tasks.append(asyncio.create_task(self._sample(world)))
        try:
            yield
        finally:
            # What is being said is still answered.
            world.up.clear()
            for player in players:
                await player.turning.acquire()
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            for error in ended:
                if error is not None and not isinstance(error, asyncio.CancelledError):
                    world.fail("error", said=repr(error))

    async def _rounds(self, world: World, players: Sequence[BotPlayer]) -> None:
        """Panel saves all the time, the kills spread evenly over them."""
        share = self._seconds / (self._kills + 1)
        for kill in range(self._kills + 1):
            until = time.monotonic() + share
            started = time.monotonic()
            while time.monotonic() < until:
                await asyncio.sleep(self._chance.uniform(3.0, 8.0))
                await self._save(world, players)
            self.figures.seconds += time.monotonic() - started
            if kill < self._kills:
                await self._kill(world, players)

    async def _save(self, world: World, players: Sequence[BotPlayer]) -> None:
        """Another map. Those whom it moves are silent meanwhile, the others talk on."""
        back = world.scope_map != base_map()
        scope_map = base_map() if back else moved_map(self._chance)
        moved = [p for p in players if world.scope_map.get(p.umo) != scope_map.get(p.umo)]
        for player in moved:
            await player.turning.acquire()
        try:
            world.turns_of_map += 1
            await world.rig.panel.map_scopes(scope_map)
            await world.rig.panel.activated()
            world.turns_of_map += 1
            world.scope_map = scope_map
            self.figures.reloads += 1
        finally:
            for player in moved:
                player.turning.release()

    async def _kill(self, world: World, players: Sequence[BotPlayer]) -> None:
        """In the middle of everything; compare; start again."""
        rig = world.rig
        self._look_at_log(rig)
        world.up.clear()
        world.gone.set()
        await asyncio.to_thread(rig.bot.kill9)
        self.figures.kills += 1
        for player in players:  # until all have noticed
            async with player.turning:
                pass
        await compare(rig.bot.plugin_data, world.ledger, self.figures)
        world.gone.clear()
        self._life += 1
        await rig.start()
        world.up.set()

    async def _sample(self, world: World) -> None:
        while True:
            await asyncio.sleep(1)
            if world.up.is_set() and world.rig.bot.running:
                now = family(world.rig.bot.pid)
                sample = Sample(self._life, "open", now.rss_mb, now.handles, now.threads)
                sample.memories = len(world.ledger)
                self.figures.samples.append(sample)

    def _look_at_log(self, rig: Rig) -> None:
        """Our own warnings by their first words; a traceback that names us is a failure."""
        text = rig.bot.logs()
        for block in text.split("Traceback (most recent call last)")[1:]:
            if "astrbot_plugin_scoped_memory" in block[:6000]:
                self.figures.failures.append({"event": "error", "said": block[:3000]})
        for record in parse_log(text):
            if record.ours and record.level not in {"INFO", "DBUG", "DEBUG"}:
                self.figures.notices[f"{record.level} {record.text[:40]}"] += 1


async def bot_soak(root: Path, *, seconds: float, kills: int, seed: int) -> Figures:
    """``seconds`` of talk, not counting what starts take."""
    return await BotSoak(root, seconds=seconds, kills=kills, seed=seed).run()
