"""The record of what people corrected, which keeps earlier statements from bringing it back."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import batched

from ..errors import EngineClosed, StateUnavailable
from ..log import logger
from ..models.corrections import Correction, CorrectionKind, is_hand_edit
from ..models.data_models import Memory, StoredMemory
from ..runtime.identifiers import Clock
from ..storage.state_store import SqliteStateStore
from ..text.normalising import same_words
from .corrected_texts import CorrectedTexts, CorrectionIndex, Purges
from .rules.corrected import made_correction

TYPING = timedelta(minutes=10)
"""An entry that a person changes in its file again within this time counts as still being typed."""
_SLICE = 500
"""Corrections handled before control returns to the event loop."""


class CorrectedStatements:
    """The record of corrections, durable in the state store, held in memory.

    A service that removes a memory for a person records it here first. A service that writes
    earlier statements without a person's present request asks ``texts``. What was purged is with
    ``purges``.
    """

    def __init__(self, state: SqliteStateStore, clock: Clock) -> None:
        self._state = state
        self._clock = clock
        self._index = CorrectionIndex()
        self.purges = Purges(state, self._index)
        self.texts = CorrectedTexts(self._index, self.purges, clock)
        self._lowest = 0

    @property
    def changes(self) -> int:
        """Counts the changes of the record since the start."""
        return self._index.changes

    def changes_of(self, scope: str) -> int:
        """Returns another number once a correction of the scope was recorded or dropped."""
        return self._index.changes_of(scope)

    def load(self) -> None:
        """Read the record; it is empty if the state store cannot be read. Blocks."""
        try:
            self.purges.load_key()
            found = self._state.corrections()
            self.purges.load_unsealed()
        except StateUnavailable as error:
            logger.warning("corrections_unread", error=error)
            return
        self._index.load(found)

    async def note(
        self,
        kind: CorrectionKind,
        scope: str,
        memory: Memory,
        *,
        by: str = "",
        target: str = "",
        at: datetime | None = None,
    ) -> int:
        """Record one correction durably. Returns its number, for ``drop``; below 0 if the store
        refused it, and then it holds until the bot is restarted. ``at``: now by default."""
        made = self._made(kind, scope, memory, by, target)
        (number,) = await self.note_many([made if at is None else replace(made, at=at)])
        return number

    async def forgotten(self, found: Sequence[StoredMemory], by: str) -> list[int]:
        """Record that a person forgets these entries, as one change."""
        kind = CorrectionKind.FORGOTTEN
        made = list[Correction]()
        for number, one in enumerate(found):
            if number % _SLICE == 0:
                await asyncio.sleep(0)
            made.append(self._made(kind, one.scope.name, one.memory, by))
        return await self.note_many(made)

    async def note_many(self, corrections: Sequence[Correction]) -> list[int]:
        """Record several corrections at once."""
        if not corrections:
            return []
        try:
            numbers = await asyncio.to_thread(self._state.add_corrections, corrections)
        except (StateUnavailable, EngineClosed) as error:
            logger.warning("correction_not_noted", error=error)
            numbers = [self._lowest - place for place in range(1, len(corrections) + 1)]
            self._lowest -= len(corrections)
        for some in batched(zip(numbers, corrections, strict=True), _SLICE):
            self._index.add(replace(one, number=number) for number, one in some)
            await asyncio.sleep(0)
        return numbers

    async def forgotten_by_hand(self, entries: Iterable[tuple[str, Memory]]) -> list[int]:
        """Record what a person deleted in the files, given as scope and entry. Returns the numbers
        of what was not recorded yet: a crash comes between this and the archive."""
        made: list[Correction] = []
        for number, (scope, memory) in enumerate(entries):
            if number % _SLICE == 0:
                await asyncio.sleep(0)
            if not self._same(CorrectionKind.FORGOTTEN, scope, memory):
                made.append(self._made(CorrectionKind.FORGOTTEN, scope, memory))
        return await self.note_many(made)

    async def changed_by_hand(self, changes: Iterable[tuple[str, Memory, str, Memory]]) -> None:
        """Record what a person moved to another scope's folder or reworded in the files, given as
        former scope and entry, present scope and entry."""
        found, back = [], []
        for number, (scope, before, target, now) in enumerate(changes):
            if number % _SLICE == 0:
                await asyncio.sleep(0)
            if scope != target:
                found.append(self._made(CorrectionKind.MOVED, scope, before, target=target))
            old, new = same_words(before.judgment), same_words(now.judgment)
            if old != new:
                back += self._same(CorrectionKind.EDITED, target, now)
                if not new.startswith(old) and not self._is_typing(target, before.memory_id):
                    found.append(self._made(CorrectionKind.EDITED, target, before))
        await self.drop(back)
        await self.note_many(found)

    async def restored_by_hand(self, entries: Iterable[tuple[str, Memory]]) -> None:
        """Record what a person put back into the files, given as scope and entry."""
        back: list[int] = []
        for number, (scope, memory) in enumerate(entries):
            if number % _SLICE == 0:
                await asyncio.sleep(0)
            back += self._same(CorrectionKind.FORGOTTEN, scope, memory)
        await self.drop(back)

    async def edited(self, scope: str, memory: Memory) -> None:
        """Record that an entry got these words, which are no longer edited away."""
        await self.drop(self._same(CorrectionKind.EDITED, scope, memory))

    async def withdraw(
        self, kinds: Collection[CorrectionKind], scope: str, memory_ids: Iterable[str]
    ) -> None:
        """Drop of each entry the last correction of each of these kinds, which was undone."""
        last = dict[tuple[str, CorrectionKind], int]()
        for number, memory_id in enumerate(memory_ids):
            if number % _SLICE == 0:
                await asyncio.sleep(0)
            for one in self._index.of_entry(scope, memory_id):
                if one.correction.scope == scope and one.correction.kind in kinds:
                    last[memory_id, one.correction.kind] = one.correction.number
        await self.drop([*last.values()])

    async def drop(self, numbers: Sequence[int]) -> None:
        """Drop these corrections."""
        if not numbers:
            return
        for some in batched(numbers, _SLICE):
            self._index.drop(some)
            await asyncio.sleep(0)
        try:
            await asyncio.to_thread(self._state.drop_corrections, numbers)
        except (StateUnavailable, EngineClosed) as error:
            logger.warning("correction_not_undone", error=error)

    def all_in_words(self) -> list[Correction]:
        """Returns all corrections whose words are known."""
        return [one.correction for one in self._index.all() if one.correction.words]

    def was_taken_out(self, scope: str, memory_id: str) -> bool:
        """True for an entry that a person has forgotten in the scope, or moved to another one."""
        gone = (CorrectionKind.FORGOTTEN, CorrectionKind.MOVED)
        names = (memory_id, self.purges.mark(memory_id))
        return any(
            one.correction.kind in gone and one.correction.scope == scope
            for name in names
            for one in self._index.of_entry(scope, name)
        )

    async def carry(self, source: str, target: str, persons: Collection[str] | None) -> None:
        """Copy corrections to the scope to which a scope's statements are brought: all, or those of
        what these persons had said."""
        there = {
            (one.correction.kind, one.correction.memory_id, one.correction.at)
            for one in self._index.of_scope(target)
        }
        found = [
            replace(
                one.correction,
                scope=target if one.correction.scope == source else one.correction.scope,
                target=target if one.correction.target == source else one.correction.target,
                number=0,
            )
            for one in self._index.of_scope(source)
            if persons is None or one.correction.person in persons
        ]
        await self.note_many(
            [one for one in found if (one.kind, one.memory_id, one.at) not in there]
        )

    def of_scope(self, scope: str) -> list[Correction]:
        """Returns all corrections of a scope by people, the oldest first."""
        return [
            one.correction
            for one in self._index.of_scope(scope)
            if one.correction.kind is not CorrectionKind.TAKEN_BACK
        ]

    def _same(self, kind: CorrectionKind, scope: str, memory: Memory) -> list[int]:
        words = same_words(memory.judgment)
        return [
            one.correction.number
            for one in self._index.of_entry(scope, memory.memory_id)
            if (one.correction.kind, one.correction.scope) == (kind, scope)
            and same_words(one.correction.words) == words
        ]

    def _is_typing(self, scope: str, memory_id: str) -> bool:
        since = self._clock() - TYPING
        return any(
            is_hand_edit(one.correction) and one.correction.at >= since
            for one in self._index.of_entry(scope, memory_id)
        )

    def _made(
        self, kind: CorrectionKind, scope: str, memory: Memory, by: str = "", target: str = ""
    ) -> Correction:
        return made_correction(kind, scope, memory, self._clock(), by=by, target=target)
