"""Chat histories that the model is given, and whether they hold words of another scope.

AstrBot gives the model the earlier turns of a conversation, and its answers quote them. After the
conversation's scope has changed, such an answer would carry words of the former scope to those who
read it for the new one, until AstrBot begins a new history.
"""

from __future__ import annotations

import asyncio

from ..errors import StateUnavailable
from ..log import logger
from ..models.turns import HistoryScope
from ..storage.state_port import StateStore

_REMEMBERED = 4096


class ModelHistories:
    """Notes, durably, in which scope each history is used."""

    def __init__(self, state: StateStore) -> None:
        self._state = state
        self._noted: dict[tuple[str, str], HistoryScope] = {}
        self._current: dict[str, str] = {}
        self._one_by_one = asyncio.Lock()

    async def is_mixed(
        self, umo: str, history: str, scope: str, *, empty: bool = False, switched: bool = False
    ) -> bool:
        """Note that the history is used in this scope. True if it may hold words of another one,
        also where that cannot be told.

        Args:
            history: The id that the bot framework gives it.
            scope: The name of the conversation's scope now.
            empty: Nothing stands in it yet: whatever was, is forgotten.
            switched: It was used in another scope a moment ago.
        """
        async with self._one_by_one:
            try:
                former = await self._former(umo, history)
                carried = former is not None and (former.mixed or former.scope != scope)
                noted = HistoryScope(scope, mixed=switched or (carried and not empty))
                if noted != former:
                    await asyncio.to_thread(self._state.note_model_history, umo, history, noted)
            except StateUnavailable as error:
                logger.warning("状态未能读写：{}", error)
                return True
            if len(self._noted) >= _REMEMBERED:
                self._noted.clear()
                self._current.clear()
            self._noted[umo, history] = noted
            self._current[umo] = history
        return noted.mixed

    def current_is_mixed(self, umo: str) -> bool:
        """Of the history that was used last since the start; False where none was."""
        noted = self._noted.get((umo, self._current.get(umo, "")))
        return noted is not None and noted.mixed

    async def _former(self, umo: str, history: str) -> HistoryScope | None:
        known = self._noted.get((umo, history))
        if known is not None:
            return known
        return await asyncio.to_thread(self._state.model_history, umo, history)
