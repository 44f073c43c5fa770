"""Removes from stored journals what people have corrected since their day."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace

from ..catalogue.catalogue import Catalogue
from ..catalogue.recallable_memories import RecallableMemories
from ..catalogue.rules.day_journal import NOTHING, is_journal
from ..catalogue.rules.timeline import is_digest
from ..models.data_models import StoredMemory
from ..models.scope import Scope, ScopeFilter
from ..runtime.shielded import shielded
from ..vault.markdown_vault import MarkdownVault
from .corrected_statements import CorrectedStatements


class CorrectedJournals:
    """Rewrites journals in place."""

    def __init__(
        self,
        vault: MarkdownVault,
        catalogue: Catalogue,
        recallable: RecallableMemories,
        corrected: CorrectedStatements,
    ) -> None:
        self._vault = vault
        self._catalogue = catalogue
        self._recallable = recallable
        self._corrected = corrected

    async def clear(self, scope: Scope | None = None) -> None:
        """Remove what was corrected from all journals, or from those of a scope."""
        catalogue = self._catalogue
        found = catalogue.all() if scope is None else catalogue.visible(ScopeFilter((scope,)))
        for stored in list(found):
            memory = stored.memory
            if not is_digest(memory) or not is_journal(stored):
                continue
            left = await asyncio.to_thread(self._corrected.diary_cleared, stored)
            if left != memory.judgment:
                await shielded(self._rewrite(stored, left))

    async def _rewrite(self, stored: StoredMemory, words: str) -> None:
        async with self._recallable.writing:
            told = replace(stored.memory, judgment=words or NOTHING)
            with contextlib.suppress(KeyError):  # a person has just changed it
                self._recallable.take(await asyncio.to_thread(self._vault.replace, stored, told))
