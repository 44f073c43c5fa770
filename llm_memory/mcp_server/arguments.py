"""What the tools take, and how a wrong argument is named to an agent, in English."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from typing import Any, Final

from ..models.tasks import TaskAction, TaskChange

LEAST_TOKENS: Final = 100
MOST_TOKENS: Final = 8_000
_LONGEST: Final = 256 * 1024
"""Characters of a text."""
_MOST_TASKS: Final = 50
_EXAMPLE: Final = '[{"title": "write tests", "status": "open"}]'
_ACTIONS: Final = {
    **dict.fromkeys(("done", "completed"), TaskAction.DONE),
    **dict.fromkeys(("open", "pending", "todo"), TaskAction.ADD),
}
"""By the status of a task."""


class BadArgument(Exception):
    """A tool cannot be called like this; the text says why."""


def checked(tool: Callable[..., object], given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns the arguments that were given, as the signature of the tool wants them: texts, and
    whole numbers. Raises BadArgument."""
    taken = signature(tool, eval_str=True).parameters
    arguments = dict(given or {})
    for name in arguments:
        if name not in taken:
            known = ", ".join(taken)
            raise BadArgument(f'there is no argument "{str(name)[:40]}", only: {known}')
    found: dict[str, Any] = {}
    for name, parameter in taken.items():
        value = arguments.get(name)
        if value is not None:
            found[name] = _value(name, value, whole=parameter.annotation == int | None)
        elif parameter.default is Parameter.empty:
            raise BadArgument(f"the argument {name} is missing")
    return found


def _value(name: str, value: object, *, whole: bool) -> str | int:
    if whole:
        return _number(name, value)
    if name == "tasks_json" and isinstance(value, list | dict):
        # Some clients read what looks like JSON before they send it.
        try:
            value = json.dumps(value, ensure_ascii=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise _no_json(type(error).__name__) from error
    if not isinstance(value, str):
        raise BadArgument(f"the argument {name} has to be a text")
    if len(value) > _LONGEST:
        raise BadArgument(f"the argument {name} is too long, at most {_LONGEST} characters")
    return sendable(value)


def _no_json(detail: str) -> BadArgument:
    return BadArgument(f"not valid JSON ({detail}). For example: {_EXAMPLE}")


def sendable(text: str) -> str:
    """Returns the text without lone surrogates, which no file, index or message can hold."""
    return text.encode("utf-8", "replace").decode()


def _number(name: str, value: object) -> int:
    """A number that a client wrote as a text is one, too."""
    try:
        if isinstance(value, str) and len(value) < 20:
            value = int(value)
    except ValueError:
        pass
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadArgument(f"the argument {name} has to be a whole number")
    return value


def token_budget(asked: int | None, default: int) -> int:
    """Returns the budget, clamped."""
    return min(max(default if asked is None else asked, LEAST_TOKENS), MOST_TOKENS)


def read_tasks(text: str) -> list[TaskChange]:
    """Returns a change for each task of a JSON list. Raises BadArgument."""
    try:
        raw = json.loads(text)
    except ValueError as error:
        raise _no_json(str(error)[:120]) from error
    except RecursionError as error:
        raise _no_json("nested too deeply") from error
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
    if not isinstance(status, str) or status not in _ACTIONS:
        raise BadArgument(f"the status of task {number} can only be open or done")
    words = {name: text for name, text in raw.items() if isinstance(text, str)}
    next_step = words.get("next", words.get("next_step", ""))
    return TaskChange(_ACTIONS[status], (title,), words.get("progress", ""), next_step)
