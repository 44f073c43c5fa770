"""The time of each conversation's last turn: kept in memory, written at intervals."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ..models.scope import Scope
from ..storage.loop_facts import SqliteLoopFacts

WRITTEN_EVERY = timedelta(minutes=5)
"""A kill may lose this much of a pause, which is hours long: a commit in each turn is not worth its
cost."""
_KEPT = 1000
_TRIES = 3
"""Of so many turns in a row the last one counts, withdrawn or not."""


@dataclass(slots=True)
class _Seen:
    scope: str
    at: datetime
    written: datetime
    taken_back: int = 0


class LastSeen:
    """Used from the event loop only."""

    def __init__(self, book: SqliteLoopFacts) -> None:
        self._book = book
        self._known: OrderedDict[str, _Seen] = OrderedDict()

    async def before(self, conversation: str, scope: Scope, now: datetime) -> datetime | None:
        """Note a turn. Returns when the turn before it was, None if there was none. Raises
        StateUnavailable."""
        # Python subtracts two times of one zone by wall clock, which ignores DST changes.
        now = now.astimezone(UTC)
        known = self._known.get(conversation)
        if known is not None and known.scope == scope.name and _is_recent(known.written, now):
            before, known.at = known.at, now
            self._known.move_to_end(conversation)
            return before
        looking = asyncio.ensure_future(self._look(conversation, scope, now))
        try:
            return await asyncio.shield(looking)
        except asyncio.CancelledError:
            looking.add_done_callback(lambda done: self._withdraw_late(conversation, done))
            raise

    async def _look(self, conversation: str, scope: Scope, now: datetime) -> datetime | None:
        known = self._known.get(conversation)
        found = await asyncio.to_thread(self._book.see, conversation, scope.name, at=now)
        tries = 0 if known is None else known.taken_back
        self._known[conversation] = _Seen(scope.name, now, now, tries)
        self._known.move_to_end(conversation)
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return found if known is None else known.at

    def _withdraw_late(self, conversation: str, looked: asyncio.Future[datetime | None]) -> None:
        if not looked.cancelled() and looked.exception() is None:
            self.take_back(conversation, looked.result())

    def take_back(self, conversation: str, before: datetime | None) -> None:
        """Withdraw the last turn, which was cancelled before it got a primer: the turn before it
        counts as the last one again, so that the next turn gets the primer."""
        known = self._known.get(conversation)
        if known is not None and before is not None and known.taken_back + 1 < _TRIES:
            known.at, known.taken_back = before, known.taken_back + 1

    def note_primed(self, conversation: str) -> None:
        """Note that the primer was made, and reset the count of withdrawn turns."""
        if (known := self._known.get(conversation)) is not None:
            known.taken_back = 0

    def clear(self) -> None:
        """Clear the cache."""
        self._known.clear()


def _is_recent(written: datetime, now: datetime) -> bool:
    """False also where the clock was set back and the written time is in the future."""
    return timedelta() <= now - written < WRITTEN_EVERY
