"""Corrections in memory, by scope and by entry; what was purged, of which keyed hashes take the
place of its words at night; and texts compared with them: what brings it back, and texts without
it."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from bisect import insort
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from ..catalogue.rules.closing import closed_by
from ..catalogue.rules.day_journal import is_listed
from ..catalogue.rules.timeline import MADE_OF_ENTRIES, is_digest
from ..errors import EngineClosed, StateUnavailable
from ..log import logger
from ..models.corrections import Correction, CorrectionKind
from ..models.data_models import Memory, StoredMemory
from ..models.scope import PUBLIC
from ..models.turns import QueuedTurn
from ..runtime.identifiers import Clock
from ..storage.state_store import SqliteStateStore
from .rules.corrected import (
    Removed,
    answered,
    copies,
    made_correction,
    marks_of,
    named,
    says,
    unread_id,
    without,
)
from .rules.current_diary import current

_PURGED = "purged:"
"""Begins a mark in the state: this entry was purged. Scope and id follow."""
_LOG = "sealed_in_log"
"""In the state, the mark of a log that may hold what was sealed."""


class Purges:
    """Knows which entries a person had purged, and seals their corrections."""

    def __init__(self, state: SqliteStateStore, index: CorrectionIndex) -> None:
        self._state = state
        self._index = index
        self._key = b""
        self._unsealed: set[tuple[str, str]] = set()
        """Purged, and not sealed yet."""

    def load_key(self) -> None:
        """Read the key of the hashes. Raises StateUnavailable. Blocks."""
        self._key = bytes.fromhex(self._state.correction_key())

    def load_unsealed(self) -> None:
        """Read what is not sealed yet. Raises StateUnavailable. Blocks."""
        self._unsealed = {_split_mark(one) for one in self._state.marks(_PURGED)}

    def mark(self, text: str) -> str:
        """Returns the keyed hash of a text."""
        return hmac.new(self._key, text.encode("utf-8", "replace"), hashlib.sha256).hexdigest()

    def pseudonym(self, person: str) -> str:
        """Returns the keyed hash of a person's id, empty while the key is unknown."""
        return self.mark(f"person:{person}") if self._key else ""

    def is_purged(self, scope: str, memory_id: str) -> bool:
        """True if a person had an entry purged: it may not be restored."""
        names = {(scope, memory_id), (scope, self.mark(memory_id))}
        return not names.isdisjoint(self._index.purged | self._unsealed)

    async def note(self, scope: str, memory_id: str, *, there: bool = True) -> None:
        """Record at once that an entry is purged: no file brings it back, whatever it says of its
        time, though the words are needed until the night. Or that it is sealed, or lives again."""
        (self._unsealed.add if there else self._unsealed.discard)((scope, memory_id))
        try:
            name = f"{_PURGED}{scope}/{memory_id}"
            await asyncio.to_thread(self._state.set_mark, name, there=there)
        except (StateUnavailable, EngineClosed) as error:
            logger.warning("purge_not_noted", error=error)

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
                memory_id=self.mark(one.memory_id) if one.memory_id in gone else one.memory_id,
                words="",
                who="",
                marks=marks_of(one, self.mark),
            )
            for one in purged
        ]
        await asyncio.to_thread(self._state.set_mark, _LOG)
        await asyncio.to_thread(self._state.seal_corrections, sealed)
        self._index.seal(sealed)

    async def clear_log(self) -> bool:
        """Take what was sealed out of the log of the state's file. Returns whether there was any.
        Raises StateUnavailable: it is tried again at the next call."""
        if not await asyncio.to_thread(self._state.has_mark, _LOG):
            return False
        await asyncio.to_thread(self._state.checkpoint_wal)
        await asyncio.to_thread(self._state.set_mark, _LOG, there=False)
        return True


def _split_mark(mark: str) -> tuple[str, str]:
    scope, _, memory_id = mark.rpartition("/")
    return scope, memory_id


