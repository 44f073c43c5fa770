"""Checks a draft before it becomes a memory: its quality, requests for secrecy, private data. And
the answer and the notice if the vault cannot be written."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from ..errors import VaultWriteFailed
from ..models.data_models import MemoryDraft, Reason, Refused
from ..models.scope import Scope
from ..models.settings import PrivacyMode
from ..models.status import Notice, NoticeCode, Severity
from ..runtime.notice_board import NoticeBoard
from ..scopes.scope_book import ScopeBook
from .rules.gate import flaw, is_confidence, is_off_the_record, tidy
from .rules.private import Protected, protect


@dataclass(eq=False)
class DraftChecks:
    """All writes except people's edits of files pass here: tools, commands, reflection."""

    _book: ScopeBook
    _mode: PrivacyMode

    async def examine(self, draft: MemoryDraft, scope: Scope) -> Protected | Refused:
        """Returns the draft as it may be stored in the scope, or why it is rejected."""
        return await asyncio.to_thread(self._examined, draft, scope)

    def _examined(self, draft: MemoryDraft, scope: Scope) -> Protected | Refused:
        # Tidied first: invisible characters must not hide a number from the privacy rules.
        tidied = tidy(draft)
        if isinstance(tidied, Refused):
            return tidied
        reason = flaw(tidied.judgment)
        if reason is not None:
            return Refused(reason)
        heard = draft.heard or ""
        if is_off_the_record(heard) or is_off_the_record(tidied.judgment):
            return Refused(Reason.NOT_TO_BE_KEPT)
        said = (tidied.judgment, tidied.reasoning, *tidied.tags, *tidied.asks, tidied.context)
        refused = self._book.no_confidence(scope)
        if refused is not None and any(map(is_confidence, (*said, heard))):
            return refused
        return protect(tidied, self._mode)


def not_written(error: VaultWriteFailed, notices: NoticeBoard) -> Refused:
    """Post a notice for the owner's status. Returns the answer for the caller."""
    params = {"detail": str(error)}
    notices.post(Notice(NoticeCode.VAULT_UNWRITABLE, params=params, severity=Severity.ERROR))
    return Refused(Reason.NOT_WRITTEN, detail=str(error))
