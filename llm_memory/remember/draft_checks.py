"""Checks a draft before it becomes a memory: its quality, requests for secrecy, private data."""

from __future__ import annotations

import asyncio

from ..models.data_models import MemoryDraft, Rejected, RejectReason
from ..models.scope import Scope
from ..models.settings import PrivacyMode
from .rules.confidences import may_be_stored
from .rules.normalise import tidy
from .rules.off_the_record import is_off_the_record
from .rules.privacy import Finder, Protected, protect
from .rules.quality import flaw


class DraftChecks:
    """All writes except people's edits of files pass here: tools, commands, reflection."""

    def __init__(self, mode: PrivacyMode, finder: Finder) -> None:
        self._mode = mode
        self._finder = finder

    async def examine(self, draft: MemoryDraft, scope: Scope) -> Protected | Rejected:
        """Returns the draft as it may be stored in the scope, or why it is rejected."""
        return await asyncio.to_thread(self._examined, draft, scope)

    def _examined(self, draft: MemoryDraft, scope: Scope) -> Protected | Rejected:
        # Tidied first: invisible characters must not hide a number from the privacy rules.
        tidied = tidy(draft)
        if isinstance(tidied, Rejected):
            return tidied
        reason = flaw(tidied.judgment)
        if reason is not None:
            return Rejected(reason)
        if is_off_the_record(draft.heard or ""):
            return Rejected(RejectReason.NOT_TO_BE_KEPT)
        said = (tidied.judgment, tidied.reasoning, *tidied.tags, *tidied.asks, tidied.context)
        if not may_be_stored((*said, draft.heard or ""), scope):
            return Rejected(RejectReason.CONFIDENCE)
        return protect(tidied, self._mode, self._finder)
