"""A project's own store as its agent has it open."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from astrbot_plugin_scoped_memory.llm_memory.home.owned_store import OwnedStore
from astrbot_plugin_scoped_memory.llm_memory.home.settings import HomeSettings
from astrbot_plugin_scoped_memory.llm_memory.mcp_server.levels import (
    PROJECT,
    Level,
    Levels,
    global_conversation,
)
from astrbot_plugin_scoped_memory.llm_memory.mcp_server.tools import MemoryTools
from astrbot_plugin_scoped_memory.llm_memory.service.paths import EnginePaths


@asynccontextmanager
async def own_store(paths: EnginePaths) -> AsyncIterator[tuple[OwnedStore, MemoryTools]]:
    """The store of the project ``shop``, that finds by words, and the tools over it."""
    settings = HomeSettings(paths.data, embedding="lexical", language="en")
    store = OwnedStore(paths, settings, {}, "0.0.1")
    await store.open(shared=False)
    try:
        level = Level(PROJECT, store.memory, global_conversation("shop"), own_store=True)
        yield store, MemoryTools(Levels(level, level))
    finally:
        await store.close()
