"""Turns that are read together: which are next, and what becomes of those that nobody can read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ..models.loop import Batch, BatchState, Letter, Party, WaitingLine
from ..models.settings import LoopSettings
from ..models.turns import QueuedTurn
from ..storage.loop_port import LoopBook, TurnStore
from ..text.derived_ids import derived_id
from .feedback_applier import SCOPE_GONE
from .rules.due import is_due, may_pay, seconds_until_due
from .rules.fair_shares import Allowance, in_order, taking_turns
from .rules.prompt import MOST_TURNS, REPLY_TOKENS, how_many_fit
from .rules.worth_reading import worth_of

Passed = set[str | tuple[str, str, str]]
"""Batches by id, and lines by name."""
_REMEMBERED = 1_000
"""Lines whose worth is known."""
_CROWDED = (4, 5)
"""Of the places in the queue."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A batch and its turns. ``made`` is False for one that is not on disk yet."""

    batch: Batch
    turns: tuple[QueuedTurn, ...]
    made: bool = True

    @property
    def line(self) -> tuple[str, str, str]:
        """The name of the line that it is of."""
        return (self.batch.scope, self.batch.conversation, self.batch.persona)


class Batches:
    """Over the store of turns. Every method blocks, and raises StateUnavailable."""

    def __init__(self, turns: TurnStore, book: LoopBook, settings: LoopSettings) -> None:
        self._turns = turns
        self._book = book
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
        """What is to be read now, but for batches and lines that were ``passed`` over: answers that
        are to be stored first, then whoever failed least often; of lines, whose turn it is by their
        speakers' shares.

        With a conversation, all that waits of it, due or not. Who is off the record waits; and,
        under an ``allowance``, what it leaves for later.
        """
        paused = self._book.paused()
        found = [
            batch
            for batch in self._turns.batches()
            if batch.state is not BatchState.DEAD
            and batch.batch_id not in passed
            and not self._is_paused(batch, paused)
            and conversation in (None, batch.conversation)
        ]
        begun = sorted(found, key=lambda one: (one.attempts, one.state is BatchState.OPEN))
        if not begun or begun[0].attempts:  # who failed waits until the others had their turn
            crowded = self._is_crowded()
            for line, parties in self._lines(allowance, paused):
                wanted = crowded or self._wanted(line, now, conversation)
                if line.name in passed or not wanted:
                    continue
                reading = self._of_line(line, parties, now, allowance)
                if reading.batch.batch_id not in passed:
                    return reading
        if not begun:
            return None
        turns = tuple(self._turns.of_batch(begun[0].batch_id))
        if not turns:  # somebody has taken them out
            self._turns.drop(())  # and with them goes what holds none
            return self.next(now, conversation, {*passed, begun[0].batch_id}, allowance)
        return Reading(begun[0], turns)

    def _lines(
        self, allowance: Allowance | None, paused: Mapping[str, datetime]
    ) -> list[tuple[WaitingLine, tuple[Party, ...]]]:
        """Lines that may be read, in the order of their speakers' shares, and of whom; without an
        allowance in the order in which they came."""
        addressed = allowance is not None and not allowance.overhears
        lines = [
            line
            for line in self._turns.lines(addressed=addressed)
            if not {line.conversation, line.map_key} & paused.keys()
        ]
        if allowance is None:
            return [(line, line.parties) for line in lines]
        shares = allowance.shares({party for line in lines for party in line.parties})
        served = [(line, allowance.served(line, shares)) for line in in_order(lines, shares)]
        return [(line, parties) for line, parties in served if parties]

    def make(self, reading: Reading) -> None:
        """On disk from now on."""
        if not reading.made:
            tickets = [turn.ticket_id for turn in reading.turns]
            self._turns.make_batch(reading.batch, tickets)

    def put(self, batch: Batch) -> None:
        """How it is doing now."""
        self._turns.put_batch(batch)

    def _wanted(self, line: WaitingLine, now: datetime, conversation: str | None) -> bool:
        if conversation is not None:
            return line.conversation == conversation
        after_turns, worth = self._settings.after_turns, self._worth_of(line)
        return is_due(line, worth, now, after_turns=after_turns, idle=self._idle)

    def _worth_of(self, line: WaitingLine) -> float:
        """How many turns of a line are worth reading, as far as it matters. Of a line that is as
        long and as new as it was, it is known."""
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
        """The queue will soon take no more: then nothing waits for what pays."""
        return self._turns.count() * _CROWDED[1] >= self._settings.most_queued * _CROWDED[0]

    def is_off_the_record(self, batch: Batch) -> bool:
        """Its conversation was paused since it was begun: what it teaches waits, too."""
        return self._is_paused(batch, self._book.paused())

    def _is_paused(self, batch: Batch, paused: Mapping[str, datetime]) -> bool:
        """By its own id, or by that of the group, where a platform splits one by member."""
        if not paused:
            return False
        keys = {turn.map_key for turn in self._turns.of_batch(batch.batch_id)}
        return bool({batch.conversation, *keys} & paused.keys())

    def _of_line(
        self,
        line: WaitingLine,
        parties: Sequence[Party],
        now: datetime,
        allowance: Allowance | None,
    ) -> Reading:
        """The first turns of these speakers, of each as many as of any other."""
        addressed = allowance is not None and not allowance.overhears
        speakers = () if len(parties) == len(line.parties) else [one.speaker for one in parties]
        first = self._turns.waiting(line, MOST_TURNS, addressed=addressed, speakers=speakers)
        turns = taking_turns(first)
        turns = turns[: how_many_fit(turns, self._settings.daily_tokens - REPLY_TOKENS)]
        chosen = tuple(turn for turn in first if turn in turns)
        batch_id = derived_id("b", *(turn.ticket_id for turn in chosen))
        return Reading(Batch(batch_id, *line.name, now), chosen, made=False)

    def seconds_until_due(self, now: datetime, *, overheard: bool = True) -> float | None:
        """Until the next line is due, None where nothing waits."""
        lines = self._turns.lines(addressed=not overheard)
        after = self._settings.after_turns
        waits = [
            seconds_until_due(line, self._worth_of(line), now, after_turns=after, idle=self._idle)
            for line in lines
        ]
        open_ = [batch for batch in self._turns.batches() if batch.state is not BatchState.DEAD]
        return min([*waits, *(0.0 for _ in open_)], default=None)

    def waiting(self, conversation: str | None) -> int:
        """How many turns are to be read."""
        lines = sum(
            line.count for line in self._turns.lines() if conversation in (None, line.conversation)
        )
        batches = (
            len(self._turns.of_batch(batch.batch_id))
            for batch in self._turns.batches()
            if batch.state is not BatchState.DEAD and conversation in (None, batch.conversation)
        )
        return lines + sum(batches)

    def letters(self) -> list[Letter]:
        """What was given up, the oldest first."""
        return [
            Letter(
                batch.batch_id,
                batch.conversation,
                len(self._turns.of_batch(batch.batch_id)),
                batch.made_at,
                batch.error,
            )
            for batch in self._dead()
        ]

    def retry(self, batch_id: str = "") -> int:
        """Read one of them again, or all: how many there were."""
        chosen = [batch for batch in self._dead() if batch_id in ("", batch.batch_id)]
        for batch in chosen:
            self._turns.put_batch(_as_new(batch))
        return len(chosen)

    def drop(self, batch_id: str) -> int:
        """Forget the turns of one of them: how many there were."""
        tickets: Sequence[str] = []
        for batch in self._dead():
            if batch.batch_id == batch_id:
                tickets = [turn.ticket_id for turn in self._turns.of_batch(batch_id)]
                self._turns.drop(tickets)
        return len(tickets)

    def gone(self) -> set[str]:
        """Scopes of what was given up because their folder was gone."""
        return {batch.scope for batch in self._dead() if batch.error == SCOPE_GONE}

    def bring_back(self, scope: str) -> None:
        """Its folder is there again: its turns may be read."""
        for batch in self._dead():
            if batch.error == SCOPE_GONE and batch.scope == scope:
                self._turns.put_batch(_as_new(batch))

    def _dead(self) -> list[Batch]:
        return [batch for batch in self._turns.batches() if batch.state is BatchState.DEAD]


def _as_new(batch: Batch) -> Batch:
    return replace(batch, state=BatchState.OPEN, attempts=0, reply="", error="")
