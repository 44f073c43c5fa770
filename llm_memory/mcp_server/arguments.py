"""What the tools take, and how wrong arguments are named."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

LEAST_TOKENS: Final = 100
MOST_TOKENS: Final = 8_000
_LONGEST: Final = 256 * 1024
"""Characters of a text."""
_MOST_TASKS: Final = 50
_JSON: Final = frozenset({"tasks_json"})
"""Some clients read what looks like JSON before they send it."""
_DONE: Final = {"done": True, "completed": True, "open": False, "pending": False, "todo": False}

SIGNATURES: Final[Mapping[str, Mapping[str, tuple[type, bool]]]] = {
    "memory_primer": {},
    "memory_search": {"query": (str, True), "scope": (str, False), "max_tokens": (int, False)},
    "memory_log": {"content": (str, True), "type": (str, False)},
    "memory_session_end": {"summary": (str, True)},
    "memory_update_tasks": {"tasks_json": (str, True)},
    "memory_read": {"path": (str, True)},
}
"""By tool and parameter: the type, and whether it must be there."""


class BadArgument(Exception):
    """``code`` has a text; ``details`` belong to it."""

    def __init__(self, code: str, **details: object) -> None:
        super().__init__(code)
        self.code = code
        self.details = details


@dataclass(frozen=True, slots=True)
class AskedTask:
    """A task as an agent wrote it."""

    title: str
    done: bool
    progress: str = ""
    next_step: str = ""


def checked(tool: str, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns the arguments of a tool, None for those left out. Raises BadArgument."""
    taken = SIGNATURES[tool]
    arguments = dict(given or {})
    for name in arguments:
        if name not in taken:
            raise BadArgument("unknown_argument", name=str(name)[:40], known=", ".join(taken))
    found: dict[str, Any] = {}
    for name, (kind, required) in taken.items():
        value = _as_text(arguments.get(name)) if name in _JSON else arguments.get(name)
        if value is None and not required:
            found[name] = None
        elif value is None:
            raise BadArgument("missing_argument", name=name)
        elif kind is int:
            found[name] = _number(name, value)
        elif not isinstance(value, str):
            raise BadArgument("wrong_type", name=name)
        elif len(value) > _LONGEST:
            raise BadArgument("too_long", name=name, most=_LONGEST)
        else:
            found[name] = sendable(value)
    return found


def _as_text(value: object) -> object:
    """A list that a client took out of its text is written as one again."""
    if not isinstance(value, list | dict):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadArgument("no_json", detail=type(error).__name__) from error


def sendable(text: str) -> str:
    """Returns the text without lone surrogates, which no file, index or message can hold."""
    return text.encode("utf-8", "replace").decode()


def _number(name: str, value: object) -> int:
    """A number that a client wrote as a text is one, too."""
    if isinstance(value, str) and len(value) < 20:
        try:
            return int(value)
        except ValueError:
            raise BadArgument("wrong_number", name=name) from None
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadArgument("wrong_number", name=name)
    return value


def token_budget(asked: int | None, default: int) -> int:
    """Returns the budget, clamped."""
    return min(max(default if asked is None else asked, LEAST_TOKENS), MOST_TOKENS)


def read_tasks(text: str) -> list[AskedTask]:
    """Returns the tasks of a JSON list. Raises BadArgument."""
    try:
        raw = json.loads(text)
    except ValueError as error:
        raise BadArgument("no_json", detail=str(error)[:120]) from error
    except RecursionError as error:
        raise BadArgument("no_json", detail="nested too deeply") from error
    if isinstance(raw, dict):
        raw = raw.get("tasks", [raw])
    if not isinstance(raw, list) or not raw:
        raise BadArgument("no_tasks")
    if len(raw) > _MOST_TASKS:
        raise BadArgument("many_tasks", most=_MOST_TASKS)
    return [_task(number, one) for number, one in enumerate(raw, start=1)]


def _task(number: int, raw: object) -> AskedTask:
    if isinstance(raw, str):
        raw = {"title": raw}
    if not isinstance(raw, dict):
        raise BadArgument("no_task", number=number)
    title, status = raw.get("title"), raw.get("status", "open")
    if not isinstance(title, str) or not title.strip():
        raise BadArgument("no_title", number=number)
    if not isinstance(status, str) or status not in _DONE:
        raise BadArgument("no_status", number=number)
    progress, next_step = (
        next((raw[name] for name in names if isinstance(raw.get(name), str)), "")
        for names in (("progress",), ("next", "next_step"))
    )
    return AskedTask(title, _DONE[status], progress, next_step)
