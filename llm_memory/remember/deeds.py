"""The journal of deeds: what people corrected, which keeps earlier statements from bringing it
back, and what they can undo. Of what was purged keyed hashes take the place of the words at night.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from ..errors import EngineClosed, StateUnavailable
from ..log import logger
from ..models.conversation import Actor
from ..models.data_models import Memory, StoredMemory
from ..models.deeds import CORRECTIONS, Deed, DeedKind, Requester
from ..runtime.cooperative import unhurried
from ..runtime.identifiers import Clock, make_id
from ..storage.deed_table import DeedTable
from ..storage.state_store import SqliteStateStore
from ..text.normalising import same_words
from .corrected_texts import CorrectedTexts
from .rules.corrected import Removed, marks_of

TYPING: Final = timedelta(minutes=10)
"""An entry that a person changes in its file again within this time counts as still being typed."""
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
        self._corrections: dict[tuple[str, str], dict[int, Removed]] = {}
        """By scope, and by scope and entry; each by its number."""
        self._changes = Counter[str]()
        self._lowest = 0
        self.new: list[Deed] = []
        """The corrections that nobody has followed yet, at first all."""
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
        for deed in found:
            self._put(deed.number, deed)

    # What is known

    @property
    def changes(self) -> int:
        """Counts the corrections that were noted or dropped."""
        return self._changes.total()

    def changes_of(self, scope: str) -> int:
        """Counts those of a scope."""
        return self._changes[scope]

    def removed(self, scope: str) -> list[Removed]:
        """Returns what may not return to the scope."""
        return list(self._corrections.get((scope, ""), {}).values())

    def of_entry(self, scope: str, memory_id: str) -> list[Deed]:
        """Returns what was corrected of an entry, or of its keyed hash; of all without an id."""
        found = self._corrections.get((scope, memory_id), {})
        return [one.deed for one in list(found.values())]

    def of_scope(self, scope: str) -> list[Deed]:
        """Returns all corrections of a scope by people."""
        return [one for one in self.of_entry(scope, "") if one.kind is not DeedKind.TAKEN_BACK]

    def all_in_words(self) -> list[Deed]:
        """Returns all corrections whose words are known."""
        return [one for one in self._all.values() if one.kind in CORRECTIONS and one.words]

    def was_taken_out(self, scope: str, memory_id: str) -> bool:
        """True for an entry that a person has forgotten in the scope, or moved to another one."""
        gone = (DeedKind.FORGOTTEN, DeedKind.MOVED)
        return any(one.kind in gone and one.scope == scope for one in self._of(scope, memory_id))

    def is_purged(self, scope: str, memory_id: str) -> bool:
        """True if a person had an entry purged: it may not be restored."""
        sealed = any(not deed.words for deed in self._of(scope, memory_id))
        return sealed or (scope, memory_id) in self.unsealed()

    def _of(self, scope: str, memory_id: str) -> list[Deed]:
        return self.of_entry(scope, memory_id) + self.of_entry(scope, self.mark(memory_id))

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
        found: Sequence[StoredMemory],
        requester: Requester = _NOBODY,
        *,
        target: str = "",
        at: datetime | None = None,
        after: str = "",
    ) -> list[int]:
        """Note durably what a person is about to do to these entries, as one deed. Returns a number
        for each, for ``drop`` and ``done``. ``at``: now by default. ``after``: digest of what the
        deed will leave, where an undo is to find it though a kill came half way."""
        batch = make_id("b", self._clock()) if len(found) > 1 else ""
        made = list[Deed]()
        async for one in unhurried(found):
            deed = self._made(kind, one.scope.name, one.memory, requester.name)
            deed = replace(deed, target=target, at=at or deed.at)
            made.append(_by(deed, requester, after, batch) if after else deed)
        return await self._note(made)

    async def note_done(self, deed: Deed, requester: Requester, after: str = "") -> None:
        """Note a deed that corrects nothing, and can be undone."""
        await self._note([_by(replace(deed, at=self._clock()), requester, after)])

    async def forgotten_by_hand(self, entries: Iterable[tuple[str, Memory]]) -> list[int]:
        """Note what a person deleted in the files, given as scope and entry. Returns the numbers of
        what was not noted yet: a crash comes between this and the archive."""
        made: list[Deed] = []
        async for scope, memory in unhurried(entries):
            if not self._same(DeedKind.FORGOTTEN, scope, memory):
                made.append(self._made(DeedKind.FORGOTTEN, scope, memory))
        return await self._note(made)

    async def changed_by_hand(
        self, changes: Iterable[tuple[str, Memory | None, str, Memory]]
    ) -> None:
        """Note what a person moved to another scope's folder, reworded or put back in the files,
        given as former scope and entry, present scope and entry."""
        made: list[Deed] = []
        async for scope, before, target, now in unhurried(changes):
            if before is None:
                back = self._same(DeedKind.FORGOTTEN, target, now)
                await self.drop([one.number for one in back])
                continue
            if scope != target:
                made.append(replace(self._made(DeedKind.MOVED, scope, before), target=target))
            old, new = same_words(before.judgment), same_words(now.judgment)
            if old != new:
                await self.edited(target, now)
                if not new.startswith(old) and not self._is_typing(target, before.memory_id):
                    made.append(self._made(DeedKind.EDITED, target, before))
        await self._note(made)

    def _is_typing(self, scope: str, memory_id: str) -> bool:
        since, known = self._clock() - TYPING, self.of_entry(scope, memory_id)
        return any(one.is_hand_edit and one.at >= since for one in known)

    async def edited(self, scope: str, memory: Memory) -> None:
        """Note that an entry got these words: they are no longer edited away."""
        back = self._same(DeedKind.EDITED, scope, memory)
        await self._change([replace(one, kind=DeedKind.AMENDED, words="") for one in back])

    def _same(self, kind: DeedKind, scope: str, memory: Memory) -> list[Deed]:
        words = same_words(memory.judgment)
        return [
            one
            for one in self.of_entry(scope, memory.memory_id)
            if (one.kind, one.scope) == (kind, scope) and same_words(one.words) == words
        ]

    async def carry(self, source: str, target: str, persons: Collection[str] | None) -> None:
        """Copy corrections to the scope to which a scope's statements are brought: all, or those of
        what these persons had said."""
        there = {(one.kind, one.memory_id, one.at) for one in self.of_entry(target, "")}
        new = {source: target}
        await self._note(
            [
                replace(
                    one,
                    scope=new.get(one.scope, one.scope),
                    target=new.get(one.target, one.target),
                    undoable=False,
                )
                for one in self.of_entry(source, "")
                if (one.kind, one.memory_id, one.at) not in there
                and (persons is None or one.person in persons)
            ]
        )

    # What is purged

    async def purged(self, scope: str, memory_ids: Collection[str]) -> None:
        """Note at once that entries are purged: no file brings them back, whatever it says of its
        time, though the words are needed until the night; and no undo does."""
        noted, at = set(self.unsealed()), self._clock()
        new = [one for one in memory_ids if (scope, one) not in noted]
        await self._note([Deed(DeedKind.PURGED, scope, one, at=at) for one in new])
        await self.no_undo(scope, memory_ids)

    def unsealed(self) -> list[tuple[str, str]]:
        """Returns scope and id of each entry that was purged and is not sealed yet."""
        return sorted((one.scope, one.memory_id) for one in self._purges())

    def _purges(self) -> list[Deed]:
        return [one for one in list(self._all.values()) if one.kind is DeedKind.PURGED]

    async def not_purged(self, scope: str, memory_id: str) -> None:
        """Note that such an entry is sealed, or lives again."""
        key = scope, memory_id
        await self.drop([o.number for o in self._purges() if (o.scope, o.memory_id) == key])

    async def seal(self, purged: Sequence[Deed], gone: Collection[str]) -> None:
        """Replace the words of these, and those ids that are ``gone``, by keyed hashes.

        Raises StateUnavailable: they may still be in the log of the state's file. They are out of
        it once ``clear_log`` returns True.
        """
        ids = {memory_id: self.mark(memory_id) for memory_id in gone}
        sealed = [
            replace(
                one,
                memory_id=ids.get(one.memory_id, one.memory_id),
                words="",
                who="",
                marks=marks_of(one, self.mark),
            )
            for one in purged
        ]
        kept = CORRECTIONS | {DeedKind.PURGED}
        others = [
            one.number
            for one in self._all.values()
            if one.kind not in kept and (one.memory_id in ids or one.before in ids)
        ]
        await asyncio.to_thread(self._state.set_mark, _LOG)
        await asyncio.to_thread(self._table.change, sealed)
        for one in sealed:
            self._put(one.number, one)
        await self.drop(others)

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

    def undoable(self, *, memory_id: str = "", person: str = "", door: str = "") -> list[Deed]:
        """Returns what was done to one memory, or by one person, in one conversation, the last
        first; one of those that were done together. Raises StateUnavailable where the journal could
        not be read."""
        if self._failure is not None:
            raise self._failure
        found: dict[str, Deed] = {}
        for one in reversed([one for one in self._all.values() if one.undoable]):
            of_entry = not memory_id or memory_id in (one.memory_id, one.before)
            if of_entry and person in ("", one.actor) and door in ("", one.door):
                found.setdefault(one.batch or str(one.number), one)
        return list(found.values())

    def together(self, done: Deed) -> list[Deed]:
        """Returns what was done together, and can be undone."""
        found = (one for one in self._all.values() if one.undoable and one.batch == done.batch)
        return list(found) if done.batch else [done]

    async def no_undo(self, scope: str, memory_ids: Collection[str]) -> None:
        """No undo of what was done to these and stands in this scope since."""
        ids = set(memory_ids)
        there = [one for one in self._all.values() if one.stands_in == scope]
        named = [one for one in there if one.memory_id in ids or one.before in ids]
        await self.undone([one for one in named if one.undoable])

    async def undone(self, deeds: Sequence[Deed]) -> None:
        """Note that deeds were undone, or can be no more: what they corrected stays corrected until
        it is withdrawn."""
        there = [self._all[one.number] for one in deeds if one.number in self._all]
        await self._change([replace(one, undoable=False) for one in there if one.places])
        await self.drop([one.number for one in there if not one.places])

    async def restored(self, scope: str, memory_ids: Iterable[str]) -> None:
        """Withdraw of each entry that it was forgotten, and that it was taken back: the last."""
        back = dict[tuple[str, DeedKind], int]()
        async for memory_id in unhurried(memory_ids):
            for one in sorted(self.of_entry(scope, memory_id), key=lambda deed: deed.at):
                if one.scope == scope and one.kind in (DeedKind.FORGOTTEN, DeedKind.TAKEN_BACK):
                    back[memory_id, one.kind] = one.number
        await self.drop(list(back.values()))

    # How it is kept

    async def drop(self, numbers: Sequence[int]) -> None:
        """Drop these deeds."""
        if numbers:
            async for number in unhurried(numbers):
                self._put(number, None)
            await self._durably(partial(self._table.drop, numbers))

    async def _change(self, deeds: Sequence[Deed]) -> None:
        if deeds:
            async for one in unhurried(deeds):
                self._put(one.number, one)
            await self._durably(partial(self._table.change, deeds))

    async def _note(self, deeds: Sequence[Deed]) -> list[int]:
        numbers = await self._durably(partial(self._table.add, deeds)) if deeds else []
        if numbers is None:
            numbers = [self._lowest - place for place in range(1, len(deeds) + 1)]
            self._lowest = numbers[-1]
        async for number, deed in unhurried(zip(numbers, deeds, strict=True)):
            self._put(number, replace(deed, number=number))
        return numbers

    async def _durably[T](self, step: Callable[[], T]) -> T | None:
        try:
            return await asyncio.to_thread(step)
        except (StateUnavailable, EngineClosed) as error:
            logger.warning("correction_not_noted", error=error)
            return None

    def _put(self, number: int, deed: Deed | None) -> None:
        """Hold a deed in the place of what has its number; None: hold none."""
        before = self._all.get(number)
        if deed is None:
            self._all.pop(number, None)
        else:
            self._all[number] = deed
        former, present = _places(before), _places(deed)
        for place in former.difference(present):
            del self._corrections[place][number]
        if deed is not None and present:
            removed = Removed(deed)
            for place in present:
                self._corrections.setdefault(place, {})[number] = removed
            if not former:
                self.new.append(deed)
        if bool(former) != bool(present):
            self._changes.update({scope for scope, _ in former or present})

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


def _places(deed: Deed | None) -> set[tuple[str, str]]:
    """Returns where a correction is looked for."""
    if deed is None:
        return set()
    return {(place, name) for place in deed.places for name in ("", deed.memory_id)}


def _by(deed: Deed, requester: Requester, after: str, batch: str = "") -> Deed:
    person, door = requester.actor.person, requester.conversation
    return replace(deed, actor=person, door=door, after=after, batch=batch, undoable=True)
