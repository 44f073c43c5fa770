"""Chooses the turns that are read together next, and manages dead letters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ..models.loop import Batch, WaitingLine
from ..models.resolution import Pause
from ..models.settings import LoopSettings
from ..models.turns import QueuedTurn
from ..text.normalising import derived_id
from .feedback_applier import SCOPE_GONE
from .rules.due import is_due, may_pay, seconds_until_due
from .rules.fair_shares import Allowance, round_robin
from .rules.prompt import MOST_TURNS, REPLY_TOKENS, how_many_fit
from .rules.worth_reading import worth_of
from .turn_store import SqliteTurnStore

Passed = set[str | tuple[str, str, str]]
"""Batches by id, and lines by name, that were skipped in this pass."""
_REMEMBERED = 1_000
"""The most lines whose worth is cached."""
_CROWDED = (4, 5)
"""The fraction of the queue's places above which it is crowded."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A batch and its turns. ``made`` is False if it is not on disk yet."""

    batch: Batch
    turns: tuple[QueuedTurn, ...]
    made: bool = True

    @property
    def line(self) -> tuple[str, str, str]:
        """Returns the name of its line."""
        return (self.batch.scope, self.batch.conversation, self.batch.persona)


class Batches:
    """Uses the store of turns. Every method blocks, and raises StateUnavailable."""

    def __init__(
        self,
        turns: SqliteTurnStore,
        pause_of: Callable[[str], Pause | None],
        settings: LoopSettings,
    ) -> None:
        """``pause_of``: of what the owner's map calls a conversation, or of its own id."""
        self._turns = turns
        self._pause_of = pause_of
        self._settings = settings
        self._idle = timedelta(minutes=settings.idle_minutes)
        self._worth: dict[tuple[str, str, str], tuple[datetime, int, float]] = {}

    def next(
        self,
        now: datetime,
        conversation: str | None,
        passed: Passed,
        allowance: Allowance | None = None,
    ) -> Reading | None:
        """Returns what to read next, without the batches and lines in ``passed``: batches that
        failed least often first, of these answered ones first; lines in the order of the
        ``allowance``, without one in the order in which they came.

        With a conversation, all its waiting turns, due or not. Paused conversations wait, and so
        do, under an allowance, the groups that it leaves too little for.
        """
        found = [
            batch
            for batch in self._turns.batches()
            if batch.state != "dead"
            and batch.batch_id not in passed
            and not self.is_off_the_record(batch)
            and conversation in (None, batch.conversation)
        ]
        begun = sorted(found, key=lambda one: (one.attempts, one.state == "open"))
        if not begun or begun[0].attempts:  # a failed batch waits until the others were tried
            crowded = self._is_crowded()
            for line in self._lines(allowance):
                wanted = crowded or self._wanted(line, now, conversation)
                if line.name in passed or not wanted:
                    continue
                reading = self._of_line(line, now, allowance)
                if reading.batch.batch_id not in passed:
                    return reading
        if not begun:
            return None
        turns = tuple(self._turns.of_batch(begun[0].batch_id))
        if not turns:  # its turns were deleted meanwhile
            self._turns.drop(())  # deletes batches without turns
            return self.next(now, conversation, {*passed, begun[0].batch_id}, allowance)
        return Reading(begun[0], turns)

    def _lines(self, allowance: Allowance | None) -> list[WaitingLine]:
        """Returns the lines that may be read, in order."""
        addressed = allowance is not None and not allowance.overhears
        lines = [
            line
            for line in self._turns.lines(addressed=addressed)
            if not any(map(self._pause_of, (line.conversation, line.map_key)))
        ]
        return lines if allowance is None else allowance.in_order(lines)

    def make(self, reading: Reading) -> None:
        """Store a new batch on disk."""
        if not reading.made:
            tickets = [turn.ticket_id for turn in reading.turns]
            self._turns.make_batch(reading.batch, tickets)

    def put(self, batch: Batch) -> None:
        """Store a batch's new state."""
        self._turns.put_batch(batch)

    def _wanted(self, line: WaitingLine, now: datetime, conversation: str | None) -> bool:
        if conversation is not None:
            return line.conversation == conversation
        after_turns, worth = self._settings.after_turns, self._worth_of(line)
        return is_due(line, worth, now, after_turns=after_turns, idle=self._idle)

    def _worth_of(self, line: WaitingLine) -> float:
        """Returns the worth of a line's turns, 0 if it does not matter. The value is cached until
        the line's count or newest turn changes."""
        if not may_pay(line, after_turns=self._settings.after_turns):
            self._worth.pop(line.name, None)
            return 0.0
        newest, count, worth = self._worth.get(line.name, (None, 0, 0.0))
        if (newest, count) != (line.newest, line.count):
            worth = sum(map(worth_of, self._turns.waiting(line, MOST_TURNS)))
            if len(self._worth) >= _REMEMBERED:
                self._worth.clear()
            self._worth[line.name] = (line.newest, line.count, worth)
        return worth

    def _is_crowded(self) -> bool:
        """True if the queue is nearly full: then lines are read without being due."""
        return self._turns.count() * _CROWDED[1] >= self._settings.most_queued * _CROWDED[0]

    def is_off_the_record(self, batch: Batch) -> bool:
        """True if the conversation is paused, by its own id, or the group's on platforms that split
        a group by member. Paused after the batch was begun, its answer waits, too."""
        keys = {turn.map_key for turn in self._turns.of_batch(batch.batch_id)}
        return any(map(self._pause_of, {batch.conversation, *keys}))

    def _of_line(self, line: WaitingLine, now: datetime, allowance: Allowance | None) -> Reading:
        """Returns the first turns of the line's speakers, round-robin, as many as fit."""
        addressed = allowance is not None and not allowance.overhears
        admins = allowance is not None and allowance.admins_only(line)
        left = self._settings.daily_tokens
        if allowance is not None:
            left = min(left, allowance.left_for(*line.groups))
        first = self._turns.waiting(line, MOST_TURNS, addressed=addressed, admins=admins)
        turns = round_robin(first)
        turns = turns[: how_many_fit(turns, left - REPLY_TOKENS)]
        chosen = tuple(turn for turn in first if turn in turns)
        batch_id = derived_id("b", *(turn.ticket_id for turn in chosen))
        return Reading(Batch(batch_id, *line.name, now), chosen, made=False)

    def seconds_until_due(self, now: datetime, *, overheard: bool = True) -> float | None:
        """Returns the seconds until the next line is due, None if nothing waits."""
        lines = self._turns.lines(addressed=not overheard)
        after = self._settings.after_turns
        waits = [
            seconds_until_due(line, self._worth_of(line), now, after_turns=after, idle=self._idle)
            for line in lines
        ]
        open_ = [batch for batch in self._turns.batches() if batch.state != "dead"]
        return min([*waits, *(0.0 for _ in open_)], default=None)

    def waiting(self, conversation: str | None) -> int:
        """Returns the number of waiting turns."""
        lines = sum(
            line.count for line in self._turns.lines() if conversation in (None, line.conversation)
        )
        batches = (
            len(self._turns.of_batch(batch.batch_id))
            for batch in self._turns.batches()
            if batch.state != "dead" and conversation in (None, batch.conversation)
        )
        return lines + sum(batches)

    def retry(self) -> int:
        """Queue all dead letters again. Returns how many there were."""
        chosen = list(self._dead())
        for batch in chosen:
            self._turns.put_batch(_as_new(batch))
        return len(chosen)

    def gone(self) -> set[str]:
        """Returns the scopes of dead letters whose folder was deleted."""
        return {batch.scope for batch in self._dead() if batch.error == SCOPE_GONE}

    def bring_back(self, scope: str) -> None:
        """Queue a scope's dead letters again: its folder is back."""
        for batch in self._dead():
            if batch.error == SCOPE_GONE and batch.scope == scope:
                self._turns.put_batch(_as_new(batch))

    def _dead(self) -> list[Batch]:
        return [batch for batch in self._turns.batches() if batch.state == "dead"]


def _as_new(batch: Batch) -> Batch:
    return replace(batch, state="open", attempts=0, reply="", error="")
