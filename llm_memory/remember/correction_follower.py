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
from .deeds import Deeds
from .edit import MemoryEditor

_EMPTIED: Final = Actor("", "空了的日记")


@dataclass(eq=False)
class CorrectionFollower:
    """Called after each correction, and after each round over the files: it looks at what was
    noted since, in the scopes of that."""

    _deeds: Deeds
    _unread: UnreadTurns
    _editor: MemoryEditor
    _catalogue: Catalogue
    _clock: Clock
    _followed: int = -1

    async def follow(self) -> None:
        """Cheap if nothing was corrected since. A failed write is tried again."""
        changes = self._deeds.changes.total()
        if changes == self._followed:
            return
        await self._unread.review()
        new, self._deeds.new = self._deeds.new, []
        by_scope = await asyncio.to_thread(_by_scope, new)
        failed = [await self._unwritten(scope, some) for scope, some in by_scope.items()]
        if any(failed):
            self._deeds.new += new
        else:
            self._followed = changes

    async def _unwritten(self, name: str, new: Sequence[Deed]) -> list[Refused]:
        """Update what was derived in a scope. Returns what could not be written."""
        entries = self._catalogue.of_scope(Scope.parse(name, derived=True))
        settled, journals = await asyncio.to_thread(_derived, entries, new)
        outcomes: list[StoredMemory | Refused | None] = []
        for stored, by in settled:
            if self._is_gone(stored.scope, by):
                outcomes.append(await self._editor.annotate(stored, partial(_reopened, by=by)))
        for stored, left in journals:
            wording = partial(replace, judgment=left or NOTHING)
            written = await self._editor.annotate(stored, wording)
            outcomes.append(written)
            if not left and isinstance(written, StoredMemory):
                at = self._clock().replace(microsecond=0)
                outcomes.append((await self._editor.archive([written], _EMPTIED, at))[1])
        return [one for one in outcomes if isinstance(one, Refused) and not is_absent(one)]

    def _is_gone(self, scope: Scope, memory_id: str) -> bool:
        """True for an entry that a person has taken out of the scope."""
        there = self._catalogue.get(Key(scope.name, memory_id)) is not None
        return not there and self._deeds.was_taken_out(scope.name, memory_id)


def _by_scope(deeds: Sequence[Deed]) -> dict[str, list[Deed]]:
    found: dict[str, list[Deed]] = {}
    for deed in deeds:
        for name in deed.hidden_in:
            found.setdefault(name, []).append(deed)
    return found


def _derived(
    entries: Sequence[StoredMemory], new: Sequence[Deed]
) -> tuple[list[tuple[StoredMemory, str]], list[tuple[StoredMemory, str]]]:
    """Returns the settled entries, each with the id of what settled it, and the journals that tell
    of something corrected, each with what is left of it."""
    settled, journals = [], []
    for stored in entries:
        memory = stored.memory
        if by := closed_by(memory):
            settled.append((stored, by))
        if is_digest(memory) and is_journal(stored):
            words = {one.words for one in new if one.at >= memory.created_at}
            left = journal_without(memory.judgment, words)
            if left not in (None, memory.judgment):
                journals.append((stored, left))
    return settled, journals


def _reopened(memory: Memory, by: str) -> Memory:
    """Returns the entry open again, unless a person has changed what settled it."""
    return still_open(reopened(memory)) if closed_by(memory) == by else memory
