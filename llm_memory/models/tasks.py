"""Tasks: what is to be done, what is asked of the list, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .data_models import Refused, StoredMemory


@dataclass(frozen=True, slots=True)
class Task:
    """What an entry of ``TASKS.md`` says of a task; ``last_done`` is of one that has come again.
    ``boxed``: the entry begins with a checkbox, ``[ ]`` or ``[x]``, which decides."""

    title: str
    done: bool = False
    done_on: str = ""
    done_by: str = ""
    progress: str = ""
    next_step: str = ""
    last_done: str = ""
    boxed: bool = False


TaskAction = Literal["add", "done", "list"]
"""Added tasks that are known get what is new of them; those that are done stay in the file, and
say so."""


@dataclass(frozen=True, slots=True)
class TaskChange:
    """``titles``: a title, an id or a pointer each; ``progress`` and ``next_step`` hold for each of
    them, and empty ones change nothing. ``heard`` and ``talk`` as of ``MemoryDraft``."""

    action: TaskAction
    titles: tuple[str, ...] = ()
    progress: str = ""
    next_step: str = ""
    heard: str | None = None
    talk: str = ""


TaskFate = Literal[
    "added",
    "updated",
    "reopened",
    "unchanged",
    "done",
    "unknown",
    "several",
    "elsewhere",
    "refused",
]
"""What became of one title: ``several`` may be meant, or it stands ``elsewhere``, in a scope that
this conversation reads and does not write. Each has a text in the i18n files."""


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    title: str
    fate: TaskFate
    stored: StoredMemory | None = None
    rejected: Refused | None = None
    redacted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskReport:
    """What became of each title, and what is open now, as far as the conversation sees it."""

    outcomes: tuple[TaskOutcome, ...] = ()
    open: tuple[StoredMemory, ...] = ()
