"""Old memories enter the vault, whatever their source: planned against what stands there, noted for
their batch, and written."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence

from ..models.data_models import Memory, StoredMemory
from ..models.migration import Added
from ..models.passages import Key
from ..remember.memory_handlers import MemoryHandlers
from ..runtime.cooperative import cooperative
from .holdings import Holdings, entry_digest
from .rules.legacy_plan import Plan, Planned, plan
from .rules.legacy_records import Judged, planned_scope


class BatchIntake:
    """The one way of planned memories into the vault. Touched from the event loop, but for what
    blocks."""

    def __init__(
        self,
        holdings: Holdings,
        handlers: MemoryHandlers,
    ) -> None:
        self._store = holdings.store
        self._vault = holdings.vault
        self._catalogue = holdings.catalogue
        self._handlers = handlers
        self._archived: set[str] = set()
        """Ids of what may have been forgotten anywhere, as it was when the walk began."""

    async def look_at_archives(self) -> set[str]:
        """Read the ids in the archives of all scopes, at the beginning of a walk: an id there may
        have been forgotten where a person had moved it. Returns them."""
        self._archived = await asyncio.to_thread(self._vault.archived_ids)
        return self._archived

    def recallable(self) -> list[StoredMemory]:
        """Returns all memories: for ``plan``."""
        return list(self._catalogue.all())

    def plan(
        self,
        judged: Iterable[tuple[str, Judged]],
        recallable: Sequence[StoredMemory],
        gone: Collection[str] = (),
    ) -> Plan:
        """Returns what becomes of each record beside what is recallable. Blocks.

        An id is made of the scope, too. So where it is recallable in another scope, a person moved
        it there; and an id of ``gone`` that is recallable nowhere is one that a person wants no
        more: its records join it, and it is not brought.
        """
        lives = {one.memory.memory_id for one in cooperative(recallable)}
        return plan(
            judged,
            scopes={scope.name for scope in self._vault.scopes()},
            lives=lives,
            gone=gone,
            each=cooperative,
        )

    def forgotten(self, keys: Collection[Key]) -> set[Key]:
        """Returns those that a person has forgotten since an earlier walk brought them, here or
        where they were moved. Ask for none that is recallable. Blocks."""
        by_scope: dict[str, set[str]] = {}
        for scope, memory_id in keys:
            by_scope.setdefault(scope, set()).add(memory_id)
        return {key for key in keys if key.memory_id in self._archived} | {
            Key(scope, memory_id)
            for scope, ids in by_scope.items()
            for memory_id in self._vault.forgotten(planned_scope(scope), ids)
        }

    async def bring(
        self,
        batch: str,
        planned: Sequence[Planned],
        memories: Mapping[Key, Memory],
    ) -> None:
        """Write the memories of planned records, but for those that are recallable somewhere or
        were forgotten. A repetition writes the rest.

        ``memories``: what is to be brought; a key that is missing here is not.

        Raises StateUnavailable, VaultError, EngineClosed.
        """
        first: dict[Key, str] = {}
        for one in planned:
            if one.key in memories:
                first.setdefault(one.key, one.record_id)
        fresh = {key: memories[key] for key in first if not self._lives(key.memory_id)}
        for key in await asyncio.to_thread(self.forgotten, fresh):
            del fresh[key]
        added = [Added(*key, entry_digest(one), first[key]) for key, one in fresh.items()]
        # Noted before it is written: taking the batch back needs all of it.
        await asyncio.to_thread(self._store.keep_added, batch, added)
        by_scope: dict[str, list[Memory]] = {}
        for (name, _), memory in fresh.items():
            by_scope.setdefault(name, []).append(memory)
        for name, some in by_scope.items():
            await self._handlers.take(planned_scope(name), some)

    def _lives(self, memory_id: str) -> bool:
        """In any scope: a person may have moved it."""
        places = (Key(name, memory_id) for name in self._catalogue.counts())
        return any(self._catalogue.get(key) for key in places)
