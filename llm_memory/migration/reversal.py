"""Gives other people's records back the metadata that they had, from the notes that were made."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence

from ..models.migration import Job, Outcome
from .migration_store import SqliteMigrationStore
from .ports import ForeignCollection, ForeignRecord, Value


class ScopeReversal:
    """A ``Walk`` over what a scope migration has patched. What it has done is noted nowhere but in
    the notes that are gone by then, so it can be stopped and begun anew like any other."""

    def __init__(
        self, collection: ForeignCollection, store: SqliteMigrationStore, job: Job
    ) -> None:
        self._collection = collection
        self._store = store
        self._job = job
        self.restored = 0
        self.left = 0

    @property
    def name(self) -> str:
        """Of its own: the outcomes of the migration are not its own."""
        return f"reverse-{self._job.name}"

    async def list(self) -> Sequence[str]:
        """The records that were patched."""
        return list(await asyncio.to_thread(self._store.before, self._job.name))

    async def step(self, ids: Sequence[str]) -> Sequence[Outcome]:
        """Restore some, field by field; what was written into them since then goes, too."""
        await asyncio.to_thread(self._restore, ids)
        return ()

    def _restore(self, ids: Sequence[str]) -> None:
        job = self._job.name
        noted = {one: json.loads(text) for one, text in self._store.before(job, ids).items()}
        there: set[str] = set()

        def decide(
            records: Sequence[ForeignRecord],
        ) -> Mapping[str, Mapping[str, Value | None]]:
            there.update(one.record_id for one in records)
            return {
                one.record_id: differences(one.metadata, noted[one.record_id])
                for one in records
                if one.record_id in noted
            }

        self._collection.change(ids, decide)
        # From now on no walk looks at it or patches it.
        self._store.forget_outcomes(job, ids)
        self._store.drop_before(job, ids)
        self.restored += len(there)
        self.left += len(ids) - len(there)


def differences(
    now: Mapping[str, object] | None, before: Mapping[str, Value] | None
) -> dict[str, Value | None]:
    """What makes ``before`` of ``now``, merged key by key: None removes a key."""
    present, wanted = dict(now or {}), dict(before or {})
    gone: dict[str, Value | None] = {key: None for key in present if key not in wanted}
    return gone | {
        key: value
        for key, value in wanted.items()
        if key not in present or not _same(present[key], value)
    }


def _same(one: object, other: object) -> bool:
    return type(one) is type(other) and one == other
