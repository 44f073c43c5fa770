"""Removes from stored journals what people have corrected since their day."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, replace
from typing import Final

from ..catalogue.catalogue import Catalogue
from ..catalogue.recallable_memories import RecallableMemories
from ..catalogue.rules.day_journal import NOTHING, is_journal
from ..catalogue.rules.timeline import is_digest
from ..models.conversation import Actor
from ..models.data_models import StoredMemory
from ..models.scope import Scope, ScopeFilter
from ..runtime.identifiers import Clock
from ..runtime.shielded import shielded
from ..vault.markdown_vault import MarkdownVault
from .corrected_statements import CorrectedStatements

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
