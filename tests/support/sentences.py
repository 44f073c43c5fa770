"""Sentences that the gate is tried on, by section of `tests/data/gate.txt`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

DATA = Path(__file__).parents[1] / "data" / "gate.txt"


@cache
def _sections() -> dict[str, list[str]]:
    sections: dict[str, list[str]] = {}
    for line in DATA.read_text("utf-8").split("\n"):
        if line.startswith("== "):
            name = line.removeprefix("== ")
            sections[name] = []
        elif line and not line.startswith("// "):
            sections[name].append(line.replace("\\u200b", "\u200b"))
    return sections


def sentences(section: str) -> list[str]:
    """The sentences of a section."""
    return _sections()[section]
