"""What the tools take, and how a wrong argument is named to an agent, in English."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any, Final

from ..models.tasks import TaskAction, TaskChange
from .levels import GLOBAL, PROJECT

LEAST_TOKENS: Final = 100
MOST_TOKENS: Final = 8_000
_LONGEST: Final = 256 * 1024
"""Characters of a text."""
_MOST_TASKS: Final = 50
_LINES: Final = re.compile(r":([0-9]{1,7})(?:-([0-9]{1,7}))?$")
_LONGEST_PATH: Final = 400
_EXAMPLE: Final = '[{"title": "write tests", "status": "open"}]'
_DONE: Final = ("done", "completed")
_OPEN: Final = ("open", "pending", "todo")


class BadArgument(Exception):
    """A tool cannot be called like this; the text says why."""


def checked(tool: Callable[..., object], given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns the arguments that were given, as the signature of the tool wants them: texts, and
    whole numbers. Raises BadArgument."""
    taken = signature(tool, eval_str=True).parameters
    arguments = dict(given or {})
    for name in arguments:
        if name not in taken:
            raise BadArgument(f'there is no argument "{name!s:.40}", only: {", ".join(taken)}')
    found: dict[str, Any] = {}
    for name, parameter in taken.items():
        value = arguments.get(name)
        if value is not None:
            read = _tokens if parameter.annotation == int | None else _text
            found[name] = read(name, value)
        elif parameter.default is Parameter.empty:
            raise BadArgument(f"the argument {name} is missing")
    return found


def _text(name: str, value: object) -> str:
    if name == "tasks_json" and isinstance(value, list | dict):
        # Some clients read what looks like JSON before they send it.
        try:
            value = json.dumps(value, ensure_ascii=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise _no_json(error) from error
    if not isinstance(value, str):
        raise BadArgument(f"the argument {name} has to be a text")
    if len(value) > _LONGEST:
        raise BadArgument(f"the argument {name} is too long, at most {_LONGEST} characters")
    return sendable(value)


def _no_json(error: Exception) -> BadArgument:
    return BadArgument(f"not valid JSON ({str(error)[:120]}). For example: {_EXAMPLE}")


def sendable(text: str) -> str:
    """Returns the text without lone surrogates, which no file, index or message can hold."""
    return text.encode("utf-8", "replace").decode()


def _tokens(name: str, value: object) -> int:
    """A number that a client wrote as a text is one, too. One out of bounds is clamped."""
    if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]{1,18}", value.strip()):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadArgument(f"the argument {name} has to be a whole number")
    return min(max(value, LEAST_TOKENS), MOST_TOKENS)


def read_tasks(text: str) -> list[TaskChange]:
    """Returns a change for each task of a JSON list. Raises BadArgument."""
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _no_json(error) from error
    if isinstance(raw, dict):
        raw = raw.get("tasks", [raw])
    if not isinstance(raw, list) or not raw:
        raise BadArgument(f"a list of tasks is wanted, such as {_EXAMPLE}")
    if len(raw) > _MOST_TASKS:
        raise BadArgument(f"at most {_MOST_TASKS} tasks at once")
    return [_task(number, one) for number, one in enumerate(raw, start=1)]


def _task(number: int, raw: object) -> TaskChange:
    if isinstance(raw, str):
        raw = {"title": raw}
    if not isinstance(raw, dict):
        raise BadArgument(f"number {number} is no task (an object is wanted)")
    title, status = raw.get("title"), raw.get("status", "open")
    if not isinstance(title, str) or not title.strip():
        raise BadArgument(f"task {number} has no title")
    if status not in (*_DONE, *_OPEN):
        raise BadArgument(f"the status of task {number} can only be open or done")
    words = {name: text for name, text in raw.items() if isinstance(text, str)}
    action: TaskAction = "done" if status in _DONE else "add"
    next_step = words.get("next", words.get("next_step", ""))
    return TaskChange(action, (title,), words.get("progress", ""), next_step)


@dataclass(frozen=True, slots=True)
class ReadTarget:
    """``level`` is ``project``, ``global`` or empty where none is named, ``where`` a pointer or a
    path inside it. The lines from ``first`` (from 1) to ``last`` are wanted; None: all that fit."""

    level: str
    where: str
    first: int = 1
    last: int | None = None


def parse_target(text: str) -> ReadTarget:
    """Returns what ``memory_read`` was given. Whether it is there is the memory's to say."""
    where = text.strip()[:_LONGEST_PATH]
    first, last = 1, None
    if lines := _LINES.search(where):
        where = where[: lines.start()]
        first = max(int(lines[1]), 1)
        last = int(lines[2]) if lines[2] else first
    head, slash, rest = where.partition("/")
    if slash and head in (PROJECT, GLOBAL):
        return ReadTarget(head, rest, first, last)
    return ReadTarget("", where, first, last)
