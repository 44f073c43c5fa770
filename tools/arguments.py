"""Checking what a model passes. Models pass anything: nothing here raises."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ..llm_memory.text.dates.expressions import days_named
from ..llm_memory.texts import Texts

_SHOWN = 40


@dataclass(slots=True)
class Arguments:
    """Reads arguments by name and notes the first thing that is wrong with them. ``heard`` is what
    the person said in the turn of the call, and ``talk`` names that turn; ``stored`` is what the
    tool notes that it stored."""

    given: Mapping[str, Any]
    texts: Texts
    heard: str | None = None
    talk: str = ""
    problem: str = ""
    stored: list[str] = field(default_factory=list)
    read: set[str] = field(default_factory=set)

    def text(self, name: str, *, limit: int, required: bool = False) -> str:
        """A string of at most ``limit`` characters."""
        value = self._take(name)
        if value is None:
            if required:
                self._complain("missing", name)
            return ""
        if not isinstance(value, str):
            self._complain("not_text", name)
            return ""
        if required and not value.strip():
            self._complain("missing", name)
        if len(value) > limit:
            self._complain("too_long", name, limit=limit)
            return ""
        return value

    def number(self, name: str, *, default: int, low: int, high: int) -> int:
        """A whole number between ``low`` and ``high``; digits in a string will do."""
        value = self._take(name)
        if value is None:
            return default
        digits = value.strip().removeprefix("-") if isinstance(value, str) else ""
        if digits.isdecimal() and len(digits) < _SHOWN:
            value = int(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            self._complain("not_number", name, low=low, high=high)
            return default
        if not low <= value <= high:
            self._complain("out_of_range", name, low=low, high=high)
            return default
        return value

    def words(self, name: str, *, most: int, limit: int) -> tuple[str, ...]:
        """A list of short strings; a single string with commas will do."""
        value = self._take(name)
        if value is None:
            return ()
        if isinstance(value, str):
            value = value.replace("，", ",").split(",") if len(value) <= most * limit else [value]
        if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
            self._complain("not_list", name)
            return ()
        words = tuple(word.strip() for word in value if word.strip())
        if len(words) > most or any(len(word) > limit for word in words):
            self._complain("list_too_long", name, most=most, limit=limit)
            return ()
        return words

    def lines(self, name: str, *, most: int, limit: int, required: bool = False) -> tuple[str, ...]:
        """A list of texts, each on one line; a single string is one a line, commas and all."""
        value = self._take(name)
        given = [] if value is None else value.splitlines() if isinstance(value, str) else value
        if not isinstance(given, list | tuple) or not all(isinstance(v, str) for v in given):
            self._complain("not_list", name)
            return ()
        lines = tuple(dict.fromkeys(text for line in given if (text := " ".join(line.split()))))
        if required and not lines:
            self._complain("missing", name)
        if len(lines) > most or any(len(line) > limit for line in lines):
            self._complain("list_too_long", name, most=most, limit=limit)
            return ()
        return lines

    def choice(self, name: str, options: Collection[str], default: str) -> str:
        """One of ``options``."""
        value = self._take(name)
        if value is None:
            return default
        if not isinstance(value, str) or value.strip().lower() not in options:
            self._complain("not_option", name, options=", ".join(options))
            return default
        return value.strip().lower()

    def flag(self, name: str) -> bool:
        """True or false, false where it is not given; the words will do."""
        value = self._take(name)
        if isinstance(value, str) and value.strip().lower() in ("true", "false"):
            value = value.strip().lower() == "true"
        if value is not None and not isinstance(value, bool):
            self._complain("not_option", name, options="true, false")
        return value is True

    def days(self, name: str, *, limit: int) -> str:
        """Words that name days, or a date and one more behind two dots."""
        value = self.text(name, limit=limit).strip()
        if value and not days_named(value, datetime.now(UTC)):
            self._complain("not_days", name, value=value[:_SHOWN])
            return ""
        return value

    def finish(self) -> str:
        """What is wrong, empty if nothing is. Unknown arguments are wrong."""
        unknown = sorted(str(name)[:_SHOWN] for name in self.given if name not in self.read)
        if unknown and not self.problem:
            self._complain("unknown", ", ".join(unknown)[:_SHOWN])
        return self.problem

    def _take(self, name: str) -> Any:
        self.read.add(name)
        return self.given.get(name)

    def _complain(self, code: str, name: str, **params: object) -> None:
        if not self.problem:
            self.problem = self.texts.say(f"argument.{code}", name=name, **params)
