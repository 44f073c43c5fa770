"""The walk over what was staged of other plugins' stores: a batch of records at a time into the
vault."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ..catalogue.catalogue import Catalogue
from ..errors import StateUnavailable
from ..log import logger
from ..models.data_models import Memory, StoredMemory
from ..models.key import Key
from ..models.migration import Added, Job, Outcome, WalkBatch
from ..models.scope import Scope
from ..remember.intake import Intake
from ..vault.markdown_vault import MarkdownVault
from .adoption_staging import AdoptionStaging
from .legacy_vectors import LegacyVectors
from .migration_store import SqliteMigrationStore
from .rules.legacy_records import planned_scope
from .scope_migration import entry_digest


class AdoptionWalk:
    """Implements ``Walk`` over one batch."""

    def __init__(
        self,
        job: Job,
        batch: str,
        staging: AdoptionStaging,
        store: SqliteMigrationStore,
        catalogue: Catalogue,
        intake: Intake,
        vectors: LegacyVectors,
        vault: MarkdownVault,
    ) -> None:
        self._job = job
        self._batch = batch
        self._staging = staging
        self._store = store
        self._catalogue = catalogue
        self._intake = intake
        self._vectors = vectors
        self._vault = vault
        self._archived: set[str] = set()
        """Ids of what may have been forgotten anywhere, as it was when the walk began."""

    @property
    def name(self) -> str:
        """The job's."""
        return self._job.name

    async def list(self) -> Sequence[str]:
        """All that was planned."""
        self._archived = await asyncio.to_thread(self._vault.archived_ids)
        return await asyncio.to_thread(self._staging.ids, self._batch)

    async def step(self, ids: Sequence[str]) -> WalkBatch:
        """Into the vault and the index of words; vectors that are there already are handed over."""
        rows = await asyncio.to_thread(self._staging.rows, self._batch, ids)
        places: dict[Scope, dict[str, Memory]] = {}
        first: dict[tuple[str, str], str] = {}
        for planned, memory in rows:
            if memory is None:  # it was in the vault before, and the batch was taken back
                continue
            scope = planned_scope(planned.scope)
            places.setdefault(scope, {})[planned.memory_id] = memory
            first.setdefault((planned.scope, planned.memory_id), planned.record_id)
        for scope, memories in places.items():
            await self._bring(scope, memories, first)
        outcomes = [
            Outcome(one.record_id, one.fate, None, one.scope, one.memory_id, one.reason)
            for one, _ in rows
        ]
        return WalkBatch(tuple(outcomes))

    async def _bring(
        self, scope: Scope, memories: dict[str, Memory], first: dict[tuple[str, str], str]
    ) -> None:
        ids = set(memories)
        forgotten = await asyncio.to_thread(self._vault.forgotten, scope, ids)
        there = {i: stored for i in ids if (stored := self._living(i)) is not None}
        gone = forgotten | self._archived
        fresh = [memories[i] for i in memories if i not in there and i not in gone]
        # Noted before it is written: taking the batch back needs all of it.
        added = [
            Added(scope.name, m.memory_id, entry_digest(m), first[scope.name, m.memory_id])
            for m in fresh
        ]
        await asyncio.to_thread(self._store.keep_added, self._batch, added)
        try:
            await self._vectors.give(self._batch, [StoredMemory(scope, "", m) for m in fresh])
        except StateUnavailable as error:
            logger.debug("旧向量读不出来：{}", error)
        await self._intake.take(scope, fresh)
        for memory_id, stored in there.items():
            await self._intake.strengthen(stored.scope, [memories[memory_id]])

    def _living(self, memory_id: str) -> StoredMemory | None:
        """Wherever: an id is made of the scope, too, so elsewhere a person has moved it there."""
        keys = (Key(name, memory_id) for name in self._catalogue.counts())
        return next((stored for key in keys if (stored := self._catalogue.get(key))), None)
