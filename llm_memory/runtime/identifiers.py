"""Ids that sort by time and need no counter."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import datetime

_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
_BITS = 5
"""A character's."""
_TIME_CHARS = 10
_RANDOM_CHARS = 6

Clock = Callable[[], datetime]
"""Now, aware."""


def make_id(prefix: str, moment: datetime, *, number: int = 0) -> str:
    """``<prefix>-`` and 16 characters of Crockford base32: as in ULID, 48 bits of milliseconds
    since 1970, then 30 random bits. ``number``: of those that are made at once, each of which has
    a millisecond of its own."""
    time = max(int(moment.timestamp() * 1000), 0) + number
    tail = secrets.randbits(_RANDOM_CHARS * _BITS)
    return f"{prefix}-{_spelt(time, _TIME_CHARS)}{_spelt(tail, _RANDOM_CHARS)}"


def _spelt(number: int, chars: int) -> str:
    digits = []
    for _ in range(chars):
        number, digit = divmod(number, len(_CROCKFORD))
        digits.append(_CROCKFORD[digit])
    return "".join(reversed(digits))
