"""What comes before the vault: drafts are checked for quality, requests for secrecy and private
data."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from ..errors import VaultWriteFailed
from ..models.data_models import MemoryDraft, Refused
from ..models.scope import Scope
from ..models.settings import PrivacyMode
from ..models.status import Notice
from ..runtime.notice_board import NoticeBoard
from ..scopes.scope_book import ScopeBook
from .rules.gate import is_off_the_record, says_nothing, tidy, told_in_confidence
from .rules.private import protect


@dataclass(eq=False)
class DraftChecks:
    """All writes except people's edits of files pass here: tools, commands, reflection."""

    _book: ScopeBook
    _mode: PrivacyMode

    async def examine(self, draft: MemoryDraft, scope: Scope) -> MemoryDraft | Refused:
        """Returns the draft as it may be stored in the scope, or why it is rejected."""
        return await asyncio.to_thread(self._examined, draft, scope)

    def _examined(self, draft: MemoryDraft, scope: Scope) -> MemoryDraft | Refused:
        # Tidied first: invisible characters must not hide a number from the privacy rules.
        tidied = tidy(draft)
        if isinstance(tidied, Refused):
            return tidied
        if says_nothing(tidied.judgment):
            return Refused("empty")
        heard = draft.heard or ""
        if is_off_the_record(heard) or is_off_the_record(tidied.judgment):
            return Refused("not_to_be_kept")
        refused = self._book.no_confidence(scope)
        if refused is not None and told_in_confidence(tidied, heard):
            return refused
        return protect(tidied, self._mode)


def not_written(error: VaultWriteFailed, notices: NoticeBoard) -> Refused:
    """Post a notice for the owner's status. Returns the answer for the caller."""
    params = {"detail": str(error)}
    notices.post(Notice("vault_unwritable", params=params, error=True))
    return Refused("not_written", detail=str(error))
