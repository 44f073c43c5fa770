"""Lists of words and patterns, a file each: words between blanks, and comments after ``# ``."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from ..lazy_pattern import PatternFile


def path_of(name: str) -> Path:
    """The file of a table."""
    return Path(__file__).with_name(name)


@cache
def lines_of(name: str, part: str = "") -> tuple[str, ...]:
    """The lines of a list; of its ``part``, which ``== part`` begins, where it has parts."""
    text = path_of(f"{name}.txt").read_text("utf-8")
    _, _, text = f"\n== \n{text}".partition(f"\n== {part}\n")
    lines = text.partition("\n== ")[0].split("\n")
    return tuple(line for line in lines if line and not line.startswith("# "))


def words_of(name: str, part: str = "") -> list[str]:
    """Their words, in their order."""
    return " ".join(lines_of(name, part)).split()


_KIN = ["妈", "爸", "朋友", "男朋友", "女朋友", *sorted(words_of("same_meaning", "persons"))]
PATTERNS: Final = PatternFile("text/data/patterns.txt", kin="|".join(_KIN))
