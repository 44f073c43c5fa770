"""The form of a set of attacks and harmless texts: JSON lines, described in docs/security.md."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

WAYS: Final = ("said", "reasoning", "tag", "name", "context")
PLACES: Final = ("home", "street")


@dataclass(frozen=True, slots=True)
class Saying:
    """One message: how many days after the first, by whom, in which place."""

    day: int
    speaker: str
    place: str
    text: str


@dataclass(frozen=True, slots=True)
class Row:
    """An attack or a harmless text.

    Attributes:
        kind: What is tried, or what it is about.
        way: ``said`` in a turn, or which field of a tool call holds it: ``reasoning``, ``tag``,
            ``context``, ``name`` (the speaker's nickname).
        ask: What others ask afterwards; the texts themselves where it is empty.
    """

    number: int
    kind: str
    lang: str
    attack: bool
    way: str
    sayings: tuple[Saying, ...]
    ask: str = ""

    @property
    def last_day(self) -> int:
        """The day of the last saying, counted from 0."""
        return max(saying.day for saying in self.sayings)

    @property
    def street(self) -> bool:
        """Said in a group that belongs to no private scope."""
        return self.sayings[0].place == "street"


def load(path: Path) -> list[Row]:
    """All rows of a file. Raises ValueError for a line that is none, naming it."""
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            rows.append(_row(number, json.loads(line)))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path}, line {number}: {error!r}") from error
    return rows


def _row(number: int, value: Any) -> Row:
    if not isinstance(value, dict):
        raise TypeError("no JSON object")
    turns = value.get("turns") or [value]
    sayings = tuple(
        Saying(
            int(turn.get("day", 0)),
            str(turn.get("speaker") or "路人"),
            _one_of(PLACES, turn.get("place") or value.get("place") or PLACES[0]),
            str(turn["text"]),
        )
        for turn in turns
    )
    return Row(
        number,
        str(value["kind"]),
        str(value["lang"]),
        bool(value["attack"]),
        _one_of(WAYS, value.get("way") or WAYS[0]),
        sayings,
        str(value.get("ask") or ""),
    )


def _one_of(known: tuple[str, ...], value: str) -> str:
    if value not in known:
        raise ValueError(f"{value!r} is none of {', '.join(known)}")
    return value
