"""Ids that sort by time, are never reused, and need no counter."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import datetime

_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
_TIME_CHARS = 10
_RANDOM_CHARS = 6

Clock = Callable[[], datetime]
"""Now, aware."""


def make_id(prefix: str, moment: datetime) -> str:
    """``<prefix>-`` and 16 characters of Crockford base32: as in ULID, 48 bits of milliseconds
    since 1970, then 30 random bits."""
    number = max(int(moment.timestamp() * 1000), 0)
    digits = []
    for _ in range(_TIME_CHARS):
        number, digit = divmod(number, len(_CROCKFORD))
        digits.append(_CROCKFORD[digit])
    tail = (secrets.choice(_CROCKFORD) for _ in range(_RANDOM_CHARS))
    return f"{prefix}-{''.join(reversed(digits))}{''.join(tail)}"
