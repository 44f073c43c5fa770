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
from itertools import count
from typing import Final

from ..errors import EngineClosed, StateUnavailable
from ..log import logger
from ..models.data_models import Memory
from ..models.deeds import CORRECTIONS, NO_TIME, Deed, DeedKind, Requester
from ..runtime.cooperative import cooperative, unhurried
from ..runtime.identifiers import Clock, make_id
from ..storage.state_store import DeedTable, SqliteStateStore
from ..text.normalising import same_words
from .corrected_texts import CorrectedTexts
from .rules.corrected import Removed, marks_of

TYPING: Final = timedelta(minutes=10)
"""An entry that a person changes in its file again within this time counts as still being typed."""


def lost(
    kind: DeedKind, scope: str, memory: Memory, at: datetime = NO_TIME, target: str = ""
) -> Deed:
    """Returns the deed by which an entry of a scope loses the words that it has. ``at``: when it
    is noted, by default."""
    said = memory.memory_id, memory.judgment, memory.created_at
    return Deed(kind, scope, *said, at, memory.provenance.person, memory.provenance.who, target)


class Deeds:
    """Durable in the state store, held in memory; threads read it, the event loop alone changes it.

    Who removes a memory for a person notes it here first. Who writes earlier statements that no
    person asks for now asks ``texts``. What the store refuses holds until the bot is restarted.
    """

    def __init__(self, state: SqliteStateStore, clock: Clock) -> None:
        self._table = DeedTable(state)
        self._clock = clock
        self._key = b""
        self._failure: StateUnavailable | None = None
        self._all: dict[int, Deed] = {}
        self._corrections: dict[tuple[str, str], dict[int, Removed]] = {}
        """By scope, and by scope and entry; each by its number."""
        self._unstored = count(-1, -1)
        self.changes = Counter[str]()
        """Counts the corrections that were noted or dropped, by scope."""
        self.new: list[Deed] = []
        """The corrections that nobody has followed yet, at first all."""
        self.texts = CorrectedTexts(self.removed, self.mark)

    def load(self) -> None:
        """Read the journal; it is empty if the state store cannot be read. Blocks."""
        try:
            self._key = self._table.key()
            for deed in self._table.rows():
                self._put(deed.number, deed)
        except StateUnavailable as error:
            logger.warning("corrections_unread", error=error)
            self._failure = error

    def touch(self, scope: str) -> None:
        """Have what may be told of a scope be looked at again."""
        self.changes[scope] += 1

    def removed(self, scope: str) -> list[Removed]:
        """Returns what may not return to the scope."""
        return list(self._corrections.get((scope, ""), {}).values())

    def of_entry(self, scope: str, memory_id: str) -> list[Deed]:
        """Returns what was corrected of an entry, or of its keyed hash; of all without an id."""
        return [one.deed for one in list(self._corrections.get((scope, memory_id), {}).values())]

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

    def changed_since(self, moment: datetime) -> list[Deed]:
        """Returns by what people changed entries that stand, in their words or their place, from
        that moment on: nothing said before changes them again. Blocks."""
        kinds = (DeedKind.EDITED, DeedKind.MOVED, DeedKind.AMENDED)
        all_of_them = cooperative([*self._all.values()])
        return [one for one in all_of_them if one.at >= moment and one.kind in kinds]

    def is_purged(self, scope: str, memory_id: str) -> bool:
        """True if a person had an entry purged: it may not be restored."""
        words = [deed.words for deed in self._of(scope, memory_id)]
        return not all(words) or (scope, memory_id) in self.unsealed()

    def _of(self, scope: str, memory_id: str) -> list[Deed]:
        return self.of_entry(scope, memory_id) + self.of_entry(scope, self.mark(memory_id))

    def _with_words(self, scope: str, memory: Memory) -> list[Deed]:
        """Returns by what an entry lost the words that it has now."""
        words, known = same_words(memory.judgment), self.of_entry(scope, memory.memory_id)
        return [one for one in known if one.scope == scope and same_words(one.words) == words]

    def mark(self, text: str) -> str:
        """Returns the keyed hash of a text."""
        return hmac.new(self._key, text.encode("utf-8", "replace"), hashlib.sha256).hexdigest()

    def pseudonym(self, person: str) -> str:
        """Returns the keyed hash of a person's id, empty while the key is unknown."""
        return self.mark(f"person:{person}") if self._key else ""

    async def note(self, deeds: Iterable[Deed], requester: Requester | None = None) -> list[int]:
        """Note durably what somebody does, as one deed that one undo takes back; a correction
        before it is done. Returns a number for each, for ``drop``."""
        now, made = self._clock(), list[Deed]()
        batch = make_id("b", now)
        async for one in unhurried(deeds):
            # The clock may have been set back.
            at = max(now, one.said_at) if one.at == NO_TIME else one.at
            if requester is not None:
                person, door = requester.actor.person, requester.conversation
                one = replace(one, by=requester.name, actor=person, door=door, batch=batch)
            made.append(replace(one, at=at))
        numbers = await self._durably(partial(self._table.add, made)) if made else []
        numbers = [next(self._unstored) for _ in made] if numbers is None else numbers
        async for number, deed in unhurried(zip(numbers, made, strict=True)):
            self._put(number, replace(deed, number=number))
        return numbers

    async def forgotten_by_hand(self, entries: Iterable[tuple[str, Memory]]) -> list[int]:
        """Note what a person deleted in the files. Returns the numbers of what was not noted yet:
        a crash comes between this and the archive."""
        return await self.note(
            lost(DeedKind.FORGOTTEN, scope, memory)
            for scope, memory in entries
            if all(o.kind is not DeedKind.FORGOTTEN for o in self._with_words(scope, memory))
        )

    async def changed_by_hand(
        self, changes: Iterable[tuple[str, Memory | None, str, Memory]]
    ) -> None:
        """Note what a person moved to another scope's folder, reworded or put back in the files:
        former scope and entry, present scope and entry."""
        made: list[Deed] = []
        async for scope, before, target, now in unhurried(changes):
            old = "" if before is None else same_words(before.judgment)
            if old != (new := same_words(now.judgment)):
                await self.stands(target, [now])
            if before is None:
                continue
            if scope != target:
                made.append(lost(DeedKind.MOVED, scope, before, target=target))
            typed, known = self._clock() - TYPING, self.of_entry(target, before.memory_id)
            if new.startswith(old) or any(o.is_hand_edit and o.at >= typed for o in known):
                # Still being typed: nothing was wrong, but what was said before is older.
                made.append(Deed(DeedKind.AMENDED, target, now.memory_id))
            else:
                made.append(lost(DeedKind.EDITED, target, before))
        await self.note(made)

    async def stands(self, scope: str, memories: Iterable[Memory]) -> None:
        """Note that no deed took away the words that these entries of a scope have."""
        back = list[Deed]()
        async for memory in unhurried(memories):
            for one in self._with_words(scope, memory):
                if one.kind is not DeedKind.MOVED:
                    still = one.undoable and one.kind is DeedKind.EDITED
                    back.append(replace(one, kind=DeedKind.AMENDED, words="", undoable=still))
        await self._change(back)

    async def carry(self, source: str, target: str, persons: Collection[str] | None) -> None:
        """Copy corrections to where a scope's statements are brought: all, or those of what these
        persons had said."""
        there = {(one.kind, one.memory_id, one.at) for one in self.of_entry(target, "")}

        def brought(name: str) -> str:
            return target if name == source else name

        await self.note(
            replace(one, scope=brought(one.scope), target=brought(one.target), undoable=False)
            for one in self.of_entry(source, "")
            if (one.kind, one.memory_id, one.at) not in there
            and (persons is None or one.person in persons)
        )

    async def purged(self, scope: str, memory_ids: Collection[str]) -> None:
        """Note at once that entries are purged, though their words are needed until the night: no
        file brings them back, whatever it says of its time, and no undo."""
        known = set(self.unsealed())
        new = (one for one in memory_ids if (scope, one) not in known)
        await self.note(Deed(DeedKind.PURGED, scope, one) for one in new)
        await self.no_undo(scope, memory_ids)

    def unsealed(self) -> list[tuple[str, str]]:
        """Returns scope and id of each entry that was purged and is not sealed yet."""
        purges = (one for one in list(self._all.values()) if one.kind is DeedKind.PURGED)
        return sorted((one.scope, one.memory_id) for one in purges)

    async def not_purged(self, scope: str, memory_id: str) -> None:
        """Note that such an entry lives again."""
        purges = (one for one in self._all.values() if one.kind is DeedKind.PURGED)
        purged = scope, memory_id
        await self.drop([o.number for o in purges if (o.scope, o.memory_id) == purged])

    async def seal(self, purged: Sequence[Deed], gone: set[str]) -> None:
        """Replace the words of these, and those ids that are ``gone``, by keyed hashes; not in the
        log of the state's file. Raises StateUnavailable."""
        sealed = list[Deed]()
        for one in purged:
            name = self.mark(one.memory_id) if one.memory_id in gone else one.memory_id
            marks = marks_of(Removed(one, self.mark))
            sealed.append(replace(one, memory_id=name, words="", who="", marks=marks))
        await asyncio.to_thread(self._table.change, sealed)
        for one in sealed:
            self._put(one.number, one)
        others = [one for one in self._all.values() if one.kind not in CORRECTIONS]
        await self.drop([one.number for one in others if one.names & gone])

    def undoable(self, wanted: Callable[[Deed], bool]) -> list[list[Deed]]:
        """Returns what was done and can be undone, the last first, each with what was done together
        with it. Raises StateUnavailable where the journal could not be read."""
        if self._failure is not None:
            raise self._failure
        found = dict[str, list[Deed]]()
        for one in reversed(self._all.values()):
            if one.undoable and wanted(one):
                found.setdefault(one.batch or str(one.number), []).append(one)
        return list(found.values())

    async def no_undo(self, scope: str, memory_ids: Collection[str]) -> None:
        """No undo of what was done to these and stands in this scope since."""
        ids = set(memory_ids)
        there = [one for one in self._all.values() if one.undoable and one.stands_in == scope]
        await self.undone(one for one in there if one.names & ids)

    async def undone(self, deeds: Iterable[Deed]) -> None:
        """Allow no undo of these any more: what they corrected stays so until it stands again."""
        there = [self._all[one.number] for one in deeds if one.number in self._all]
        await self._change([replace(one, undoable=False) for one in there if one.places])
        await self.drop([one.number for one in there if not one.places])

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

    async def _durably[T](self, step: Callable[[], T]) -> T | None:
        try:
            return await asyncio.to_thread(step)
        except (StateUnavailable, EngineClosed) as error:
            logger.warning("correction_not_noted", error=error)
            return None

    def _put(self, number: int, deed: Deed | None) -> None:
        """Hold a deed in the place of what has its number; None: hold none."""
        former, present = _places(self._all.get(number)), _places(deed)
        for place in former.difference(present):
            del self._corrections[place][number]
        if deed is None:
            self._all.pop(number, None)
        else:
            self._all[number] = deed
            removed = Removed(deed, self.mark)
            for place in present:
                self._corrections.setdefault(place, {})[number] = removed
            if present and not former:
                self.new.append(deed)
        if bool(former) != bool(present):
            self.changes.update({scope for scope, _ in former or present})


def _places(deed: Deed | None) -> set[tuple[str, str]]:
    """Returns where a correction is looked for."""
    return (
        {(place, name) for place in deed.places for name in ("", deed.memory_id)} if deed else set()
    )
