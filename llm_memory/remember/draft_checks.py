"""Checks a draft before it becomes a memory: its quality, requests for secrecy, private data, which
Google's telephone rules find, too, if they are installed. And the answer and the notice if the
vault cannot be written."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import Final

from ..errors import VaultWriteFailed
from ..log import logger
from ..models.data_models import MemoryDraft, PrivateKind, Reason, Refused
from ..models.scope import Scope
from ..models.settings import PrivacyMode
from ..models.status import Notice, NoticeCode, Severity
from ..runtime.notice_board import NoticeBoard
from ..scopes.scope_book import ScopeBook
from .rules.gate import flaw, is_confidence, is_off_the_record, tidy
from .rules.private import Finder, Protected, Span, find, may_be_phone, protect, searchable


@dataclass(eq=False)
class DraftChecks:
    """All writes except people's edits of files pass here: tools, commands, reflection."""

    _book: ScopeBook
    _mode: PrivacyMode
    _finder: Finder

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
        return protect(tidied, self._mode, self._finder)


def not_written(error: VaultWriteFailed, notices: NoticeBoard) -> Refused:
    """Post a notice for the owner's status. Returns the answer for the caller."""
    params = {"detail": str(error)}
    notices.post(Notice(NoticeCode.VAULT_UNWRITABLE, params=params, severity=Severity.ERROR))
    return Refused(Reason.NOT_WRITTEN, detail=str(error))


_REGIONS: Final = ("CN", "US")
"""How a number without a country code is read. With one, the region makes no difference."""
_DIGITS: Final = re.compile(r"\d(?:\D{0,3}\d){6}")
_MOST_DIGITS: Final = 400
"""The library takes a millisecond for each ten digits. A longer run of them is not prose."""


class PrivateData:
    """Callable: text -> spans of private data. Blocks: the first call loads tables."""

    _library = True

    def __call__(self, text: str) -> tuple[Span, ...]:
        """Returns the spans from left to right, without overlaps."""
        plain = searchable(text)
        few = sum(map(str.isdigit, plain)) <= _MOST_DIGITS
        return find(text, self._phones(plain) if few and _DIGITS.search(plain) else ())

    def _phones(self, plain: str) -> list[Span]:
        if not self._library:
            return []
        try:
            from phonenumbers import PhoneNumberMatcher
        except ImportError:
            self._library = False
            logger.info("no_phone_numbers")
            return []
        return [
            (PrivateKind.PHONE, match.start, match.end)
            for region in _REGIONS
            for match in PhoneNumberMatcher(plain, region)
            if may_be_phone(plain, match.start, match.end)
        ]
