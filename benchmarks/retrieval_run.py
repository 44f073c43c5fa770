"""A real engine over a benchmark's vault."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from labelled import Library

from astrbot_plugin_scoped_memory.llm_memory import (
    EnginePaths,
    EngineSettings,
    Pace,
    build_engine,
)
from astrbot_plugin_scoped_memory.llm_memory.composition.engine import Engine
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Embedder

_POLL_SECONDS = 0.05
_PATIENCE_SECONDS = 300.0
"""Longer than a model takes to load, or a batch to be embedded, on a slow machine."""
# Nobody waits for this bot: no pauses between writes, and no question is cut short.
_PACE = Pace(pause_seconds=0.0, query_seconds=60.0)


@dataclass
class BenchClock:
    """Stands where a question is asked."""

    now: datetime = datetime(2024, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def named_embedder(name: str | None, engine: Engine) -> Embedder | None:
    """None for ``lexical`` or nothing; ``bundled``, or a model's folder or name."""
    if name in (None, "", "lexical"):
        return None
    if name == "bundled":
        assert engine.parts.bundled is not None, "this Python can start no process"  # noqa: S101
        return engine.parts.bundled
    return engine.parts.local(str(name))


@asynccontextmanager
async def followed(engine: Engine, embedder: Embedder | None) -> AsyncIterator[Engine]:
    """Open inside, and its indexes follow."""
    await engine.open()
    task = asyncio.create_task(engine.run(embedder))
    try:
        yield engine
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await engine.close()


@asynccontextmanager
async def running(
    root: Path,
    library: Library,
    clock: BenchClock,
    embedder: str | None,
    *,
    floor: float | None,
) -> AsyncIterator[Engine]:
    """Open, with its indexes followed. ``floor`` None is the one that is shipped."""
    paths = EnginePaths.under(root)
    settings = EngineSettings(
        scope_map=library.scope_map,
        relevance_floor=floor,
        pace=_PACE,
        embed_query_seconds=60.0,
        embed_write_seconds=600.0,
    )
    engine = build_engine(paths, settings, clock=clock)
    async with followed(engine, named_embedder(embedder, engine)):
        yield engine


class Stuck(Exception):
    """Nothing has changed for so long that nothing will."""


async def seconds_to_fill(engine: Engine, *, patience: float = _PATIENCE_SECONDS) -> float:
    """Until both indexes hold everything, and the embedder is examined.

    Raises:
        Stuck: for ``patience`` seconds nothing came nearer to that; the text says what stands
            in the way, as far as the engine knows.
    """
    began = moved = time.perf_counter()
    last: object = None
    while True:
        status = await engine.status()
        alone = status.index == "lexical"
        near = alone or (status.index == "ready" and bool(engine.parts.trust.cohorts))
        now = time.perf_counter()
        if near and status.words == "ready" and not status.backlog:
            return now - began
        troubles = "; ".join(f"{n.code}: {dict(n.params)}" for n in status.notices)
        examined = bool(engine.parts.trust.cohorts)
        seen = (status.index, status.words, status.backlog, examined, troubles)
        if seen != last:
            last, moved = seen, now
        elif now - moved > patience:
            raise Stuck(
                f"index {status.index}, words {status.words}, {status.backlog} to write, embedder"
                f" examined: {examined}; {troubles or 'no notice'}"
            )
        await asyncio.sleep(_POLL_SECONDS)
