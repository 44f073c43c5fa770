"""Updates what was derived from statements that a person corrected."""

from __future__ import annotations

from ..catalogue.unread_turns import UnreadTurns
from ..errors import VaultWriteFailed
from ..log import logger
from .closings import Closings
from .corrected_journals import CorrectedJournals
from .corrected_statements import CorrectedStatements


class CorrectionFollower:
    """Called after each correction, and after each round over the files."""

    def __init__(
        self,
        corrected: CorrectedStatements,
        unread: UnreadTurns,
        closings: Closings,
        journals: CorrectedJournals,
    ) -> None:
        self._corrected = corrected
        self._unread = unread
        self._closings = closings
        self._journals = journals
        self._followed = -1

    async def follow(self) -> None:
        """Cheap if nothing was corrected since. A failed write is tried again."""
        changes = self._corrected.changes
        if changes == self._followed:
            return
        await self._unread.review()
        try:
            await self._closings.open_again()
            await self._journals.clear()
        except VaultWriteFailed as error:
            logger.warning("journals_not_corrected", error=error)
            return
        self._followed = changes
