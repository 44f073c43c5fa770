"""Turns that are said, and answers that a reader of them gives, for the tests of reflection."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    ConversationId,
    EngineSettings,
    LoopSettings,
    ReflectionReport,
    Ticket,
    Turn,
)
from astrbot_plugin_scoped_memory.llm_memory.models.loop import Batch
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.support.engines import (
    QUICK,
    Rig,
    Ticker,
    group,
    person,
    running,
)

FAMILY = group(777)
TOLD = {
    code: Texts.of("zh").say(f"reader.{code}") for code in ("instructions", "decisions", "manner")
}
"""What a model is told that reads turns."""


class StandingClock:
    """A clock that moves when a test moves it."""

    def __init__(self, now: datetime = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **amount: float) -> None:
        """``timedelta``'s words; below zero it goes back."""
        self.now += timedelta(**amount)


@dataclass
class Bot(Rig):
    """An open engine whose turns a scripted model reads."""

    chat: ScriptedChat

    async def read_due(self) -> ReflectionReport:
        """What is due is read."""
        return await self.engine.reflection.read_due()

    async def hears(
        self, text: str, *memories: dict[str, Any], where: ConversationId = FAMILY, **more: Any
    ) -> ReflectionReport:
        """Somebody says it, and the model answers these memories. ``more``: of the answer, or of
        the turn, as ``say`` takes it."""
        of_turn = {key: more.pop(key) for key in ("who", "recalled", "reply") if key in more}
        self.chat.say([answer(*memories, **more)])
        await say(self, text, where=where, **of_turn)
        return await reflect(self, where)


@contextlib.asynccontextmanager
async def reading(
    root: Path, clock: StandingClock | Ticker | None = None, **options: Any
) -> AsyncIterator[Bot]:
    """A bot over ``root``."""
    chat = ScriptedChat()
    async with running(root, chat=chat, clock=clock, **options) as rig:
        yield Bot(**vars(rig), chat=chat)


def with_loop(settings: EngineSettings = QUICK, **changes: Any) -> EngineSettings:
    """The settings with another memory loop."""
    loop: LoopSettings = replace(settings.loop, **changes)
    return replace(settings, loop=loop)


async def say(
    rig: Rig,
    text: str,
    *,
    where: ConversationId = FAMILY,
    who: Actor | None = None,
    recalled: tuple[str, ...] = (),
    reply: str = "好的",
    stored: tuple[str, ...] = (),
) -> Ticket:
    """A finished turn, queued."""
    turn = Turn(who or person(1), text, reply, recalled, stored=stored)
    ticket = await rig.engine.service.observe(turn, conversation_id=where)
    assert isinstance(ticket, Ticket), ticket
    return ticket


def dead_letters(rig: Rig) -> list[Batch]:
    """The batches that were given up."""
    batches = rig.engine.parts.turns.batches()
    return [batch for batch in batches if batch.error]


async def reflect(rig: Rig, where: ConversationId = FAMILY) -> ReflectionReport:
    """What waits of a conversation, read at once."""
    return await rig.engine.reflection.reflect(conversation=where.umo)


def learned(judgment: str, **more: Any) -> dict[str, Any]:
    """One memory, as a reader words it."""
    return {"judgment": judgment, "turn": 1, **more}


def answer(*memories: dict[str, Any], **more: Any) -> str:
    """A whole answer."""
    return json.dumps({"new_memories": list(memories), **more}, ensure_ascii=False)


def texts_of(rig: Rig) -> dict[str, list[str]]:
    """Every memory that lives, by scope."""
    found: dict[str, list[str]] = {}
    for stored in rig.engine.parts.catalogue.all():
        found.setdefault(stored.scope.name, []).append(stored.memory.judgment)
    return {scope: sorted(texts) for scope, texts in found.items()}
