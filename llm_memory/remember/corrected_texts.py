"""Texts compared with what people corrected: what brings it back, and texts without it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from ..catalogue.rules.closing import closed_by
from ..catalogue.rules.day_journal import is_listed
from ..catalogue.rules.timeline import MADE_OF_ENTRIES, is_digest
from ..models.corrections import Correction, CorrectionKind
from ..models.data_models import Memory, StoredMemory
from ..models.turns import QueuedTurn
from ..runtime.identifiers import Clock
from .correction_index import CorrectionIndex
from .purges import Purges
from .rules.corrected import (
    Removed,
    answered,
    copies,
    made_correction,
    named,
    says,
    unread_id,
    without,
)
from .rules.current_diary import current

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
