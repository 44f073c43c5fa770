"""Now, in the time zone that the owner gave AstrBot."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from ...llm_memory import local_now


def clock_of(context: Any) -> Callable[[], datetime]:
    """AstrBot's ``timezone`` setting, else the machine's zone: journals go by day. Looked up each
    time, for AstrBot itself goes by a changed setting at once."""

    def now() -> datetime:
        zone = zone_of(context)
        return local_now() if zone is None else datetime.now(zone)

    return now


def zone_of(context: Any) -> ZoneInfo | None:
    """The zone of that setting; None where there is none that is known here."""
    name = context.get_config().get("timezone")
    if not isinstance(name, str) or not name.strip():
        return None
    try:
        return ZoneInfo(name.strip())
    except (KeyError, OSError, ValueError):  # unknown (a KeyError), malformed, or no data here
        return None
