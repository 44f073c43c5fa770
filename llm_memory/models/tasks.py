"""Tasks: what is to be done, what is asked of the list, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from .data_models import PrivateKind, Refused, StoredMemory


@dataclass(frozen=True, slots=True)
class Task:
    """What an entry of ``TASKS.md`` says of a task.

    Attributes:
        title: What is to be done, without a checkbox.
        done: It is.
        done_on: Since which day, ``YYYY-MM-DD``; empty if not noted.
        done_by: Who said so; empty if not noted.
        progress: How far it has come; may be empty.
        next_step: What comes next; may be empty.
        last_done: When it was done the last time, for one that has come again.
        boxed: The entry begins with a checkbox, ``[ ]`` or ``[x]``, and that decides.
    """

    title: str
    done: bool = False
    done_on: str = ""
    done_by: str = ""
    progress: str = ""
    next_step: str = ""
    last_done: str = ""
    boxed: bool = False


class TaskAction(StrEnum):
    """What is asked of the list."""

    ADD = "add"
    """These are to be done: new ones are written, known ones get what is new of them."""
    DONE = "done"
    """These are done. They stay in the file, and say so."""
    LIST = "list"
    """Which are open?"""


@dataclass(frozen=True, slots=True)
class TaskChange:
    """``progress`` and ``next_step`` hold for every title; empty ones change nothing.

    ``titles``: a title, an id or a pointer each. ``heard``: what the person said in the turn in
    which a model asked for the change, None where no model did. ``talk``: that turn. See
    ``MemoryDraft`` for both.
    """

    action: TaskAction
    titles: tuple[str, ...] = ()
    progress: str = ""
    next_step: str = ""
    heard: str | None = None
    talk: str = ""


class TaskFate(StrEnum):
    """What became of one title. Each has a text in the i18n files."""

    ADDED = "added"
    UPDATED = "updated"
    REOPENED = "reopened"
    UNCHANGED = "unchanged"
    DONE = "done"
    UNKNOWN = "unknown"
    """No task of that name."""
    SEVERAL = "several"
    """More than one may be meant."""
    ELSEWHERE = "elsewhere"
    """It stands in a scope that this conversation reads and does not write."""
    REFUSED = "refused"
    """See ``rejected``."""


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """One title, and what became of it. ``redacted``: what was hidden in the words."""

    title: str
    fate: TaskFate
    stored: StoredMemory | None = None
    rejected: Refused | None = None
    redacted: tuple[PrivateKind, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskReport:
    """What became of each title, and what is open now, as far as the conversation sees it."""

    outcomes: tuple[TaskOutcome, ...] = ()
    open: tuple[StoredMemory, ...] = ()
