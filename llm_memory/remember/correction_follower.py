"""Updates what was derived from statements that a person corrected: the journals of days, and
entries that such a statement had settled."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from ..catalogue.catalogue import Catalogue
from ..catalogue.rules.day_journal import is_journal
from ..catalogue.rules.timeline import is_digest
from ..catalogue.unread_turns import UnreadTurns
from ..errors import VaultWriteFailed
from ..log import logger
from ..models.data_models import StoredMemory
from ..models.deeds import Deed
from ..models.passages import Key
from .deeds import Deeds
from .edit import MemoryEditor


@dataclass(eq=False)
class CorrectionFollower:
    """Called after each correction, and after each round over the files: it looks at what was
    noted since, in the scopes of that."""

    _deeds: Deeds
    _unread: UnreadTurns
    _editor: MemoryEditor
    _catalogue: Catalogue
    _followed: int = -1

    async def follow(self) -> None:
        """Cheap if nothing was corrected since. A failed write is tried again."""
        changes = self._deeds.changes
        if changes == self._followed:
            return
        await self._unread.review()
        new, self._deeds.new = self._deeds.new, []
        try:
            by_scope = await asyncio.to_thread(_by_scope, new)
            for scope in await self._editor.scopes():
                if some := by_scope.get(scope.name):
                    await self._editor.reopen(scope, partial(self._is_gone, scope.name))
                    entries = self._catalogue.of_scope(scope)
                    for stored, rest in await asyncio.to_thread(self._less, entries, some):
                        await self._editor.rewrite_journal(stored, rest)
        except VaultWriteFailed as error:
            logger.warning("journals_not_corrected", error=error)
            self._deeds.new += new
        else:
            self._followed = changes

    def _is_gone(self, scope: str, memory_id: str) -> bool:
        """True for an entry that a person has taken out of the scope."""
        there = self._catalogue.get(Key(scope, memory_id)) is not None
        return not there and self._deeds.was_taken_out(scope, memory_id)

    def _less(
        self, entries: Sequence[StoredMemory], new: Sequence[Deed]
    ) -> list[tuple[StoredMemory, str]]:
        """Returns the journals that tell of something corrected, and what is left of each."""
        found = []
        for stored in entries:
            if is_digest(stored.memory) and is_journal(stored):
                words = {one.words for one in new if one.at >= stored.memory.created_at}
                left = self._deeds.texts.journal_cleared(stored, words) if words else None
                if left not in (None, stored.memory.judgment):
                    found.append((stored, left))
        return found


def _by_scope(deeds: Sequence[Deed]) -> dict[str, list[Deed]]:
    found: dict[str, list[Deed]] = {}
    for deed in deeds:
        for name in deed.hidden_in:
            found.setdefault(name, []).append(deed)
    return found
