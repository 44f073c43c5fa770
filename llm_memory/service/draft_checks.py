"""Before a draft becomes a memory: is it worth one, and is there anything private in it?"""

from __future__ import annotations

import asyncio

from ..models.data_models import MemoryDraft, Rejected
from ..models.settings import PrivacyMode
from ..policies.gate import tidy
from ..policies.privacy import Finder, Protected, protect
from ..policies.quality import flaw


class DraftChecks:
    """Every door but a person's own hand goes through here: tools, commands, what turns taught."""

    def __init__(self, mode: PrivacyMode, finder: Finder) -> None:
        self._mode = mode
        self._finder = finder

    async def examine(self, draft: MemoryDraft) -> Protected | Rejected:
        """The draft as it may be stored, or why it is not."""
        # Tidied first: what nobody can see must not hide a number from those who look for one.
        tidied = tidy(draft)
        if isinstance(tidied, Rejected):
            return tidied
        reason = flaw(tidied.judgment)
        if reason is not None:
            return Rejected(reason)
        return await asyncio.to_thread(protect, tidied, self._mode, self._finder)
