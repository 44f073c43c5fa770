"""Writes memories that pass no checks: adopted, migrated and restored ones."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from itertools import batched
from typing import Final

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
from .corrected_statements import CorrectedStatements
from .draft_checks import not_written
from .rules.routing import route

_SLICE: Final = 50
"""Memories enqueued for the indexes before control returns to the event loop."""


class Intake:
    """Takes batches as they are. The caller is responsible for their scope, and for idempotent ids:
    a record has the same id each time it is brought."""

    def __init__(
        self,
        vault: MarkdownVault,
        catalogue: Catalogue,
        recallable: RecallableMemories,
        notices: NoticeBoard,
        state: SqliteStateStore,
        corrected: CorrectedStatements,
    ) -> None:
        self._vault = vault
        self._catalogue = catalogue
        self._recallable = recallable
        self._notices = notices
        self._state = state
        self._brought: set[str] = set()
        self._corrected = corrected
        self._closed = False
        self._begun: set[asyncio.Task[list[StoredMemory]]] = set()

    async def take(self, scope: Scope, memories: Sequence[Memory]) -> list[StoredMemory]:
        """Write what the scope does not hold yet, and make it recallable. Returns what was written.

        An entry that the scope has, or that was forgotten or corrected there, is not changed: a
        repeated batch adds nothing. A batch that was begun is completed also if the caller is
        cancelled.

        Raises:
            VaultWriteFailed: some may have been written; a repetition writes the rest.
            EngineClosed: nothing was written.
        """
        if self._closed:
            raise EngineClosed("the engine is closed")
        task = asyncio.create_task(self._take(scope, memories))
        self._begun.add(task)
        task.add_done_callback(self._begun.discard)
        return await asyncio.shield(task)

    async def strengthen(self, scope: Scope, memories: Sequence[Memory]) -> None:
        """Update the scope's entries that have these ids: each gets the larger strength, and the
        notes on its origin. Its words are kept.

        Raises VaultWriteFailed, EngineClosed.
        """
        if self._closed:
            raise EngineClosed("the engine is closed")
        async with self._recallable.writing:
            for memory in memories:
                stored = self._catalogue.get(Key(scope.name, memory.memory_id))
                if stored is None:
                    continue
                stronger = merged_memory(stored.memory, memory)
                if stronger != stored.memory:
                    try:
                        known = await asyncio.to_thread(self._vault.replace, stored, stronger)
                    except KeyError:  # a person has just changed it: the edit wins
                        continue
                    self._recallable.take(known)

    async def close(self) -> None:
        """Wait for batches that were begun. Idempotent."""
        self._closed = True
        await asyncio.gather(*self._begun, return_exceptions=True)

    async def _take(self, scope: Scope, memories: Sequence[Memory]) -> list[StoredMemory]:
        async with self._recallable.writing:
            forgotten = await asyncio.to_thread(
                self._vault.forgotten, scope, {memory.memory_id for memory in memories}
            )
            fresh = {
                memory.memory_id: memory
                for memory in memories
                if memory.memory_id not in forgotten
                and self._catalogue.get(Key(scope.name, memory.memory_id)) is None
            }
            corrected = await asyncio.to_thread(self._corrected_of, scope, fresh.values())
            fresh = {name: memory for name, memory in fresh.items() if name not in corrected}
            if not fresh:
                return []
            await self._note(scope)
            entries = [(_topic(memory), memory) for memory in fresh.values()]
            try:
                stored = await asyncio.to_thread(self._vault.append_many, scope, entries)
            except PartlyWritten as error:
                await self._know(error.written)
                not_written(error, self._notices)
                raise
            except VaultWriteFailed as error:
                not_written(error, self._notices)
                raise
            self._notices.clear(NoticeCode.VAULT_UNWRITABLE)
            await self._know(stored)
        return stored

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

    def _corrected_of(self, scope: Scope, memories: Iterable[Memory]) -> set[str]:
        return {
            memory.memory_id
            for memory in memories
            if self._corrected.texts.would_revive(scope.name, memory, memory.created_at)
        }

    async def _know(self, written: Sequence[StoredMemory]) -> None:
        for some in batched(written, _SLICE):
            for stored in some:
                self._recallable.take(stored)
            await asyncio.sleep(0)
        logger.debug("{} memories taken in", len(written))


def _topic(memory: Memory) -> Topic:
    obeyed = memory.provenance.trusted and not memory.quoted
    return route(memory.kind, memory.judgment, trusted=obeyed)
