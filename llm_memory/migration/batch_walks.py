"""Walks over what a batch brought into the vault: out of it again, and back."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

from ..catalogue.catalogue import entry_key
from ..log import logger
from ..models.conversation import Actor
from ..models.data_models import StoredMemory
from ..models.migration import Added, Outcome
from ..models.passages import Key, has_known_readers
from ..models.resolution import Remainder
from ..models.scope import Scope
from ..remember.rules.gate import told_in_confidence
from ..runtime.identifiers import Clock
from .former_scopes import FormerScopes
from .holdings import Holdings, entry_digest

TURN: Final = "turn"
"""Stands for the digest of what was brought and is no memory, but a queued turn."""
BY = Actor(person="", name="迁移", admin=True)
"""Who stands in the archive for having forgotten them."""


class _BatchWalk(ABC):
    """A ``Walk`` over memories of a batch.

    What a person or the bot has changed since the batch brought it, moved or forgotten is left as
    it is, and counted.

    Attributes:
        done: How many memories it was done to.
        left: How many were left as they are.
    """

    doing: ClassVar[str]

    def __init__(self, batch: str, holdings: Holdings) -> None:
        self._batch = batch
        self._holdings = holdings
        self.done = 0
        self.left = 0

    @property
    def name(self) -> str:
        """Of its own."""
        return f"{self.doing}-{self._batch}"

    async def list(self) -> Sequence[str]:
        """The memories that it is to be done to."""
        self.left = 0
        return [f"{key.scope}/{key.memory_id}" for key in await self._keys()]

    async def step(self, ids: Sequence[str]) -> Sequence[Outcome]:
        """Do it to some of them."""
        before = self.done
        await self._do([Key(*one.split("/", 1)) for one in ids])
        self.left += len(ids) - (self.done - before)
        return ()

    async def _keys(self) -> Iterable[Key]:
        """What the batch brought and did not go back yet."""
        added = await asyncio.to_thread(self._holdings.store.added, self._batch)
        return [_key(one) for one in added if one.digest and one.digest != TURN]

    @abstractmethod
    async def _do(self, keys: Sequence[Key]) -> None:
        """Do it to some, and count ``done`` up by those that it was done to."""

    async def _as_they_came(self, keys: Sequence[Key]) -> Sequence[StoredMemory]:
        """Returns the memories that are still as they were brought."""
        ids = [key.memory_id for key in keys]
        added = await asyncio.to_thread(self._holdings.store.added, self._batch, ids)
        digests = {_key(one): one.digest for one in added}
        return [
            stored
            for stored in map(self._holdings.catalogue.get, keys)
            if stored is not None and entry_digest(stored.memory) == digests[entry_key(stored)]
        ]

    async def _mark(self, keys: Sequence[Key]) -> None:
        """Note that these went back."""
        await asyncio.to_thread(self._holdings.store.mark_taken_back, self._batch, keys)
        self.done += len(keys)


class TakeBack(_BatchWalk):
    """Those that are as they came go to the archive."""

    doing = "take-back"

    def __init__(self, batch: str, holdings: Holdings, clock: Clock) -> None:
        super().__init__(batch, holdings)
        self._clock = clock

    async def _do(self, keys: Sequence[Key]) -> None:
        vault, recallable = self._holdings.vault, self._holdings.recallable
        async with recallable.writing:
            as_they_came = await self._as_they_came(keys)
            missing = [key for key in keys if self._holdings.catalogue.get(key) is None]
            at = self._clock().replace(microsecond=0)
            done = await asyncio.to_thread(vault.archive_many, as_they_came, by=BY, at=at)
            for stored in done:
                recallable.drop(stored)
        before = await asyncio.to_thread(self._taken_before, missing)
        await self._mark([*map(entry_key, done), *before])

    def _taken_before(self, keys: Sequence[Key]) -> Sequence[Key]:
        """Those that we archived before a crash. Blocks."""
        by_scope: dict[str, set[str]] = {}
        for key in keys:
            by_scope.setdefault(key.scope, set()).add(key.memory_id)
        return [
            Key(name, memory_id)
            for name, ids in by_scope.items()
            if (scope := self._holdings.vault.named(name)) is not None
            for memory_id in sorted(self._holdings.vault.forgotten(scope, ids, by=BY))
        ]


class BringBack(_BatchWalk):
    """What was taken back comes out of the archive again. What is in no archive any more is brought
    by its adoption."""

    doing = "bring-back"

    async def _keys(self) -> Iterable[Key]:
        added = await asyncio.to_thread(self._holdings.store.added, self._batch)
        return [_key(one) for one in added if not one.digest]

    async def _do(self, keys: Sequence[Key]) -> None:
        vault, recallable = self._holdings.vault, self._holdings.recallable
        back: list[Added] = []
        for key in keys:
            scope = vault.named(key.scope)
            if scope is None:
                continue
            async with recallable.writing:
                for stored in await asyncio.to_thread(vault.restore, scope, [key.memory_id]):
                    recallable.take(stored)
                    back.append(_added(stored, scope))
        await asyncio.to_thread(self._holdings.store.renew_added, self._batch, back)
        self.done += len(back)
        logger.debug("{} memories brought back from the archive", len(back))


class Carry(_BatchWalk):
    """What belongs to a conversation moves from a former scope of its own to the present one."""

    doing = "carry"

    def __init__(
        self, batch: str, holdings: Holdings, remainder: Remainder, former: FormerScopes
    ) -> None:
        super().__init__(batch, holdings)
        self._remainder = remainder
        self._former = former

    async def _keys(self) -> Iterable[Key]:
        return map(entry_key, self._former.memories(self._remainder))

    async def _do(self, keys: Sequence[Key]) -> None:
        target = self._remainder.target
        refused = self._former.book.no_confidence(target)
        for stored in map(self._holdings.catalogue.get, keys):
            if stored is None or (
                refused and told_in_confidence(stored.memory, *stored.memory.extra)
            ):
                continue
            if not has_known_readers(target, stored.memory):
                continue
            # Before it moves: a crash in between leaves a note of what did not move, and a taking
            # back passes that over.
            await self._note(stored)
            moved = await self._holdings.move(stored, target)
            if moved is not None:
                self.done += 1
                if moved.memory != stored.memory:
                    await self._note(moved)

    async def _note(self, stored: StoredMemory) -> None:
        added = _added(stored, self._remainder.target)
        await asyncio.to_thread(self._holdings.note, self._batch, [added])


class CarryBack(_BatchWalk):
    """What a batch carried to ``target`` goes back to where it was. Nothing goes to a ``source``
    that is gone."""

    doing = "carry-back"

    def __init__(self, batch: str, holdings: Holdings, source: Scope | None, target: str) -> None:
        super().__init__(batch, holdings)
        self._source = source
        self._target = target

    async def _keys(self) -> Iterable[Key]:
        return [key for key in await super()._keys() if key.scope == self._target]

    async def _do(self, keys: Sequence[Key]) -> None:
        if self._source is None:
            return
        for key in keys:  # each is looked at right before it moves
            for stored in await self._as_they_came([key]):
                if await self._holdings.move(stored, self._source) is not None:
                    await self._mark([key])


def _key(added: Added) -> Key:
    return Key(added.scope, added.memory_id)


def _added(stored: StoredMemory, scope: Scope) -> Added:
    """As it is now, for a scope."""
    return Added(scope.name, stored.memory.memory_id, entry_digest(stored.memory))
