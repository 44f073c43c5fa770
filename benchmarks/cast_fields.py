"""The fields of a cast's file, read by name: an error says where in the file it is."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from datetime import datetime, tzinfo
from typing import Any

from iso_dates import moment

_SLASHED = re.compile(r"^(\d{4})[/-](\d{1,2})[/-](\d{1,2})")
"""A date as people write it."""
_KNOWN = {
    "": "language start end timezone people places talk questions unrelated secrets",
    "people": "name id admin",
    "places": "kind id scope",
    "talk": "at who where said reply learned small_talk",
    "learned": "judgment kind tags asks replaces",
    "questions": "who where original paraphrase must must_not",
    "secrets": "said_by words never_in",
}
"""The keys of each part of a cast."""


class BadCast(ValueError):
    """A cast that cannot be played: what is wrong, and where."""


class Part:
    """An object of the file, read by key. ``where`` it stands is said in every error."""

    def __init__(self, raw: Any, where: str, kind: str, warn: Callable[[str], None]) -> None:
        if not isinstance(raw, dict):
            raise BadCast(f"{where}: should be an object, is {type(raw).__name__}")
        self._raw, self._where, self._warn = raw, where, warn
        for key in raw.keys() - set(_KNOWN[kind].split()):
            warn(f"{where}: {key!r} is not known and was ignored")

    def has(self, key: str) -> bool:
        return self._raw.get(key) not in (None, "")

    def text(self, key: str, default: str | None = None) -> str:
        """Words; a number is taken for its digits."""
        value = self._raw.get(key)
        if value in (None, "") and default is not None:
            return default
        if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
            raise BadCast(f"{self._where}: {key!r} should be words, is {value!r}")
        return str(value)

    def texts(self, key: str) -> tuple[str, ...]:
        """Several words, or one; none where there are none. A question may stand in an object."""
        value = self._raw.get(key)
        given = [value] if isinstance(value, str) else value or []
        if not isinstance(given, list):
            raise BadCast(f"{self._where}: {key!r} should be a list, is {value!r}")
        texts = [one.get("original") if isinstance(one, dict) else one for one in given]
        if not all(isinstance(one, str | int | float) for one in texts):
            raise BadCast(f"{self._where}: {key!r} should hold words, holds {value!r}")
        return tuple(map(str, texts))

    def flag(self, key: str) -> bool:
        value = self._raw.get(key)
        if value not in (None, True, False):
            raise BadCast(f"{self._where}: {key!r} should be true or false, is {value!r}")
        return bool(value)

    def parts(self, key: str) -> list[Part]:
        given = self._raw.get(key) or []
        if not isinstance(given, list):
            raise BadCast(f"{self._where}: {key!r} should be a list, is {type(given).__name__}")
        return [self._part(one, key, f"{key} {n}") for n, one in enumerate(given, start=1)]

    def named(self, key: str) -> Iterable[tuple[str, Part]]:
        """Of an object its entries by name; of a list each by its ``name``."""
        given = self._raw.get(key) or {}
        if isinstance(given, list):
            if not all(isinstance(one, dict) and one.get("name") for one in given):
                raise BadCast(f"{self._where}: each of {key!r} should be an object with a 'name'")
            given = {
                str(one["name"]): {k: v for k, v in one.items() if k != "name"} for one in given
            }
        if not isinstance(given, dict):
            raise BadCast(f"{self._where}: {key!r} should be an object")
        return [(name, self._part(one, key, f"{key} {name}")) for name, one in given.items()]

    def _part(self, raw: Any, kind: str, at: str) -> Part:
        return Part(raw, f"{self._where}: {at}", kind, self._warn)

    def moment(self, key: str, zone: tzinfo, *, last: bool = False) -> datetime:
        """In the cast's zone, unless it says another; a bare date is its beginning, or its end."""
        text = _SLASHED.sub(lambda d: f"{d[1]}-{d[2]:0>2}-{d[3]:0>2}", self.text(key).strip())
        try:
            found = moment(text, zone)
        except ValueError as error:
            raise BadCast(f"{self._where}: {key!r} is no date and time: {text!r}") from error
        if last and len(text) <= len("2026-01-01"):
            found = found.replace(hour=23, minute=59)
        return found.astimezone(zone)

    def warn(self, text: str) -> None:
        self._warn(f"{self._where}: {text}")

    def wrong(self, text: str) -> BadCast:
        return BadCast(f"{self._where}: {text}")


def say(text: str) -> None:
    """To whoever plays the cast, beside the figures."""
    sys.stderr.write(f"{text}\n")
