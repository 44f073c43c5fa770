"""Tracks whether a chat history given to the model may hold words of another scope.

AstrBot gives the model the earlier turns of a conversation, and its answers quote them. After the
conversation's scope has changed, such an answer would carry words of the former scope to readers of
the new one, until AstrBot begins a new history.
"""

from __future__ import annotations

import asyncio
from functools import partial

from ..errors import StateUnavailable
from ..log import logger
from ..storage.state_store import SqliteStateStore

_REMEMBERED = 4096


class ModelHistories:
    """Records durably in which scope each history is used."""

    def __init__(self, state: SqliteStateStore) -> None:
        self._state = state
        self._noted: dict[tuple[str, str], tuple[str, bool]] = {}
        self._current: dict[str, str] = {}
        self._lock = asyncio.Lock()

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
        async with self._lock:
            try:
                former = await self._former(umo, history)
                carried = former is not None and former != (scope, False)
                mixed = switched or (carried and not empty)
                if (scope, mixed) != former:
                    note = partial(self._state.note_model_history, umo, history, scope, mixed=mixed)
                    await asyncio.to_thread(note)
            except StateUnavailable as error:
                logger.warning("state_not_written", error=error)
                return True
            if len(self._noted) >= _REMEMBERED:
                self._noted.clear()
                self._current.clear()
            self._noted[umo, history] = (scope, mixed)
            self._current[umo] = history
        return mixed

    async def is_of(self, umo: str, history: str, scope: str) -> bool:
        """Returns whether all of the history was made in this scope, False if that is unknown."""
        async with self._lock:
            try:
                noted = await self._former(umo, history)
            except StateUnavailable as error:
                logger.warning("state_not_read", error=error)
                return False
        return noted == (scope, False)

    def current_is_mixed(self, umo: str) -> bool:
        """Returns ``is_mixed`` of the history used last since the start; False if there was
        none."""
        noted = self._noted.get((umo, self._current.get(umo, "")))
        return noted is not None and noted[1]

    async def _former(self, umo: str, history: str) -> tuple[str, bool] | None:
        known = self._noted.get((umo, history))
        if known is not None:
            return known
        return await asyncio.to_thread(self._state.model_history, umo, history)
