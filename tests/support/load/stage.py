"""The engine that plays now, and its replacement by the next one, as a panel save does it."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from dataclasses import dataclass
from pathlib import Path

from astrbot_plugin_scoped_memory.llm_memory import (
    CognitiveService,
    Engine,
    EnginePaths,
    EngineSettings,
    IndexState,
    Notice,
    build_engine,
    log,
)
from astrbot_plugin_scoped_memory.tests.fakes.embedder import FakeEmbedder
from astrbot_plugin_scoped_memory.tests.support.load.cast import base_map, moved_map
from astrbot_plugin_scoped_memory.tests.support.load.voice import say
from astrbot_plugin_scoped_memory.tests.support.stalls import StallWatch
from astrbot_plugin_scoped_memory.tests.support.vitals import vitals

_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Scene:
    """An engine and the map that it was made with: whoever acts takes both at once."""

    engine: Engine
    scope_map: dict[str, str]

    @property
    def service(self) -> CognitiveService:
        """The engine's entry."""
        return self.engine.service


class Stage:
    """``scene`` is what plays now. Even scenes have the base map, odd ones another."""

    def __init__(self, root: Path, chance: random.Random) -> None:
        self._paths = EnginePaths.under(root)
        self._chance = chance
        self._count = 0
        self._following: asyncio.Task[None] | None = None
        self._turning = asyncio.Lock()
        self._opened = 0.0
        self._ready = False
        self.scene = self._new_scene()

    def _new_scene(self) -> Scene:
        scope_map = moved_map(self._chance) if self._count % 2 else base_map()
        self._count += 1
        settings = EngineSettings(scope_map=scope_map)
        engine = build_engine(self._paths, settings, on_notice=_posted)
        return Scene(engine, scope_map)

    async def open(self) -> None:
        """Open what plays now, its index behind."""
        engine = self.scene.engine
        started = time.monotonic()
        await engine.open()
        self._following = asyncio.create_task(engine.run(FakeEmbedder()))
        self._opened = time.monotonic()
        self._ready = False
        say("opened", scene=self._count, seconds=self._opened - started)

    async def close(self) -> None:
        """As the plugin does when it is reloaded."""
        async with self._turning:
            await self._close()

    async def _close(self) -> None:
        started = time.monotonic()
        drops = (await self.scene.engine.status()).scope_check_drops
        if self._following is not None:
            self._following.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._following
        await self.scene.engine.close()
        seconds = time.monotonic() - started
        now = vitals()
        say(
            "closed",
            seconds=seconds,
            rss=now.rss_mb,
            handles=now.handles,
            threads=now.threads,
            drops=drops,
        )

    async def reload(self) -> None:
        """Close, make the next one, open it. Who acts meanwhile is told that it is closed, or
        waits."""
        async with self._turning:
            await self._close()
            self.scene = self._new_scene()
            await self.open()

    async def turned(self, scene: Scene) -> None:
        """Wait until something else plays than ``scene``, which was found closed."""
        while self.scene is scene:  # noqa: ASYNC110  (fifty of us wait, now and then)
            await asyncio.sleep(_POLL_SECONDS)

    async def report(self, watch: StallWatch) -> None:
        """Tell how the process is, once a second, until cancelled."""
        while True:
            await asyncio.sleep(1)
            stalls, now = watch.take(), vitals()
            status = await self.scene.engine.status()
            if status.index is IndexState.READY and not self._ready:
                self._ready = True
                say("ready", seconds=time.monotonic() - self._opened)
            say(
                "vitals",
                loop_ms=round(stalls.loop_ms, 1),
                interpreter_ms=round(stalls.interpreter_ms, 1),
                where=stalls.where[:1500],
                rss=now.rss_mb,
                handles=now.handles,
                threads=now.threads,
                memories=status.total,
                index=str(status.index),
            )

    async def until_ready(self, seconds: float, *, caught_up: bool = False) -> bool:
        """Whether the index was ready in that time, and, if asked, had nothing left to do."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds), self._turning:
                while True:
                    status = await self.scene.engine.status()
                    done = not status.backlog or not caught_up
                    if status.index is IndexState.READY and done:
                        return True
                    await asyncio.sleep(_POLL_SECONDS)
        return False


def tell_warnings() -> None:
    """Tell what the engine logs from warnings up."""
    log.logger.add(_logged, level="WARNING", format="{message}")


def _logged(record: object) -> None:
    say("logged", text=str(record)[:300])


def _posted(notice: Notice) -> None:
    say("notice", code=str(notice.code), params=str(dict(notice.params))[:300])
