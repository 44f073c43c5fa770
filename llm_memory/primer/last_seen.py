"""When each conversation had its last turn: written down now and then, known at once."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ..models.scope import Scope
from ..storage.loop_port import LoopBook

WRITTEN_EVERY = timedelta(minutes=5)
"""What a kill may take away of a pause, which is hours long: a commit in each turn is not worth
it."""
_KEPT = 1000
_TRIES = 3
"""So often a turn may be taken back until one of them counts: each of them has waited."""


@dataclass(slots=True)
class _Seen:
    scope: str
    at: datetime
    written: datetime
    taken_back: int = 0


class LastSeen:
    """Of one engine. Touched from the event loop only."""

    def __init__(self, book: LoopBook) -> None:
        self._book = book
        self._known: OrderedDict[str, _Seen] = OrderedDict()

    async def before(self, conversation: str, scope: Scope, now: datetime) -> datetime | None:
        """Note a turn; when the one before it was, None where there was none.

        Raises StateUnavailable where nobody can tell.
        """
        # Between two times of one zone Python counts what the clock on the wall shows.
        now = now.astimezone(UTC)
        known = self._known.get(conversation)
        if known is not None and known.scope == scope.name and _lately(known.written, now):
            before, known.at = known.at, now
            self._known.move_to_end(conversation)
            return before
        looking = asyncio.ensure_future(self._look(conversation, scope, now))
        try:
            return await asyncio.shield(looking)
        except asyncio.CancelledError:
            looking.add_done_callback(lambda done: self._late(conversation, done))
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

    def _late(self, conversation: str, looked: asyncio.Future[datetime | None]) -> None:
        if not looked.cancelled() and looked.exception() is None:
            self.take_back(conversation, looked.result())

    def take_back(self, conversation: str, before: datetime | None) -> None:
        """The turn that was noted last was told nothing, for it could not wait: the one before it
        is the last one again, so that the next is told."""
        known = self._known.get(conversation)
        if known is not None and before is not None and known.taken_back + 1 < _TRIES:
            known.at, known.taken_back = before, known.taken_back + 1

    def told(self, conversation: str) -> None:
        """A turn was told what it was to be told."""
        if (known := self._known.get(conversation)) is not None:
            known.taken_back = 0

    def clear(self) -> None:
        """Let go of what is known."""
        self._known.clear()


def _lately(written: datetime, now: datetime) -> bool:
    """Not where a clock was set back: what is written lies in the future then."""
    return timedelta() <= now - written < WRITTEN_EVERY
