"""Memories as somebody said them, for tests of rules: what a test does not name is as usual."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from astrbot_plugin_scoped_memory.llm_memory.models.data_models import (
    Memory,
    Provenance,
    Source,
    StoredMemory,
)
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope
from astrbot_plugin_scoped_memory.llm_memory.models.turns import QueuedTurn

NOW = datetime(2026, 11, 21, 18, 0, tzinfo=UTC)
FAMILY = Scope.parse("家人")


def memory(
    text: str = "一件事",
    number: int = 0,
    *,
    who: str = "小明",
    account: str | None = None,
    source: Source = Source.REFLECTION,
    trusted: bool = False,
    at: datetime = NOW,
    **more: Any,
) -> Memory:
    """Its id is ``m-<number>``. ``account``: that of the speaker, who is called by it else."""
    person = f"aiocqhttp:{who}" if account is None else account
    origin = Provenance(who, person, "q:GroupMessage:7", source, trusted)
    return replace(Memory(f"m-{number:04d}", text, at, provenance=origin), **more)


def stored(
    text: str = "一件事",
    number: int = 0,
    *,
    scope: Scope = FAMILY,
    path: str = "entities.md",
    **more: Any,
) -> StoredMemory:
    """The same in a file. ``more``: of the memory."""
    return StoredMemory(scope, path, memory(text, number, **more))


def turn(text: str, person: str = "q:1", who: str = "小明", **more: Any) -> QueuedTurn:
    """One that waits to be read."""
    made = QueuedTurn("t-1", "家人", "q:GroupMessage:7", "", NOW, person, who, text, "好的")
    return replace(made, **more)