class CorrectionIndex:
    """What is asked by scope or entry comes the oldest first."""

    def __init__(self) -> None:
        self._removed: dict[int, Removed] = {}
        self._by_scope: dict[str, list[Removed]] = {}
        self._by_entry: dict[tuple[str, str], list[Removed]] = {}
        self._purged: set[tuple[str, str]] = set()
        self._changed_at: dict[str, int] = {}
        self.changes = 0
        """Counts the changes since the start."""

    def load(self, corrections: Iterable[Correction]) -> None:
        """Hold these alone."""
        self._removed = {one.number: Removed(one) for one in corrections}
        self._sort()

    def add(self, corrections: Iterable[Correction]) -> None:
        """Hold these too, as one change."""
        self.changes += 1
        for one in corrections:
            self._removed[one.number] = Removed(one)
            self._file(self._removed[one.number])

    def drop(self, numbers: Iterable[int]) -> None:
        """Hold these no more, as one change."""
        self.changes += 1
        self._unfile([self._removed.pop(n) for n in numbers if n in self._removed])

    def seal(self, sealed: Iterable[Correction]) -> None:
        """Put these in the place of those with their numbers. The same statements are corrected as
        before: no scope counts as changed."""
        self._removed.update((one.number, Removed(one)) for one in sealed)
        changed_at = dict(self._changed_at)
        self._sort()
        self._changed_at = changed_at

    def changes_of(self, scope: str) -> int:
        """Returns another number once a correction of the scope was recorded or dropped."""
        return self._changed_at.get(scope, 0)

    def all(self) -> Iterable[Removed]:
        """Returns every correction, in the order of their recording."""
        return self._removed.values()

    def of_scope(self, scope: str) -> Sequence[Removed]:
        """Returns what may not return to the scope."""
        return self._by_scope.get(scope, ())

    def of_entry(self, scope: str, memory_id: str) -> Sequence[Removed]:
        """Returns what was corrected of an entry, or of an id's keyed hash."""
        return self._by_entry.get((scope, memory_id), ())

    @property
    def purged(self) -> set[tuple[str, str]]:
        """Scope and id, or its keyed hash, of each entry whose words are sealed."""
        return self._purged

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


def _at(removed: Removed) -> datetime:
    return removed.correction.at


def _scopes(correction: Correction) -> tuple[str, ...]:
    """Returns the scopes to which it may not return. A moved statement is in its new scope already,
    and was not meant for all."""
    if correction.kind is not CorrectionKind.MOVED:
        return (correction.scope,)
    return tuple(dict.fromkeys((correction.scope, correction.target, PUBLIC.name)))


EVER = datetime.min.replace(tzinfo=UTC)
"""For a text whose time is unknown."""


class CorrectedTexts:
    """Tells which statements a correction keeps out, and cuts them out of texts."""

    def __init__(self, index: CorrectionIndex, purges: Purges, clock: Clock) -> None:
        self._index = index
        self._mark = purges.mark
        self._clock = clock

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
            for one in self._index.of_entry(scope, memory_id)
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

    def told_again(self, turn: QueuedTurn) -> QueuedTurn:
        """Returns a turn out of an old chat history without what was ever corrected in its scope:
        when it was said may be unknown."""
        return self._cut(turn, self._before(turn.scope, EVER, shown=True, person=turn.person))

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
                back = made_correction(CorrectionKind.TAKEN_BACK, name, one.memory, self._clock())
                removed = Removed(back)
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

    def _before(
        self, scope: str, said_at: datetime, *, shown: bool = False, person: str | None = None
    ) -> list[Removed]:
        """Returns corrections from after ``said_at``. ``shown``: for text that a model or a person
        reads, and is not an entry of the scope. ``person``: who said it, empty if unknown, where
        other words of what that person had said count as well."""
        return [
            _as_said_by(person, one)
            for one in self._index.of_scope(scope)
            if one.correction.at >= said_at and not (shown and _may_be_shown(one.correction, scope))
        ]


def _as_said_by(person: str | None, removed: Removed) -> Removed:
    """Returns the correction for a text of this person, empty for one who is unknown."""
    correction = removed.correction
    own = person is not None and person in ("", correction.person)
    taken_back = correction.kind is CorrectionKind.TAKEN_BACK
    return removed.otherwise if own and not taken_back else removed


def _may_be_shown(correction: Correction, scope: str) -> bool:
    """True for what was moved into the scope, and for what its speaker retracted later."""
    if correction.kind is CorrectionKind.MOVED:
        return correction.target == scope
    return correction.kind is CorrectionKind.TAKEN_BACK
