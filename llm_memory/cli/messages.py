"""What is said at the command line, in the language of the person there."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Final

from ..models.said import Said, Spoken
from ..texts import Texts

DONE, FAILED, MISUSED, PARTLY = 0, 1, 2, 3
"""Exit codes: all was done, nothing was, what was asked cannot be done, all but some lines."""
_LANGUAGE: Final[ContextVar[Spoken]] = ContextVar("language", default="en")


class Refusal(Exception):
    """Nothing was done; the text says why, in the language that is spoken."""

    def __init__(self, zh: str, en: str) -> None:
        super().__init__(words(zh, en))


def speak(language: Spoken) -> None:
    """Set the language of what is said from now on."""
    _LANGUAGE.set(language)


def texts() -> Texts:
    """Returns the texts of the language that is spoken."""
    return Texts.of(_LANGUAGE.get())


def words(zh: str | Said, en: str = "") -> str:
    """Returns the line in the language that is spoken. Without ``en`` it is the same in both."""
    said = zh if isinstance(zh, Said) else Said(zh, en or zh)
    return said.text(_LANGUAGE.get())


def say(zh: str | Said, en: str = "") -> None:
    """Print a line for the caller."""
    sys.stdout.write(f"{words(zh, en)}\n")


def say_value(zh: str, en: str, value: object) -> None:
    """Print a line with what something is called, and what it is."""
    said = words(value) if isinstance(value, Said) else value
    say(f"{zh}：{said}", f"{en}: {said}")


def say_json(content: object) -> None:
    """Print what scripts read; what JSON does not know is its text."""
    say(json.dumps(content, ensure_ascii=False, indent=2, default=str))


def fail(zh: str | Said, en: str = "", *, code: int = FAILED) -> int:
    """Print why nothing was done. Returns the exit code for that."""
    sys.stderr.write(f"{words(zh, en)}\n")
    return code


def agrees(zh: str, en: str) -> bool:
    """Ask the person at the terminal. Returns True for a yes."""
    sys.stderr.write(f"{words(zh, en)} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes", "是", "要"}


def warn(texts: Iterable[Said]) -> None:
    """Print what was passed over."""
    for text in texts:
        fail(f"注意：{text.zh}", f"note: {text.en}")


def shown(text: str) -> str:
    """Returns what can stand on a terminal: what is stored may hold control characters."""
    return "".join(c for c in text if c == "\n" or unicodedata.category(c)[0] != "C")
