"""Writes memories that pass no checks: adopted, migrated and restored ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from itertools import batched
from typing import Any, Final

from ..catalogue.catalogue import Catalogue
from ..catalogue.recallable_memories import RecallableMemories
from ..catalogue.rules.merged_memory import merged_memory
from ..errors import EngineClosed, StateUnavailable, VaultWriteFailed
from ..log import logger
from ..models.data_models import Memory, StoredMemory, Topic
from ..models.passages import Key
from ..models.scope import Scope
from ..models.status import NoticeCode
from ..runtime.notice_board import NoticeBoard
from ..storage.state_store import SqliteStateStore
from ..vault.markdown_vault import MarkdownVault
from ..vault.models import PartlyWritten
from .deeds import Deeds
from .draft_checks import not_written
from .rules.routing import route

_SLICE: Final = 50
"""Memories enqueued for the indexes before control returns to the event loop."""


@dataclass(eq=False)
class Intake:
    """Takes batches as they are. The caller is responsible for their scope, and for idempotent ids:
    a record has the same id each time it is brought."""

    _vault: MarkdownVault
    _catalogue: Catalogue
    _recallable: RecallableMemories
    _notices: NoticeBoard
    _state: SqliteStateStore
    _deeds: Deeds
    _brought: set[str] = field(default_factory=set)
    _closed: bool = False
    _begun: set[asyncio.Task[Any]] = field(default_factory=set)

    async def take(self, scope: Scope, memories: Sequence[Memory]) -> list[StoredMemory]:
        """Write what the scope does not hold yet, and make it recallable. Returns what was written.

        An entry that the scope has, or that was forgotten or corrected there, is not changed: a
        repeated batch adds nothing. A batch that was begun is completed also if the caller is
        cancelled.

        Raises:
            VaultWriteFailed: some may have been written; a repetition writes the rest.
            EngineClosed: nothing was written.
        """
        return await self._completed(lambda: self._take(scope, memories))

    async def strengthen(self, scope: Scope, memories: Sequence[Memory]) -> None:
        """Update the scope's entries that have these ids: each gets the larger strength, and the
        notes on its origin. Its words are kept.

        Raises VaultWriteFailed, EngineClosed.
        """
        await self._completed(lambda: self._strengthen(scope, memories))

    async def close(self) -> None:
        """Refuse new batches. Returns once those that were begun are done."""
        self._closed = True
        if self._begun:
            await asyncio.wait(set(self._begun))

    async def _completed[T](self, step: Callable[[], Coroutine[Any, Any, T]]) -> T:
        if self._closed:
            raise EngineClosed("the engine is closed")
        task = asyncio.create_task(step())
        self._begun.add(task)
        task.add_done_callback(self._begun.discard)
        return await asyncio.shield(task)

    async def _strengthen(self, scope: Scope, memories: Sequence[Memory]) -> None:
        async with self._recallable.writing:
            for memory in memories:
                stored = self._catalogue.get(Key(scope.name, memory.memory_id))
                stronger = merged_memory(stored.memory, memory) if stored else None
                if stored is None or stronger is None or stronger == stored.memory:
                    continue
                try:
                    known = await asyncio.to_thread(self._vault.replace, stored, stronger)
                except KeyError:  # a person has just changed it: the edit wins
                    continue
                self._recallable.take(known)

    async def _take(self, scope: Scope, memories: Sequence[Memory]) -> list[StoredMemory]:
        async with self._recallable.writing:
            unknown = [
                memory
                for memory in memories
                if self._catalogue.get(Key(scope.name, memory.memory_id)) is None
            ]
            fresh = await asyncio.to_thread(self._wanted, scope, unknown)
            if not fresh:
                return []
            await self._note(scope)
            entries = [(_topic(memory), memory) for memory in fresh]
            try:
                stored = await asyncio.to_thread(self._vault.append_many, scope, entries)
            except VaultWriteFailed as error:
                await self._know(error.written if isinstance(error, PartlyWritten) else ())
                not_written(error, self._notices)
                raise
            self._notices.clear(NoticeCode.VAULT_UNWRITABLE)
            await self._know(stored)
        return stored

    def _wanted(self, scope: Scope, memories: Sequence[Memory]) -> list[Memory]:
        """Returns those that were neither forgotten nor corrected, each id once."""
        by_id = {memory.memory_id: memory for memory in memories}
        forgotten = self._vault.forgotten(scope, by_id.keys())
        would_revive = self._deeds.texts.would_revive
        return [
            memory
            for name, memory in by_id.items()
            if name not in forgotten and not would_revive(scope.name, memory, memory.created_at)
        ]

    async def _note(self, scope: Scope) -> None:
        """Record that this scope was brought, so that its folder is not taken for one whose map
        entry was lost."""
        if scope.name in self._brought:
            return
        self._brought.add(scope.name)
        try:
            await asyncio.to_thread(self._state.know_scopes, [scope.name], brought=True)
        except StateUnavailable as error:  # at the next start it will be taken for one
            logger.warning("state_not_written", error=error)

    async def _know(self, written: Sequence[StoredMemory]) -> None:
        for some in batched(written, _SLICE):
            for stored in some:
                self._recallable.take(stored)
            await asyncio.sleep(0)
        logger.debug("{} memories taken in", len(written))


def _topic(memory: Memory) -> Topic:
    obeyed = memory.provenance.trusted and not memory.quoted
    return route(memory.kind, memory.judgment, trusted=obeyed)
