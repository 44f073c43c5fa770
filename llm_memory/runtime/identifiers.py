"""Ids that sort by time and need no counter."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import datetime

_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
"""Five bits a character."""
_CHARACTERS = 16
_RANDOM_BITS = 30

Clock = Callable[[], datetime]
"""Now, aware."""


def make_id(prefix: str, moment: datetime, *, number: int = 0) -> str:
    """``<prefix>-`` and 16 characters of Crockford base32: as in ULID, milliseconds since 1970,
    then 30 random bits. ``number``: of those that are made at once, each of which has a millisecond
    of its own."""
    time = max(int(moment.timestamp() * 1000), 0) + number
    whole = time << _RANDOM_BITS | secrets.randbits(_RANDOM_BITS)
    spelt = (_CROCKFORD[whole >> 5 * place & 31] for place in reversed(range(_CHARACTERS)))
    return f"{prefix}-{''.join(spelt)}"
