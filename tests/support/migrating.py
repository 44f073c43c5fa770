"""An engine that brings a pre-scope plugin's records, and looks at what became of them."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.llm_memory import ConversationId
from astrbot_plugin_scoped_memory.llm_memory.models.migration import MigrationState, MigrationStatus
from astrbot_plugin_scoped_memory.tests.fakes.foreign_collection import InMemoryForeign
from astrbot_plugin_scoped_memory.tests.support.engines import Rig


def fields(judgment: str, **more: Any) -> dict[str, Any]:
    """A record's metadata as Angel Memory wrote it, with or without a scope."""
    return {
        "memory_type": "知识记忆",
        "judgment": judgment,
        "reasoning": "他自己说的",
        "tags": "日常",
        "strength": 40,
        "is_active": True,
        "associations": "{}",
        "created_at": 1_750_000_000.0,
        **more,
    }


def legacy(count: int, *, scope: str | None = None, first: int = 0) -> dict[str, dict[str, Any]]:
    """So many records by id, each with a word of its own."""
    named = {} if scope is None else {"memory_scope": scope}
    return {
        f"old-{number:05}": fields(f"小明在第{number}号柜子放了工具{number}x", **named)
        for number in range(first, first + count)
    }


def filled(records: Mapping[str, Mapping[str, Any] | None]) -> InMemoryForeign:
    """A collection in memory that holds them."""
    collection = InMemoryForeign()
    for record_id, metadata in records.items():
        judgment = (metadata or {}).get("judgment")
        collection.put(record_id, f"{judgment},  日常" if judgment else None, metadata)
    return collection


@contextlib.contextmanager
def held_at(source: InMemoryForeign, call: str) -> Iterator[None]:
    """Its server does not answer this call: without ``read`` no batch comes."""
    answered = threading.Event()
    source.before_call = lambda what: what != call or answered.wait(30)
    try:
        yield
    finally:
        answered.set()


@contextlib.asynccontextmanager
async def migrating(rig: Rig) -> AsyncIterator[None]:
    """The engine's migration runs behind."""
    task = asyncio.create_task(rig.engine.migrate())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def status_of(rig: Rig) -> MigrationStatus:
    """As the owner is told."""
    return (await rig.engine.status()).migration


async def until_status(rig: Rig, reached: Callable[[MigrationStatus], bool]) -> MigrationStatus:
    """Wait for a status, and take it."""

    async def look() -> MigrationStatus | None:
        status = await status_of(rig)
        return status if reached(status) else None

    return await until(look, within=60, what="a status of the migration", pause=0.005)


async def until_state(rig: Rig, *states: MigrationState) -> MigrationStatus:
    """Wait for one of the states."""
    return await until_status(rig, lambda status: status.state in states)


async def until_done(rig: Rig) -> MigrationStatus:
    """Wait for the end."""
    return await until_state(rig, "done")


async def until_told(rig: Rig, query: str, where: ConversationId) -> None:
    """Wait until the query recalls something."""

    async def look() -> bool:
        return bool(await rig.texts(query, where))

    await until(look, within=60, what="a memory that is recalled", pause=0.005)


def adds_up(status: MigrationStatus) -> bool:
    """Each record that was looked at came to one end, and was patched or passed over."""
    tally = status.tally
    ends = tally.adopted + tally.merged + tally.quarantined + tally.broken
    return ends == tally.scanned == tally.patched + tally.skipped
