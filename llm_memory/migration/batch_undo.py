"""Takes back what an adoption brought into the vault, by its batch; and brings it again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ..catalogue.catalogue import Catalogue, entry_key
from ..catalogue.recallable_memories import RecallableMemories
from ..log import logger
from ..models.conversation import Actor
from ..models.key import Key
from ..models.migration import Added, WalkBatch
from ..models.scope import Scope
from ..runtime.identifiers import Clock
from ..vault.markdown_vault import MarkdownVault
from .migration_store import SqliteMigrationStore
from .scope_migration import entry_digest

BY = Actor(person="", name="迁移", admin=True)
"""Who stands in the archive for having forgotten them."""


class TakeBack:
    """A ``Walk`` over the memories of a batch: those that are as they came go to the archive.

    What a person or the bot has changed since then, moved or forgotten is left as it is, and
    counted.
    """

    def __init__(
        self,
        batch: str,
        store: SqliteMigrationStore,
        vault: MarkdownVault,
        catalogue: Catalogue,
        living: RecallableMemories,
        clock: Clock,
    ) -> None:
        self._batch = batch
        self._store = store
        self._vault = vault
        self._catalogue = catalogue
        self._living = living
        self._clock = clock
        self.taken = 0
        self.left = 0

    @property
    def name(self) -> str:
        """Of its own."""
        return f"take-back-{self._batch}"

    async def list(self) -> Sequence[str]:
        """The memories that the batch brought and that were not taken back."""
        added = await asyncio.to_thread(self._store.added, self._batch)
        self.left = 0
        return [f"{one.scope}/{one.memory_id}" for one in added if one.digest]

    async def step(self, ids: Sequence[str]) -> WalkBatch:
        """Some of them. One that was archived before a crash is found archived."""
        keys = [Key(*one.split("/", 1)) for one in ids]
        added = await asyncio.to_thread(
            self._store.added, self._batch, [key.memory_id for key in keys]
        )
        digests = {Key(one.scope, one.memory_id): one.digest for one in added}
        async with self._living.writing:
            living = {key: self._catalogue.get(key) for key in keys}
            as_they_came = [
                stored
                for key, stored in living.items()
                if stored is not None and entry_digest(stored.memory) == digests[key]
            ]
            at = self._clock().replace(microsecond=0)
            done = await asyncio.to_thread(self._vault.archive_many, as_they_came, by=BY, at=at)
            for stored in done:
                self._living.drop(stored)
        missing = [key for key, stored in living.items() if stored is None]
        taken = [entry_key(stored) for stored in done]
        taken += await asyncio.to_thread(self._taken_before, missing)
        await asyncio.to_thread(self._store.mark_taken_back, self._batch, taken)
        self.taken += len(taken)
        self.left += len(keys) - len(taken)
        return WalkBatch()

    def _taken_before(self, keys: Sequence[Key]) -> Sequence[Key]:
        """Those that we archived before a crash. Blocks."""
        by_scope: dict[str, set[str]] = {}
        for key in keys:
            by_scope.setdefault(key.scope, set()).add(key.memory_id)
        return [
            Key(name, memory_id)
            for name, ids in by_scope.items()
            if (scope := self._vault.named(name)) is not None
            for memory_id in sorted(self._vault.forgotten(scope, ids, by=BY))
        ]


class BringBack:
    """A ``Walk`` over what was taken back: out of the archive again."""

    def __init__(
        self,
        batch: str,
        store: SqliteMigrationStore,
        vault: MarkdownVault,
        living: RecallableMemories,
    ) -> None:
        self._batch = batch
        self._store = store
        self._vault = vault
        self._living = living
        self._scopes: dict[str, Scope] = {}

    @property
    def name(self) -> str:
        """Of its own."""
        return f"bring-back-{self._batch}"

    async def list(self) -> Sequence[str]:
        """Those without a digest."""
        scopes = await asyncio.to_thread(self._vault.scopes)
        self._scopes = {scope.name: scope for scope in scopes}
        added = await asyncio.to_thread(self._store.added, self._batch)
        return [f"{one.scope}/{one.memory_id}" for one in added if not one.digest]

    async def step(self, ids: Sequence[str]) -> WalkBatch:
        """Some of them. One that is in no archive any more is brought by its adoption."""
        back: list[Added] = []
        for key in (Key(*one.split("/", 1)) for one in ids):
            scope = self._scopes.get(key.scope)
            if scope is None:
                continue
            async with self._living.writing:
                stored = await asyncio.to_thread(self._vault.restore, scope, key.memory_id)
                if stored is not None:
                    self._living.take(stored)
                    digest = entry_digest(stored.memory)
                    back.append(Added(key.scope, key.memory_id, digest))
        await asyncio.to_thread(self._store.renew_added, self._batch, back)
        logger.debug("从存档取回 {} 条", len(back))
        return WalkBatch()
