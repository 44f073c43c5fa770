"""A moment in any form of ISO 8601. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

_BARE: Final = re.compile(r"(\d{4})(?:-?(\d{3})|-(\d{2}))?")
"""A year, a day of it by its number, or a month: what ``fromisoformat`` does not read."""
_MIDNIGHT: Final = re.compile(r"[T ]24(?::?00){0,2}(?:[.,]0+)?(?=Z|[+-]|$)")


def moment(text: str, zone: tzinfo = UTC) -> datetime:
    """The beginning of what is named; in ``zone`` where it names none. Raises ValueError."""
    plain = text.strip().upper()
    if bare := _BARE.fullmatch(plain):
        first = datetime(int(bare[1]), int(bare[3] or 1), 1, tzinfo=zone)
        return first + timedelta(days=int(bare[2] or 1) - 1)
    after = timedelta(days=1) if _MIDNIGHT.search(plain) else timedelta()
    found = datetime.fromisoformat(_MIDNIGHT.sub("T00:00", plain)) + after
    return found if found.tzinfo else found.replace(tzinfo=zone)
