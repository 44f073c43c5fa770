"""What is said at the command line, in the language of the person there.

A line is a text of the catalogue, which is read when the first one is said: a command that says
nothing does not wait for it.
"""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Final

from ..errors import SaidError
from ..texts import Said, Sayable, Spoken, Texts

DONE, FAILED, MISUSED, PARTLY = 0, 1, 2, 3
"""Exit codes: all was done, nothing was, what was asked cannot be done, all but some lines."""
_LANGUAGE: Final[ContextVar[Spoken]] = ContextVar("language", default="en")


class Refusal(SaidError):
    """Nothing was done; the text says why."""


def speak(language: Spoken) -> None:
    """Set the language of what is said from now on."""
    _LANGUAGE.set(language)


def texts() -> Texts:
    """Returns the texts of the language that is spoken."""
    return Texts.of(_LANGUAGE.get())


def words(line: str | Sayable, /, **params: object) -> str:
    """Returns a line, given as it is or by its code, in the language that is spoken."""
    return texts().said(Said(line, **params) if isinstance(line, str) else line)


def say(line: str | Sayable, /, **params: object) -> None:
    """Print a line, given as it is or by its code."""
    show(shown(words(line, **params)))


def say_counts(group: str, /, **counts: int) -> None:
    """Print how many there are of each, by the codes of a group, or that there is nothing."""
    show(texts().listed(group, **counts) or words("counts.nothing"))


def fail(line: str | Sayable, /, *, exit_code: int = FAILED, **params: object) -> int:
    """Print why something was not done. Returns the exit code for that."""
    show(shown(words(line, **params)), failed=True)
    return exit_code


def show(text: str, *, failed: bool = False) -> None:
    """Print a text as it stands: what scripts or agents read, what a file holds."""
    (sys.stderr if failed else sys.stdout).write(f"{text}\n")


def show_json(content: object) -> None:
    """Print what scripts read: a line in both languages; what JSON does not know is its text."""

    def plain(value: object) -> object:
        return value.both() if isinstance(value, Said) else str(value)

    show(json.dumps(content, ensure_ascii=False, indent=2, default=plain))


def warn(lines: Iterable[Sayable]) -> None:
    """Print what was passed over."""
    for line in lines:
        fail("cli.note", line=line)


def agrees(question: str | Sayable, /) -> bool:
    """Ask the person at the terminal. Returns True for a yes."""
    sys.stderr.write(f"{shown(words(question))} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes", "是", "要"}


def shown(text: str) -> str:
    """Returns what can stand on a terminal: what is stored may hold control characters."""
    return "".join(c for c in text if c == "\n" or unicodedata.category(c)[0] != "C")
