"""The memories of the vault, and the notes of what batches brought into it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..catalogue.catalogue import Catalogue
from ..catalogue.recallable_memories import RecallableMemories
from ..models.data_models import Memory, StoredMemory
from ..models.migration import Added
from ..models.scope import Scope
from ..text.normalising import content_hash
from ..vault.markdown.entry import render
from ..vault.markdown_vault import MarkdownVault
from .migration_store import SqliteMigrationStore


@dataclass(frozen=True, slots=True)
class Holdings:
    """What the walks go over: the notes of the batches, and the memories."""

    store: SqliteMigrationStore
    vault: MarkdownVault
    catalogue: Catalogue
    recallable: RecallableMemories

    def note(self, batch: str, added: Sequence[Added]) -> None:
        """Note what a batch brings as it is now, whether or not it was noted before. Blocks."""
        self.store.keep_added(batch, added)
        self.store.renew_added(batch, added)

    async def move(self, stored: StoredMemory, target: Scope) -> StoredMemory | None:
        """Move one memory: no write waits for more than that. Returns None where a person has
        changed it or taken it out. Raises VaultWriteFailed."""
        async with self.recallable.writing:
            try:
                moved = await asyncio.to_thread(self.vault.move, stored, target)
            except KeyError:
                return None
            self.recallable.drop(stored)
            self.recallable.take(moved)
        return moved


def entry_digest(memory: Memory) -> str:
    """Returns what changes with anything that a person or the bot changes of a memory, but for the
    questions that a night writes for what was brought."""
    return content_hash(render(replace(memory, asks=())))
