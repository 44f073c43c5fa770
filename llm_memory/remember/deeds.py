"""The journal of deeds: what people corrected, which keeps earlier statements from bringing it
back, and what they can undo. Of what was purged keyed hashes take the place of the words at night.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import batched
from typing import Final

from ..errors import EngineClosed, StateUnavailable
from ..log import logger
from ..models.conversation import Actor
from ..models.data_models import Memory, StoredMemory
from ..models.deeds import CORRECTIONS, Deed, DeedKind, Done, Requester
from ..runtime.cooperative import unhurried
from ..runtime.identifiers import Clock, make_id
from ..storage.deed_table import DeedTable
from ..storage.state_store import SqliteStateStore
from ..text.normalising import same_words
from ..vault.ledger import SqliteLedger
from .corrected_texts import CorrectedTexts
from .former_deeds import taken_over
from .rules.corrected import Removed, marks_of

TYPING: Final = timedelta(minutes=10)
"""An entry that a person changes in its file again within this time counts as still being typed."""
_SLICE: Final = 500
"""Deeds handled before control returns to the event loop."""
_LOG: Final = "sealed_in_log"
"""In the state, the mark of a log that may hold what was sealed."""
_NOBODY: Final = Requester(Actor("", ""), "")


class Deeds:
    """Durable in the state store, held in memory; threads read it, the event loop alone changes it.

    A service that removes a memory for a person notes it here first. A service that writes earlier
    statements without a person's present request asks ``texts``. Where the store refuses a deed it
    holds until the bot is restarted.
    """

    def __init__(self, state: SqliteStateStore, clock: Clock) -> None:
        self._state = state
        self._table = DeedTable(state)
        self._clock = clock
        self._key = b""
        self._failure: StateUnavailable | None = None
        self._all: dict[int, Deed] = {}
        self._of_scope: dict[str, dict[int, Removed]] = {}
        self._of_entry: dict[tuple[str, str], dict[int, Removed]] = {}
        self._changed_at: dict[str, int] = {}
        self._new: list[Deed] = []
        self.changes = 0
        """Counts the corrections that were noted or dropped."""
        self._lowest = 0
        self.texts = CorrectedTexts(self.removed, self.of_entry, self.mark)

    def load(self) -> None:
        """Read the journal; it is empty if the state store cannot be read. Blocks."""
        try:
            self._key = self._table.key()
            found = self._table.rows()
        except StateUnavailable as error:
            logger.warning("corrections_unread", error=error)
            self._failure = error
            return
        self._all = {}
        self._of_scope, self._of_entry = {}, {}
        self._hold(found)

    def take_over(self, ledger: SqliteLedger) -> None:
        """Take over what a former version noted in the vault's ledger. Blocks."""
        try:
            if rows := ledger.former_deeds():
                changed, new = taken_over(rows, self._table.rows())
                self._table.change(changed)
                self._table.add(new)
            ledger.drop_former_deeds()
        except StateUnavailable as error:
            logger.warning("undo_unread", error=error)

    def take_new(self) -> list[Deed]:
        """Returns the corrections that were noted since this was asked last, at first all."""
        new, self._new = self._new, []
        return new

    def put_back(self, new: Sequence[Deed]) -> None:
        """Give these again next time."""
        self._new += new

    def changes_of(self, scope: str) -> int:
        """Returns another number once a correction of the scope was noted or dropped."""
        return self._changed_at.get(scope, 0)

    # What is known

    def removed(self, scope: str) -> list[Removed]:
        """Returns what may not return to the scope."""
        return list(self._of_scope.get(scope, {}).values())

    def of_entry(self, scope: str, memory_id: str) -> list[Deed]:
        """Returns what was corrected of an entry, or of an id's keyed hash."""
        return [one.deed for one in list(self._of_entry.get((scope, memory_id), {}).values())]

    def of_scope(self, scope: str) -> list[Deed]:
        """Returns all corrections of a scope by people."""
        found = (one.deed for one in self.removed(scope))
        return [deed for deed in found if deed.kind is not DeedKind.TAKEN_BACK]

    def all_in_words(self) -> list[Deed]:
        """Returns all corrections whose words are known."""
        return [one for one in self._all.values() if one.kind in CORRECTIONS and one.words]

    def was_taken_out(self, scope: str, memory_id: str) -> bool:
        """True for an entry that a person has forgotten in the scope, or moved to another one."""
        gone = (DeedKind.FORGOTTEN, DeedKind.MOVED)
        names = (memory_id, self.mark(memory_id))
        found = (deed for name in names for deed in self.of_entry(scope, name))
        return any(deed.kind in gone and deed.scope == scope for deed in found)

    def is_purged(self, scope: str, memory_id: str) -> bool:
        """True if a person had an entry purged: it may not be restored."""
        if (scope, memory_id) in self.unsealed():
            return True
        names = (memory_id, self.mark(memory_id))
        return any(not deed.words for name in names for deed in self.of_entry(scope, name))

    def mark(self, text: str) -> str:
        """Returns the keyed hash of a text."""
        return hmac.new(self._key, text.encode("utf-8", "replace"), hashlib.sha256).hexdigest()

    def pseudonym(self, person: str) -> str:
        """Returns the keyed hash of a person's id, empty while the key is unknown."""
        return self.mark(f"person:{person}") if self._key else ""

    # What is noted

    async def note(
        self,
        kind: DeedKind,
        stored: StoredMemory,
        requester: Requester = _NOBODY,
        *,
        target: str = "",
        at: datetime | None = None,
    ) -> int:
        """Note a deed durably. Returns its number, for ``drop``. ``at``: now by default."""
        made = self._made(kind, stored.scope.name, stored.memory, requester.name)
        made = replace(made, target=target, at=made.at if at is None else at)
        (number,) = await self.note_many([made])
        return number

    async def note_many(self, deeds: Sequence[Deed]) -> list[int]:
        """Note several at once."""
        if not deeds:
            return []
        try:
            numbers = await asyncio.to_thread(self._table.add, deeds)
        except (StateUnavailable, EngineClosed) as error:
            logger.warning("correction_not_noted", error=error)
            numbers = [self._lowest - place for place in range(1, len(deeds) + 1)]
            self._lowest -= len(deeds)
        for some in batched(zip(numbers, deeds, strict=True), _SLICE):
            self._hold([replace(deed, number=number) for number, deed in some])
            await asyncio.sleep(0)
        return numbers

    async def forgotten(
        self, found: Sequence[StoredMemory], requester: Requester, *, after: str = ""
    ) -> list[int]:
        """Note that a person forgets these entries, as one deed. ``after``: digest of how the
        archive will note it, for an undo: a kill may come when only some of them are there."""
        batch = make_id("b", self._clock()) if len(found) > 1 else ""
        made = list[Deed]()
        async for one in unhurried(found):
            deed = self._made(DeedKind.FORGOTTEN, one.scope.name, one.memory, requester.name)
            made.append(_by(deed, requester, after, batch) if after else deed)
        return await self.note_many(made)

    async def forgotten_by_hand(self, entries: Iterable[tuple[str, Memory]]) -> list[int]:
        """Note what a person deleted in the files, given as scope and entry. Returns the numbers of
        what was not noted yet: a crash comes between this and the archive."""
        made: list[Deed] = []
        async for scope, memory in unhurried(entries):
            if not self._same(DeedKind.FORGOTTEN, scope, memory):
                made.append(self._made(DeedKind.FORGOTTEN, scope, memory))
        return await self.note_many(made)

    async def changed_by_hand(self, changes: Iterable[tuple[str, Memory, str, Memory]]) -> None:
        """Note what a person moved to another scope's folder or reworded in the files, given as
        former scope and entry, present scope and entry."""
        made: list[Deed] = []
        async for scope, before, target, now in unhurried(changes):
            if scope != target:
                made.append(replace(self._made(DeedKind.MOVED, scope, before), target=target))
            old, new = same_words(before.judgment), same_words(now.judgment)
            if old != new:
                await self.edited(target, now)
                if not new.startswith(old) and not self._is_typing(target, before.memory_id):
                    made.append(self._made(DeedKind.EDITED, target, before))
        await self.note_many(made)

    async def restored_by_hand(self, entries: Iterable[tuple[str, Memory]]) -> None:
        """Note what a person put back into the files, given as scope and entry."""
        back: list[Deed] = []
        async for scope, memory in unhurried(entries):
            back += self._same(DeedKind.FORGOTTEN, scope, memory)
        await self.drop([one.number for one in back])

    async def edited(self, scope: str, memory: Memory) -> None:
        """Note that an entry got these words: they are no longer edited away."""
        back = self._same(DeedKind.EDITED, scope, memory)
        await self._change([replace(one, kind=DeedKind.AMENDED, words="") for one in back])

    async def carry(self, source: str, target: str, persons: Collection[str] | None) -> None:
        """Copy corrections to the scope to which a scope's statements are brought: all, or those of
        what these persons had said."""
        there = {(one.deed.kind, one.deed.memory_id, one.deed.at) for one in self.removed(target)}
        await self.note_many(
            [
                replace(
                    deed,
                    scope=target if deed.scope == source else deed.scope,
                    target=target if deed.target == source else deed.target,
                    undoable=False,
                )
                for deed in (one.deed for one in self.removed(source))
                if (persons is None or deed.person in persons)
                and (deed.kind, deed.memory_id, deed.at) not in there
            ]
        )

    async def note_purged(self, scope: str, memory_id: str, *, there: bool = True) -> None:
        """Note at once that an entry is purged: no file brings it back, whatever it says of its
        time, though the words are needed until the night. Or that it is sealed, or lives again."""
        known = [
            one.number for one in self._purges() if (one.scope, one.memory_id) == (scope, memory_id)
        ]
        if not there:
            await self.drop(known)
        elif not known:
            await self.note_many([Deed(DeedKind.PURGED, scope, memory_id, at=self._clock())])

    def unsealed(self) -> list[tuple[str, str]]:
        """Returns scope and id of each entry that was purged and is not sealed yet."""
        return sorted((one.scope, one.memory_id) for one in self._purges())

    def _purges(self) -> list[Deed]:
        return [one for one in list(self._all.values()) if one.kind is DeedKind.PURGED]

    async def seal(self, purged: Sequence[Deed], gone: Collection[str]) -> None:
        """Replace the words of these, and those ids that are ``gone``, by keyed hashes.

        Raises StateUnavailable: they may still be in the log of the state's file. They are out of
        it once ``clear_log`` returns True.
        """
        sealed = [
            replace(
                one,
                memory_id=self.mark(one.memory_id) if one.memory_id in gone else one.memory_id,
                words="",
                who="",
                marks=marks_of(one, self.mark),
            )
            for one in purged
        ]
        others = [
            one.number
            for one in self._all.values()
            if one.kind not in CORRECTIONS and not {one.memory_id, one.before}.isdisjoint(gone)
        ]
        await asyncio.to_thread(self._state.set_mark, _LOG)
        await asyncio.to_thread(self._table.change, sealed)
        self._hold(sealed, known=True)
        await self.drop([n for n in others if self._all[n].kind is not DeedKind.PURGED])

    async def clear_log(self) -> bool:
        """Take what was sealed out of the log of the state's file. Returns whether there was any.
        Raises StateUnavailable: it is tried again at the next call."""
        if not await asyncio.to_thread(self._state.has_mark, _LOG):
            return False
        await asyncio.to_thread(self._state.checkpoint_wal)
        await asyncio.to_thread(self._state.set_mark, _LOG, there=False)
        return True

    # What can be undone

    async def done(self, number: int, requester: Requester, after: str) -> None:
        """Note that a deed which was noted before was done, and can be undone."""
        await self._change([_by(self._all[number], requester, after)])

    async def note_done(
        self,
        kind: DeedKind,
        scope: str,
        memory_id: str,
        requester: Requester,
        *,
        target: str = "",
        before: str = "",
        after: str = "",
    ) -> None:
        """Note a deed that corrects nothing."""
        deed = Deed(kind, scope, memory_id, at=self._clock(), target=target, before=before)
        await self.note_many([_by(deed, requester, after)])

    def undoable(self, *, memory_id: str = "", person: str = "", door: str = "") -> list[Done]:
        """Returns what was done to one memory, or by one person, in one conversation, the last
        first. Raises StateUnavailable where the journal could not be read."""
        if self._failure is not None:
            raise self._failure
        found: dict[str, list[Deed]] = {}
        for one in reversed([one for one in self._all.values() if one.undoable]):
            of_entry = not memory_id or memory_id in (one.memory_id, one.before)
            if of_entry and person in ("", one.actor) and door in ("", one.door):
                found.setdefault(one.batch or str(one.number), []).append(one)
        return [Done(tuple(reversed(deeds))) for deeds in found.values()]

    async def no_undo(self, memory_id: str, target: str) -> None:
        """No undo of what stood in this scope: a memory that was purged, or a batch that was
        undone."""
        for one in [] if self._failure else self.undoable(memory_id=memory_id):
            if one.target == target:
                await self.undone(one)

    async def replaced(self, new: StoredMemory, former: StoredMemory, requester: Requester) -> None:
        """Note that an entry took the place of another one of its scope."""
        scope, memory_id, before = new.scope.name, new.memory.memory_id, former.memory.memory_id
        await self.note_done(DeedKind.REPLACED, scope, memory_id, requester, before=before)

    async def undone(self, done: Done) -> None:
        """Note that a deed was undone, or can be no more: what it corrected stays corrected until
        it is withdrawn."""
        deeds = [self._all[one.number] for one in done.deeds if one.number in self._all]
        await self._change([replace(one, undoable=False) for one in deeds if one.places])
        await self.drop([one.number for one in deeds if not one.places])

    async def withdraw(
        self, kinds: Collection[DeedKind], scope: str, memory_ids: Iterable[str]
    ) -> None:
        """Drop of each entry the last correction of each of these kinds, which was undone."""
        last = dict[tuple[str, DeedKind], Deed]()
        async for memory_id in unhurried(memory_ids):
            for one in sorted(self.of_entry(scope, memory_id), key=lambda deed: deed.at):
                if one.scope == scope and one.kind in kinds:
                    last[memory_id, one.kind] = one
        await self.drop([one.number for one in last.values()])

    async def drop(self, numbers: Sequence[int]) -> None:
        """Drop these deeds."""
        if not numbers:
            return
        for some in batched(numbers, _SLICE):
            for deed in [self._all.pop(number) for number in some if number in self._all]:
                self._forget(deed)
            await asyncio.sleep(0)
        try:
            await asyncio.to_thread(self._table.drop, numbers)
        except (StateUnavailable, EngineClosed) as error:
            logger.warning("correction_not_undone", error=error)

    async def _change(self, deeds: Sequence[Deed]) -> None:
        if not deeds:
            return
        for some in batched(deeds, _SLICE):
            self._hold(some, known=True)
            await asyncio.sleep(0)
        try:
            await asyncio.to_thread(self._table.change, deeds)
        except (StateUnavailable, EngineClosed) as error:
            logger.warning("undo_not_noted", error=error)

    def _hold(self, deeds: Iterable[Deed], *, known: bool = False) -> None:
        """``known``: they take the place of those with their numbers; the same statements are
        corrected as before, unless one is no correction any more."""
        for deed in deeds:
            before, removed = self._all.get(deed.number), Removed(deed)
            self._all[deed.number] = deed
            if before is not None:
                for place in before.places:
                    self._of_entry[place, before.memory_id].pop(deed.number, None)
                if not deed.places:
                    self._forget(before)
            for place in deed.places:
                self._of_scope.setdefault(place, {})[deed.number] = removed
                self._of_entry.setdefault((place, deed.memory_id), {})[deed.number] = removed
            if deed.places and not known:
                self._new.append(deed)
                self._count(deed.places)

    def _forget(self, deed: Deed) -> None:
        for place in deed.places:
            self._of_scope[place].pop(deed.number, None)
            self._of_entry[place, deed.memory_id].pop(deed.number, None)
        self._count(deed.places)

    def _count(self, places: Iterable[str]) -> None:
        for place in places:
            self.changes += 1
            self._changed_at[place] = self.changes

    def _same(self, kind: DeedKind, scope: str, memory: Memory) -> list[Deed]:
        words = same_words(memory.judgment)
        return [
            one
            for one in self.of_entry(scope, memory.memory_id)
            if (one.kind, one.scope) == (kind, scope) and same_words(one.words) == words
        ]

    def _is_typing(self, scope: str, memory_id: str) -> bool:
        since = self._clock() - TYPING
        return any(one.is_hand_edit and one.at >= since for one in self.of_entry(scope, memory_id))

    def _made(self, kind: DeedKind, scope: str, memory: Memory, by: str = "") -> Deed:
        origin = memory.provenance
        return Deed(
            kind,
            scope,
            memory.memory_id,
            memory.judgment,
            memory.created_at,
            max(self._clock(), memory.created_at),  # the clock may have been set back
            origin.person,
            origin.who,
            by=by,
        )


def _by(deed: Deed, requester: Requester, after: str, batch: str = "") -> Deed:
    person, door = requester.actor.person, requester.conversation
    return replace(deed, actor=person, door=door, after=after, batch=batch, undoable=True)
