"""Finds private data in texts, with our own rules and, if installed, Google's telephone rules."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..log import logger
from ..models.data_models import PrivateKind
from .rules.privacy import find
from .rules.privacy_text import searchable
from .rules.private_keys import Span
from .rules.private_numbers import may_be_phone

_REGIONS = ("CN", "US")
"""How a number without a country code is read. With one, the region makes no difference."""
_DIGITS = re.compile(r"\d(?:\D{0,3}\d){6}")
_MOST_DIGITS = 400
"""The library takes a millisecond for each ten digits. A longer run of them is not prose."""


class PrivateData:
    """Callable: text -> spans of private data. Blocks: the first call loads tables."""

    def __init__(self) -> None:
        self._library = True

    def __call__(self, text: str) -> tuple[Span, ...]:
        """Returns the spans from left to right, without overlaps."""
        return find(text, self._phones(searchable(text)))

    def _phones(self, plain: str) -> list[Span]:
        if not self._library or not _DIGITS.search(plain):
            return []
        if sum(map(str.isdigit, plain)) > _MOST_DIGITS:
            return []
        try:
            return list(_matches(plain))
        except ImportError:
            self._library = False
            logger.info("no_phone_numbers")
            return []


def _matches(plain: str) -> Iterator[Span]:
    from phonenumbers import PhoneNumberMatcher

    for region in _REGIONS:
        for match in PhoneNumberMatcher(plain, region):
            if may_be_phone(plain, match.start, match.end):
                yield PrivateKind.PHONE, match.start, match.end
