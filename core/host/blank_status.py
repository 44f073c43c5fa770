"""What the status route answers where no plugin runs: switched off, still loading, not loadable."""

from __future__ import annotations

from typing import Any

from ..plugin_names import plugin_version

_COUNTS = (
    *("waiting", "dead", "calls_today", "failed_today", "tokens_today", "daily_tokens"),
    *("paused", "unasked"),
)
_TIMES = ("oldest", "slept_at", "next_sleep")
_NONE = {"state": "idle", "mode": "auto", "mode_on": False}
_TALLY = (
    *("scanned", "patched", "skipped", "remaining"),
    *("adopted", "merged", "quarantined", "broken"),
)


def blank_status(*warnings: str) -> dict[str, Any]:
    """Each key of a running one's answer, with nothing behind it. Imports nothing of the engine."""
    said = {"provider": "", "resting": "", "error": "", "sleeping": False}
    return {
        "version": plugin_version(),
        "ready": False,
        "embedder": "",
        "index": "off",
        "memories": {"total": 0, "by_scope": {}},
        "notes": {"total": 0, "by_folder": {}},
        "migration": _NONE | dict.fromkeys(_TALLY, 0),
        "queue": 0,
        "loop": {**said, **dict.fromkeys(_COUNTS, 0), **dict.fromkeys(_TIMES), "shares": []},
        "backlog": 0,
        "scope_check_drops": 0,
        "left_behind": [],
        "warnings": [*warnings],
    }
