"""The record of what people corrected, which keeps earlier statements from bringing it back."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from bisect import insort
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import batched

from ..catalogue.rules.closing import closed_by
from ..catalogue.rules.day_journal import is_listed
from ..catalogue.rules.timeline import MADE_OF_ENTRIES, is_digest
from ..errors import EngineClosed, StateUnavailable
from ..log import logger
from ..models.corrections import Correction, CorrectionKind, is_hand_edit
from ..models.data_models import Memory, StoredMemory
from ..models.scope import PUBLIC
from ..models.turns import QueuedTurn
from ..runtime.identifiers import Clock
from ..storage.state_store import SqliteStateStore
from ..text.normalising import same_words
from .rules.corrected import (
    Removed,
    answered,
    copies,
    marks_of,
    named,
    says,
    unread_id,
    without,
)
from .rules.current_diary import current

TYPING = timedelta(minutes=10)
"""An entry that a person changes in its file again within this time counts as still being typed."""
_PURGED = "purged:"
"""Begins a mark in the state: this entry was purged. Scope and id follow."""
_LOG = "sealed_in_log"
"""In the state, the mark of a log that may hold what was sealed."""
EVER = datetime.min.replace(tzinfo=UTC)
"""For a text whose time is unknown."""
_SLICE = 500
"""Corrections handled before control returns to the event loop."""


class CorrectedStatements:
    """The record of corrections, durable in the state store, held in memory.

    A service that removes a memory for a person records it here first. A service that writes
    earlier statements without a person's present request asks here.
    """

    def __init__(self, state: SqliteStateStore, clock: Clock) -> None:
        self._state = state
        self._clock = clock
        self._removed: dict[int, Removed] = {}
        self._by_scope: dict[str, list[Removed]] = {}
        self._by_entry: dict[tuple[str, str], list[Removed]] = {}
        self._purged: set[tuple[str, str]] = set()
        self._unsealed: set[tuple[str, str]] = set()
        """Purged, and not sealed yet."""
        self._lowest = 0
        self._key = b""
        self._changed_at: dict[str, int] = {}
        self.changes = 0
        """Counts the changes of the record since the start."""

    def load(self) -> None:
        """Read the record; it is empty if the state store cannot be read. Blocks."""
        try:
            self._key = bytes.fromhex(self._state.correction_key())
            found = self._state.corrections()
            self._unsealed = {_split_mark(one) for one in self._state.marks(_PURGED)}
        except StateUnavailable as error:
            logger.warning("读不到改过、忘掉过什么，这次学来的不比对：{}", error)
            return
        self._removed = {one.number: Removed(one) for one in found}
        self._sort()

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

    async def note_many(self, corrections: Sequence[Correction]) -> list[int]:
        """Record several corrections at once."""
        if not corrections:
            return []
        try:
            numbers = await asyncio.to_thread(self._state.add_corrections, corrections)
        except (StateUnavailable, EngineClosed) as error:
            logger.warning("没能记下改了什么，重新启动后旧的说法可能再学回来：{}", error)
            numbers = [self._lowest - place for place in range(1, len(corrections) + 1)]
            self._lowest -= len(corrections)
        for some in batched(zip(numbers, corrections, strict=True), _SLICE):
            self.changes += 1
            for number, one in some:
                self._removed[number] = Removed(replace(one, number=number))
                self._file(self._removed[number])
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

    async def withdraw(self, kind: CorrectionKind, scope: str, memory_id: str) -> None:
        """Drop the last correction of this kind, which was undone."""
        found = [
            number
            for number, one in self._removed.items()
            if (one.correction.kind, one.correction.scope) == (kind, scope)
            and one.correction.memory_id == memory_id
        ]
        await self.drop(found[-1:])

    async def drop(self, numbers: Sequence[int]) -> None:
        """Drop these corrections."""
        if not numbers:
            return
        for some in batched(numbers, _SLICE):
            self.changes += 1
            self._unfile([self._removed.pop(n) for n in some if n in self._removed])
            await asyncio.sleep(0)
        try:
            await asyncio.to_thread(self._state.drop_corrections, numbers)
        except (StateUnavailable, EngineClosed) as error:
            logger.warning("没能撤回改过的记录：{}", error)

    def changes_of(self, scope: str) -> int:
        """Returns another number once a correction of the scope was recorded or dropped."""
        return self._changed_at.get(scope, 0)

    def would_revive(
        self, scope: str, memory: Memory, said_at: datetime, *, otherwise: bool = False
    ) -> bool:
        """Returns whether a correction keeps ``memory``, said at that time, out of a scope. May
        take milliseconds. ``otherwise``: also in other words of the same person."""
        person = memory.provenance.person if otherwise else None
        near = self._before(scope, said_at, person=person)
        if not near:
            return False
        text = named(memory.judgment, memory.provenance.who)
        return says(text, memory.created_at, near, self._mark) is not None

    def is_copied(self, scope: str, memory_ids: Iterable[str], said_at: datetime) -> bool:
        """Returns whether one of these memories was corrected in the scope since it was said."""
        since = said_at.replace(microsecond=0)
        return any(
            one.correction.at >= since
            for memory_id in memory_ids
            for one in self._by_entry.get((scope, memory_id), ())
        )

    def cleared(self, turns: Sequence[QueuedTurn]) -> list[QueuedTurn]:
        """Returns the turns as a model may read them: without what was corrected since they were
        said, and without corrected statements that only the bot repeats."""
        return [self._cleared(turn) for turn in turns]

    def _cleared(self, turn: QueuedTurn) -> QueuedTurn:
        near = self._before(turn.scope, turn.observed_at, shown=True, person=turn.person)
        turn = self._cut(turn, near)
        if not turn.reply_text:
            return turn
        # From its chat history the bot may repeat what was corrected before: that counts as said
        # anew only if the person says it in the same turn.
        ever = self._before(turn.scope, EVER, shown=True)
        if says(named(turn.user_text, turn.who), turn.observed_at, ever, self._mark) is not None:
            return turn
        return replace(turn, reply_text=self._reply_without(turn, ever))

    def _cut(self, turn: QueuedTurn, near: Sequence[Removed]) -> QueuedTurn:
        """Returns the turn without these statements; without any words if it is a copy of one and
        its words do not show which of them say it."""
        if not near:
            return turn
        ids = copies(turn)
        for one in (one for one in near if one.correction.memory_id in ids):
            alone = one.correction.memory_id == unread_id(turn.ticket_id)
            if alone or self._said_without(turn, [one]) == turn.user_text:
                return replace(turn, user_text="", reply_text="")
        said = self._said_without(turn, near)
        return replace(turn, user_text=said, reply_text=self._reply_without(turn, near))

    def _said_without(self, turn: QueuedTurn, near: Sequence[Removed]) -> str:
        as_named = partial(named, who=turn.who)
        return without(turn.user_text, turn.observed_at, near, self._mark, as_named=as_named)

    def _reply_without(self, turn: QueuedTurn, near: Sequence[Removed]) -> str:
        as_named = partial(answered, who=turn.who)
        return without(turn.reply_text, turn.observed_at, near, self._mark, as_named=as_named)

    def text_cleared(self, scope: str, text: str, since: datetime) -> str:
        """Returns a derived text without what was corrected in the scope from ``since`` on."""
        near = self._before(scope, since, shown=True)
        return without(text, since, near, self._mark) if near else text

    def diary_cleared(self, stored: StoredMemory) -> str:
        """Returns the words of a diary without what was corrected in its scope since its day."""
        near = self._before(stored.scope.name, stored.memory.created_at, shown=True)
        return self._diary_without(stored.memory, near)

    def without_former(
        self, told: Sequence[StoredMemory], beside: Iterable[StoredMemory]
    ) -> list[StoredMemory]:
        """Returns ``told``, its diaries without what their people retracted since, and without what
        an entry of ``beside`` settled; an empty diary is left out."""
        settled: dict[str, list[Removed]] = {}
        for one in beside:
            if closed_by(one.memory):
                name = one.scope.name
                removed = Removed(self._made(CorrectionKind.TAKEN_BACK, name, one.memory))
                settled.setdefault(name, []).append(removed)
        now = (self._diary(stored, settled.get(stored.scope.name, ())) for stored in told)
        return [stored for stored in now if stored.memory.judgment]

    def _diary(self, stored: StoredMemory, settled: Sequence[Removed]) -> StoredMemory:
        """Returns the entry as it may be shown now; entries other than diaries unchanged."""
        memory = stored.memory
        if not is_digest(memory):
            return stored
        since = self._before(stored.scope.name, memory.created_at)
        back = [one for one in since if one.correction.kind is CorrectionKind.TAKEN_BACK]
        words = self._diary_without(memory, [*back, *settled])
        return replace(stored, memory=replace(memory, judgment=words))

    def _diary_without(self, memory: Memory, removed: Sequence[Removed]) -> str:
        if not removed:
            return memory.judgment

        def left(words: str, who: str) -> str:
            if any(is_listed(one.correction.words, words) for one in removed):
                return ""
            as_named = partial(named, who=who)
            return without(words, memory.created_at, removed, self._mark, as_named=as_named)

        return current(memory.judgment, left, listed=MADE_OF_ENTRIES in memory.extra)

    def turn_without(self, turn: QueuedTurn, purged: Sequence[Correction]) -> QueuedTurn:
        """Returns a turn without these statements, unless they were said anew in it."""
        near = [_as_said_by(turn.person, Removed(one)) for one in purged]
        return self._cut(turn, [one for one in near if one.correction.at >= turn.observed_at])

    def says(self, text: str, purged: Sequence[Correction]) -> bool:
        """Returns whether one of the bot's own texts says one of these statements."""
        return without(text, EVER, [Removed(one) for one in purged], self._mark) != text

    def all_in_words(self) -> list[Correction]:
        """Returns all corrections whose words are known."""
        return [one.correction for one in self._removed.values() if one.correction.words]

    def was_taken_out(self, scope: str, memory_id: str) -> bool:
        """True for an entry that a person has forgotten in the scope, or moved to another one."""
        gone = (CorrectionKind.FORGOTTEN, CorrectionKind.MOVED)
        names = (memory_id, self._mark(memory_id))
        return any(
            one.correction.kind in gone and one.correction.scope == scope
            for name in names
            for one in self._by_entry.get((scope, name), ())
        )

    def is_purged(self, scope: str, memory_id: str) -> bool:
        """True if a person had an entry purged: it may not be restored."""
        names = {(scope, memory_id), (scope, self._mark(memory_id))}
        return not names.isdisjoint(self._purged | self._unsealed)

    async def note_purged(self, scope: str, memory_id: str, *, there: bool = True) -> None:
        """Record at once that an entry is purged: no file brings it back, whatever it says of its
        time, though the words are needed until the night. Or that it is sealed, or lives again."""
        (self._unsealed.add if there else self._unsealed.discard)((scope, memory_id))
        try:
            name = f"{_PURGED}{scope}/{memory_id}"
            await asyncio.to_thread(self._state.set_mark, name, there=there)
        except (StateUnavailable, EngineClosed) as error:
            logger.warning("没能记下彻底删了哪一条，今晚整理前从备份还原会带回它：{}", error)

    def unsealed(self) -> list[tuple[str, str]]:
        """Returns scope and id of each entry that was purged and is not sealed yet."""
        return sorted(self._unsealed)

    async def seal(self, purged: Sequence[Correction], gone: Collection[str]) -> None:
        """Replace the words of these, and those ids that are ``gone``, by keyed hashes.

        Raises StateUnavailable: they may still be in the log of the state's file. They are out of
        it once ``clear_log`` returns True.
        """
        sealed = [
            replace(
                one,
                memory_id=self._mark(one.memory_id) if one.memory_id in gone else one.memory_id,
                words="",
                who="",
                marks=marks_of(one, self._mark),
            )
            for one in purged
        ]
        await asyncio.to_thread(self._state.set_mark, _LOG)
        await asyncio.to_thread(self._state.seal_corrections, sealed)
        self._removed.update((one.number, Removed(one)) for one in sealed)
        changed_at = dict(self._changed_at)
        self._sort()
        self._changed_at = changed_at  # the same statements are corrected as before

    async def clear_log(self) -> bool:
        """Take what was sealed out of the log of the state's file. Returns whether there was any.
        Raises StateUnavailable: it is tried again at the next call."""
        if not await asyncio.to_thread(self._state.has_mark, _LOG):
            return False
        await asyncio.to_thread(self._state.checkpoint_wal)
        await asyncio.to_thread(self._state.set_mark, _LOG, there=False)
        return True

    async def carry(self, source: str, target: str, persons: Collection[str] | None) -> None:
        """Copy corrections to the scope to which a scope's statements are brought: all, or those of
        what these persons had said."""
        there = {
            (one.correction.kind, one.correction.memory_id, one.correction.at)
            for one in self._by_scope.get(target, ())
        }
        found = [
            replace(
                one.correction,
                scope=target if one.correction.scope == source else one.correction.scope,
                target=target if one.correction.target == source else one.correction.target,
                number=0,
            )
            for one in self._by_scope.get(source, ())
            if persons is None or one.correction.person in persons
        ]
        await self.note_many(
            [one for one in found if (one.kind, one.memory_id, one.at) not in there]
        )

    def of_scope(self, scope: str) -> list[Correction]:
        """Returns all corrections of a scope by people, the oldest first."""
        return [
            one.correction
            for one in self._by_scope.get(scope, ())
            if one.correction.kind is not CorrectionKind.TAKEN_BACK
        ]

    def _before(
        self, scope: str, said_at: datetime, *, shown: bool = False, person: str | None = None
    ) -> list[Removed]:
        """Returns corrections from after ``said_at``. ``shown``: for text that a model or a person
        reads, and is not an entry of the scope. ``person``: who said it, empty if unknown, where
        other words of what that person had said count as well."""
        return [
            _as_said_by(person, one)
            for one in self._by_scope.get(scope, ())
            if one.correction.at >= said_at and not (shown and _may_be_shown(one.correction, scope))
        ]

    def _sort(self) -> None:
        # Threads read these meanwhile: each is whole when it takes the former's place.
        by_scope: dict[str, list[Removed]] = {}
        by_entry: dict[tuple[str, str], list[Removed]] = {}
        purged = set()
        for _, one in sorted(self._removed.items(), key=lambda pair: pair[1].correction.at):
            for scope in _scopes(one.correction):
                by_scope.setdefault(scope, []).append(one)
                by_entry.setdefault((scope, one.correction.memory_id), []).append(one)
                if not one.correction.words:
                    purged.add((scope, one.correction.memory_id))
        former, self._by_scope = self._by_scope, by_scope
        self._by_entry, self._purged = by_entry, purged
        self.changes += 1
        for scope in {*former, *by_scope}:
            if former.get(scope) != by_scope.get(scope):
                self._changed_at[scope] = self.changes

    def _file(self, one: Removed) -> None:
        """Add to the lists by scope and by entry: in each the latest comes last."""
        for scope in _scopes(one.correction):
            entry = scope, one.correction.memory_id
            insort(self._by_scope.setdefault(scope, []), one, key=_at)
            insort(self._by_entry.setdefault(entry, []), one, key=_at)
            self._changed_at[scope] = self.changes
            if not one.correction.words:
                self._purged.add(entry)

    def _unfile(self, gone: Sequence[Removed]) -> None:
        numbers = {one.correction.number for one in gone}
        entries = {
            (scope, one.correction.memory_id) for one in gone for scope in _scopes(one.correction)
        }
        for scope in {scope for scope, _ in entries}:
            of_scope = self._by_scope[scope]
            self._by_scope[scope] = [r for r in of_scope if r.correction.number not in numbers]
            self._changed_at[scope] = self.changes
        for entry in entries:
            left = [r for r in self._by_entry[entry] if r.correction.number not in numbers]
            self._by_entry[entry] = left
            if all(one.correction.words for one in left):
                self._purged.discard(entry)

    def _same(self, kind: CorrectionKind, scope: str, memory: Memory) -> list[int]:
        words = same_words(memory.judgment)
        return [
            one.correction.number
            for one in self._by_entry.get((scope, memory.memory_id), ())
            if (one.correction.kind, one.correction.scope) == (kind, scope)
            and same_words(one.correction.words) == words
        ]

    def _is_typing(self, scope: str, memory_id: str) -> bool:
        since = self._clock() - TYPING
        return any(
            is_hand_edit(one.correction) and one.correction.at >= since
            for one in self._by_entry.get((scope, memory_id), ())
        )

    def _made(
        self, kind: CorrectionKind, scope: str, memory: Memory, by: str = "", target: str = ""
    ) -> Correction:
        origin = memory.provenance
        return Correction(
            kind,
            scope,
            memory.memory_id,
            memory.judgment,
            memory.created_at,
            max(self._clock(), memory.created_at),  # the clock may have been set back
            origin.person,
            origin.who,
            target,
            by,
        )

    def _mark(self, text: str) -> str:
        return hmac.new(self._key, text.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


def _as_said_by(person: str | None, removed: Removed) -> Removed:
    """Returns the correction for a text of this person, empty for one who is unknown."""
    correction = removed.correction
    own = person is not None and person in ("", correction.person)
    taken_back = correction.kind is CorrectionKind.TAKEN_BACK
    return removed.otherwise if own and not taken_back else removed


def _at(removed: Removed) -> datetime:
    return removed.correction.at


def _may_be_shown(correction: Correction, scope: str) -> bool:
    """True for what was moved into the scope, and for what its speaker retracted later."""
    if correction.kind is CorrectionKind.MOVED:
        return correction.target == scope
    return correction.kind is CorrectionKind.TAKEN_BACK


def _scopes(correction: Correction) -> tuple[str, ...]:
    """Returns the scopes to which it may not return. A moved statement is in its new scope already,
    and was not meant for all."""
    if correction.kind is not CorrectionKind.MOVED:
        return (correction.scope,)
    return tuple(dict.fromkeys((correction.scope, correction.target, PUBLIC.name)))


def _split_mark(mark: str) -> tuple[str, str]:
    scope, _, memory_id = mark.rpartition("/")
    return scope, memory_id
