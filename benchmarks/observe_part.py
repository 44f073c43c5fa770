"""What the memory loop adds to a turn while somebody waits: the append to its queue."""

from __future__ import annotations

import shutil
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from bot_part import ask_all, new_bot
from gauges import spread
from samples import questions

from astrbot_plugin_scoped_memory.harness.model import ScriptedModel
from astrbot_plugin_scoped_memory.harness.release import install
from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    ConversationId,
    EnginePaths,
    EngineSettings,
    Ticket,
    Turn,
    build_engine,
)

_HERE = ConversationId.parse("benchmark:GroupMessage:1")


async def measure_observe(root: Path, *, turns: int) -> dict[str, Any]:
    """Two bots of one run, asked by turns; their queue holds no more than these turns."""
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(ScriptedModel())
        bare, full = [await new_bot(stack, root / name, model) for name in ("bare", "full")]
        install(full.process.plugins)
        for bot in (bare, full):
            await bot.start()
        await full.indexed(0)
        turn = await ask_all({"bare": bare, "full": full}, turns)
        status = await full.panel.ready()
        for bot in (bare, full):
            await bot.stop()
    append = await _append(root / "engine", turns)
    return {
        "memories": 0,
        "turns": turns,
        "turn": turn,
        "loop": status["loop"],
        "append_ms": append,
    }


async def _append(root: Path, turns: int) -> dict[str, float]:
    """Stripping, hiding and writing one turn after the other, milliseconds: no bot around it."""
    engine = build_engine(EnginePaths.under(root), EngineSettings())
    await engine.open()
    took = []
    for number, text in enumerate(questions(turns)):
        turn = Turn(Actor(f"benchmark:{number % 3}", "小明"), text * 5, text * 20)
        began = time.perf_counter()
        outcome = await engine.service.observe(turn, conversation_id=_HERE)
        took.append((time.perf_counter() - began) * 1000)
        if not isinstance(outcome, Ticket):
            message = f"not queued: {outcome}"
            raise TypeError(message)
    await engine.close()
    shutil.rmtree(root)
    return spread(took)
