"""How a child tells its parent what happened: a line an event, whole or not at all."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

_ATOMIC = 4096
"""POSIX: a write to a pipe of at most so many bytes is never torn, not even by kill -9."""
_STANDARD_OUTPUT = 1


def say(event: str, **facts: object) -> None:
    """Tell the parent. When this returns, it will hear of it even if we die at once."""
    line = json.dumps({"event": event, **facts}, ensure_ascii=False).encode() + b"\n"
    if len(line) > _ATOMIC:
        facts = {name: str(fact)[:600] for name, fact in facts.items()}
        line = json.dumps({"event": event, **facts}, ensure_ascii=False).encode() + b"\n"
    os.write(_STANDARD_OUTPUT, line)


def heard(line: bytes) -> dict[str, Any] | None:
    """The event in a line; None for what is none (a library that prints)."""
    if not line.endswith(b"\n"):
        return None
    try:
        event = json.loads(line)
    except ValueError:
        sys.stderr.write(line.decode("utf-8", "replace"))
        return None
    return event if isinstance(event, dict) and "event" in event else None
