"""Scoped long-term memory, without any bot framework.

>>> engine = build_engine(EnginePaths.under(Path("data")), EngineSettings())
>>> await engine.open()
>>> here = ConversationId.parse("aiocqhttp:GroupMessage:777")
>>> await engine.service.remember(MemoryDraft("奶奶对花生过敏"), conversation_id=here)
>>> await engine.service.recall("奶奶能吃花生吗", conversation_id=here, limit=3, token_budget=600)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import *  # noqa: F403  (its __all__ says what)


def __getattr__(name: str) -> Any:
    """Load the engine when something of it is asked for: a program that passes calls on to another
    process starts without."""
    if name.startswith("__") and name != "__all__":
        raise AttributeError(name)
    return getattr(import_module(".api", __name__), name)
