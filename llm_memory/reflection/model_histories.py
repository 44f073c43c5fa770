"""Tracks whether a chat history given to the model may hold words of another scope.

AstrBot gives the model the earlier turns of a conversation, and its answers quote them. After the
conversation's scope has changed, such an answer would carry words of the former scope to readers of
the new one, until AstrBot begins a new history.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from ..errors import StateUnavailable
from ..log import logger
from ..storage.state_store import SqliteStateStore


@dataclass(eq=False)
class ModelHistories:
    """Records durably in which scope each history is used."""

    _state: SqliteStateStore
    _mixed: set[str] = field(init=False, default_factory=set)
    """Conversations whose present history is mixed."""
    _lock: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)

    async def is_mixed(
        self, umo: str, history: str, scope: str, *, empty: bool = False, switched: bool = False
    ) -> bool:
        """Record that the history is used in this scope. Returns True if it may hold words of
        another one, also if that is unknown.

        Args:
            history: Its id in the bot framework.
            scope: The name of the conversation's scope now.
            empty: It has no turns yet, so its earlier use does not count.
            switched: It was used in another scope a moment ago.
        """

        def note() -> bool:
            former = self._state.model_history(umo, history)
            mixed = switched or (former not in (None, (scope, False)) and not empty)
            if (scope, mixed) != former:
                self._state.note_model_history(umo, history, scope, mixed=mixed)
            return mixed

        async with self._lock:
            try:
                mixed = await asyncio.to_thread(note)
            except StateUnavailable as error:
                logger.warning("state_not_written", error=error)
                return True
            (self._mixed.add if mixed else self._mixed.discard)(umo)
        return mixed

    async def is_of(self, umo: str, history: str, scope: str) -> bool:
        """Returns whether all of the history was made in this scope, False if that is unknown."""
        try:
            return await asyncio.to_thread(self._state.model_history, umo, history) == (
                scope,
                False,
            )
        except StateUnavailable as error:
            logger.warning("state_not_read", error=error)
            return False

    def current_is_mixed(self, umo: str) -> bool:
        """Returns ``is_mixed`` of the history used last since the start; False if there was
        none."""
        return umo in self._mixed
