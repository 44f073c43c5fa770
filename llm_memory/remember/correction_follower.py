"""Updates what was derived from statements that a person corrected: stored journals, and entries
that such a statement had settled."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from ..catalogue.catalogue import Catalogue
from ..catalogue.recallable_memories import RecallableMemories
from ..catalogue.rules.closing import closed, closed_by
from ..catalogue.rules.closing import reopened as still_open
from ..catalogue.rules.day_journal import NOTHING, is_journal
from ..catalogue.rules.tasks import is_task, reopened
from ..catalogue.rules.timeline import is_digest
from ..catalogue.unread_turns import UnreadTurns
from ..errors import VaultWriteFailed
from ..log import logger
from ..models.conversation import Actor
from ..models.data_models import Memory, StoredMemory
from ..models.passages import Key, place_name
from ..models.scope import Scope, ScopeFilter
from ..runtime.identifiers import Clock
from ..runtime.shielded import shielded
from ..vault.markdown_vault import MarkdownVault
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


_EMPTIED: Final = Actor("", "空了的日记")


@dataclass(eq=False)
class CorrectedJournals:
    """Rewrites journals in place."""

    _vault: MarkdownVault
    _catalogue: Catalogue
    _recallable: RecallableMemories
    _corrected: CorrectedStatements
    _clock: Clock

    async def clear(self, scope: Scope | None = None) -> None:
        """Remove what was corrected from all journals, or from those of a scope."""
        catalogue = self._catalogue
        found = catalogue.all() if scope is None else catalogue.visible(ScopeFilter((scope,)))
        for stored in list(found):
            memory = stored.memory
            if not is_digest(memory) or not is_journal(stored):
                continue
            left = await asyncio.to_thread(self._corrected.texts.diary_cleared, stored) or NOTHING
            if left != memory.judgment or left == NOTHING:
                await shielded(self._rewrite(stored, left))

    async def _rewrite(self, stored: StoredMemory, words: str) -> None:
        """Write what is left; a journal in which nothing is left goes to the archive, without the
        words that were corrected."""
        at = self._clock().replace(microsecond=0)
        async with self._recallable.writing:
            with contextlib.suppress(KeyError):  # a person has just changed it
                if words != stored.memory.judgment:
                    told = replace(stored.memory, judgment=words)
                    stored = await asyncio.to_thread(self._vault.replace, stored, told)
                    self._recallable.take(stored)
                if words == NOTHING:
                    await asyncio.to_thread(self._vault.archive, stored, by=_EMPTIED, at=at)
                    self._recallable.drop(stored)


@dataclass(eq=False)
class Closings:
    """An entry stays settled if the settling statement decays; it is reopened if a person deletes
    that statement; and if another replaces it, the replacement settles the entry."""

    _vault: MarkdownVault
    _catalogue: Catalogue
    _recallable: RecallableMemories
    _corrected: CorrectedStatements

    async def repoint(self, former: StoredMemory, successor: StoredMemory) -> None:
        """Re-point entries that ``former`` settled to ``successor``, before ``former`` is archived.
        The caller holds the lock."""
        if place_name(former) != place_name(successor):
            return
        heir = successor.memory.memory_id
        for stored in self._catalogue.of_scope(former.scope):
            if closed_by(stored.memory) != former.memory.memory_id:
                continue
            if stored.memory.memory_id == heir:
                await self._write(stored, _opened(stored))
            else:
                await self._write(stored, lambda memory: closed(memory, heir))

    async def open_again(self) -> None:
        """Reopen entries whose settling statement a person has forgotten or moved away since."""
        for stored in list(self._catalogue.all()):
            by, scope = closed_by(stored.memory), stored.scope.name
            if not by or self._catalogue.get(Key(scope, by)) is not None:
                continue
            if self._corrected.was_taken_out(scope, by):
                async with self._recallable.writing:
                    await self._write(stored, _opened(stored))

    async def _write(self, stored: StoredMemory, made: Callable[[Memory], Memory]) -> None:
        """Rewrite the entry unless a person has changed the mark or deleted the entry."""
        current = await asyncio.to_thread(self._vault.current, stored)
        if current is None or closed_by(current.memory) != closed_by(stored.memory):
            return
        try:
            written = await asyncio.to_thread(self._vault.replace, current, made(current.memory))
        except (KeyError, VaultWriteFailed) as error:
            logger.debug("the closing of {} was not rewritten: {}", stored.memory.memory_id, error)
            return
        self._recallable.take(written)


def _opened(stored: StoredMemory) -> Callable[[Memory], Memory]:
    """Returns the rewrite that reopens the entry, and its task if it is one."""
    return lambda memory: still_open(reopened(memory) if is_task(stored) else memory)
