"""Updates what was derived from statements that a person corrected: the journals of days, and
entries that such a statement had settled."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from ..catalogue.catalogue import Catalogue
from ..catalogue.rules.closing import closed_by
from ..catalogue.rules.closing import reopened as still_open
from ..catalogue.rules.day_journal import NOTHING, is_journal, journal_without
from ..catalogue.rules.tasks import reopened
from ..catalogue.rules.timeline import is_digest
from ..catalogue.unread_turns import UnreadTurns
from ..models.conversation import Actor
from ..models.data_models import Memory, Refused, StoredMemory, is_absent
from ..models.deeds import Deed
from ..models.passages import Key
from ..models.scope import Scope
from ..runtime.identifiers import Clock
from ..vault.markdown_vault import MarkdownVault
from .deeds import Deeds
from .edit import Made, MemoryEditor

_EMPTIED: Final = Actor("", "空了的日记")


@dataclass(eq=False)
class CorrectionFollower:
    """Called after each correction, and after each round over the files: it looks at what was
    noted since, in the scopes of that."""

    _deeds: Deeds
    _unread: UnreadTurns
    _editor: MemoryEditor
    _catalogue: Catalogue
    _vault: MarkdownVault
    _clock: Clock
    _followed: int = -1

    async def follow(self) -> None:
        """Cheap if nothing was corrected since. A failed write is tried again."""
        changes = self._deeds.changes.total()
        if changes == self._followed:
            return
        await self._unread.review()
        new, self._deeds.new = self._deeds.new, []
        names = await asyncio.to_thread(lambda: {name for one in new for name in one.hidden_in})
        scopes = filter(None, map(self._vault.named, names))
        if any([await self._unwritten(scope, new) for scope in scopes]):
            self._deeds.new += new
        else:
            self._followed = changes

    async def _unwritten(self, scope: Scope, new: Sequence[Deed]) -> bool:
        """Update what was derived in a scope. Returns True if not all of it could be written."""
        entries, failed = self._catalogue.of_scope(scope), False
        for stored, made in await asyncio.to_thread(self._outdated, scope.name, entries, new):
            written = await self._editor.annotate(stored, made)
            failed |= isinstance(written, Refused) and not is_absent(written)
            if isinstance(written, StoredMemory) and written.memory.judgment == NOTHING:
                at = self._clock().replace(microsecond=0)
                _, refused = await self._editor.archive([written], _EMPTIED, at)
                failed |= refused is not None
        return failed

    def _outdated(
        self, scope: str, entries: Sequence[StoredMemory], new: Sequence[Deed]
    ) -> list[tuple[StoredMemory, Made]]:
        """Returns the entries whose settling statement a person has taken out of the scope, and
        the journals that tell of something corrected; each with how it is to be. Blocks."""
        found: list[tuple[StoredMemory, Made]] = []
        here = [one for one in new if scope in one.hidden_in]
        for stored in entries:
            memory, by = stored.memory, closed_by(stored.memory)
            gone = by and self._catalogue.get(Key(scope, by)) is None
            if gone and self._deeds.was_taken_out(scope, by):
                found.append((stored, partial(_reopened, by=by)))
            if is_digest(memory) and is_journal(stored):
                words = {one.words for one in here if one.at >= memory.created_at}
                left = journal_without(memory.judgment, words)
                if left not in (None, memory.judgment):
                    found.append((stored, partial(replace, judgment=left or NOTHING)))
        return found


def _reopened(memory: Memory, by: str) -> Memory:
    """Returns the entry open again, unless a person has changed what settled it."""
    return still_open(reopened(memory)) if closed_by(memory) == by else memory
