"""The engine alone, over its own parts: recall by stage, writes, and what holds up the loop."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from gauges import Stalls, spread, synced_appends, watched_loop
from samples import FAMILY, memories, questions, write_vault

from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    ContextLine,
    ConversationId,
    Engine,
    EnginePaths,
    EngineSettings,
    MemoryDraft,
    Voice,
    build_engine,
    local_now,
)
from astrbot_plugin_scoped_memory.llm_memory.text.hit_line import fence
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts

HERE = ConversationId.parse("aiocqhttp:GroupMessage:777")
ELSEWHERE = ConversationId.parse("aiocqhttp:GroupMessage:888")
_SETTINGS = EngineSettings(scope_map={HERE.umo: FAMILY.name})
_TOP, _TOKENS = 3, 600
_POLL_SECONDS = 0.05
_ENTRY_BYTES = 300


async def measure_engine(
    root: Path, size: int, *, embedder: str, queries: int, writes: int
) -> dict[str, Any]:
    """Opens an engine over ``size`` memories, lets it build its index, asks, and writes."""
    write_vault(root / "memory", memories(size))
    async with _running(root, embedder) as (engine, opened):
        async with watched_loop() as building:
            seconds = await _caught_up(engine)
        figures: dict[str, Any] = {
            "memories": size,
            "embedder": embedder,
            "open_seconds": round(opened, 3),
            "build": _rate(size, seconds, building),
            "recall_ms": await _recalls(engine, queries),
            "recall_in_talk_ms": await _recalls(engine, queries, in_talk=True),
        }
        if writes:
            figures["write"] = await _writes(engine, writes, root / "plain")
    return figures


@asynccontextmanager
async def _running(root: Path, embedder: str) -> AsyncIterator[tuple[Engine, float]]:
    """The engine and how long its vault took to open."""
    engine = build_engine(EnginePaths.under(root), _SETTINGS)
    began = time.perf_counter()
    await engine.open()
    opened = time.perf_counter() - began
    task = asyncio.create_task(engine.run(engine.parts.bundled if embedder == "bundled" else None))
    try:
        yield engine, opened
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await engine.close()


async def _caught_up(engine: Engine) -> float:
    """Seconds until nothing is left to index."""
    began = time.perf_counter()
    while True:
        status = await engine.status()
        known = status.words if status.index == "lexical" else status.index
        if known == "ready" and not status.backlog:
            return time.perf_counter() - began
        await asyncio.sleep(_POLL_SECONDS)


def _rate(count: int, seconds: float, stalls: Stalls) -> dict[str, Any]:
    rate = round(count / seconds, 1)
    return {"seconds": round(seconds, 2), "a_second": rate, "stalls": stalls.summary()}


async def _recalls(
    engine: Engine, count: int, *, in_talk: bool = False
) -> dict[str, dict[str, float]]:
    """Milliseconds of a recall, of what is injected of it, and of both; asked in two scopes by
    turns, ``in_talk`` after two more sentences, the asker's own and the bot's."""
    texts = Texts("zh-CN")
    stages: dict[str, list[float]] = defaultdict(list)
    asked = questions(count + 2)
    for number, text in enumerate(asked):
        where = HERE if number % 2 else ELSEWHERE
        before = [asked[number - 1], asked[number - 2]] if in_talk else []
        view, now = await engine.service.view(conversation_id=where), local_now()
        context = [
            ContextLine(voice, line, now, view)
            for voice, line in zip((Voice.ASKER, Voice.BOT), before, strict=False)
        ]
        began = time.perf_counter()
        recall = await engine.service.recall(
            text,
            conversation_id=where,
            limit=_TOP,
            token_budget=_TOKENS,
            context=context,
        )
        found = time.perf_counter()
        fence(recall.hits, texts)
        ended = time.perf_counter()
        if number < 2:  # the first questions wake up caches
            continue
        stages["recall"].append(recall.trace.milliseconds)
        stages["inject"].append((ended - found) * 1000)
        stages["total"].append((ended - began) * 1000)
    return {stage: spread(values) for stage, values in stages.items()}


async def _writes(engine: Engine, count: int, plain: Path) -> dict[str, Any]:
    """Acknowledged one after the other; then the index follows. Beside them appends to the file
    ``plain`` on the same disk."""
    actor = Actor("aiocqhttp:10001", "小明")
    fresh = memories(count, seed=7)
    acknowledged = []
    began = time.perf_counter()
    async with watched_loop() as stalls:
        for number, stored in enumerate(fresh):
            draft = MemoryDraft(f"{stored.memory.judgment}，新的第 {number} 条", actor=actor)
            before = time.perf_counter()
            await engine.service.remember(draft, conversation_id=HERE)
            acknowledged.append((time.perf_counter() - before) * 1000)
        await _caught_up(engine)
    figures = _rate(count, time.perf_counter() - began, stalls)
    appended = spread(await asyncio.to_thread(synced_appends, plain, count, _ENTRY_BYTES))
    told = spread(acknowledged)
    return {
        "memories": count,
        "acknowledged_ms": told,
        "plain_append_ms": appended,
        "acknowledged_by_append_p50": round(told["p50"] / appended["p50"], 2),
        "acknowledged_by_append_p95": round(told["p95"] / appended["p95"], 2),
    } | figures
