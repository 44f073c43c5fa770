"""Updates what was derived from statements that a person corrected: the journals of days, and
entries that such a statement had settled."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from ..catalogue.catalogue import Catalogue
from ..catalogue.rules.closing import closed_by
from ..catalogue.rules.day_journal import is_journal
from ..catalogue.rules.timeline import is_digest
from ..catalogue.unread_turns import UnreadTurns
from ..errors import VaultWriteFailed
from ..log import logger
from ..models.data_models import StoredMemory
from ..models.deeds import Deed, DeedKind
from ..models.passages import Key
from ..models.scope import Scope
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
        new = self._deeds.take_new()
        try:
            by_scope = await asyncio.to_thread(_by_scope, new)
            for scope in await self._editor.scopes():
                if some := by_scope.get(scope.name):
                    await self._follow(scope, some)
        except VaultWriteFailed as error:
            logger.warning("journals_not_corrected", error=error)
            self._deeds.put_back(new)
            return
        self._followed = changes

    async def _follow(self, scope: Scope, new: Sequence[Deed]) -> None:
        gone = (DeedKind.FORGOTTEN, DeedKind.MOVED)
        if any(one.kind in gone for one in new):
            for stored in await self._editor.settled_in(scope):
                by = closed_by(stored.memory)
                left = self._catalogue.get(Key(scope.name, by)) is None
                if left and self._deeds.was_taken_out(scope.name, by):
                    await self._editor.reopen(stored)
        entries = self._catalogue.of_scope(scope)
        for stored, rest in await asyncio.to_thread(self._less, entries, new):
            await self._editor.rewrite_journal(stored, rest)

    def _less(
        self, entries: Sequence[StoredMemory], new: Sequence[Deed]
    ) -> list[tuple[StoredMemory, str]]:
        """Returns the journals that tell of something corrected, and what is left of each."""
        found = []
        for stored in entries:
            if is_digest(stored.memory) and is_journal(stored):
                made = stored.memory.created_at
                words = {one.words for one in new if one.at >= made}
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
