"""When each conversation had its last turn: written down now and then, known at once."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..models.scope import Scope
from ..ports.loop import LoopBook

WRITTEN_EVERY = timedelta(minutes=5)
"""What a kill may take away of a pause, which is hours long: a commit in each turn is not worth
it."""
_KEPT = 1000


@dataclass(slots=True)
class _Seen:
    scope: str
    at: datetime
    written: datetime


class LastSeen:
    """Of one engine. Touched from the event loop only."""

    def __init__(self, book: LoopBook) -> None:
        self._book = book
        self._known: OrderedDict[str, _Seen] = OrderedDict()

    async def before(self, conversation: str, scope: Scope, now: datetime) -> datetime | None:
        """Note a turn; when the one before it was, None where there was none.

        Raises StateUnavailable where nobody can tell.
        """
        known = self._known.get(conversation)
        if known is not None and known.scope == scope.name and _lately(known.written, now):
            before, known.at = known.at, now
            self._known.move_to_end(conversation)
            return before
        found = await asyncio.to_thread(self._book.see, conversation, scope.name, at=now)
        self._known[conversation] = _Seen(scope.name, now, now)
        self._known.move_to_end(conversation)
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return found if known is None else known.at

    def clear(self) -> None:
        """Let go of what is known."""
        self._known.clear()


def _lately(written: datetime, now: datetime) -> bool:
    """Not where a clock was set back: what is written lies in the future then."""
    return timedelta() <= now - written < WRITTEN_EVERY
