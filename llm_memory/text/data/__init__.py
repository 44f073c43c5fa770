"""Lists of words, one file each: words between blanks, and comments after ``# ``."""

from __future__ import annotations

from pathlib import Path


def lines_of(name: str) -> list[str]:
    """The lines of a list that are neither empty nor comments."""
    text = Path(__file__).with_name(f"{name}.txt").read_text("utf-8")
    return [line for line in text.split("\n") if line and not line.startswith("# ")]


def words_of(name: str) -> list[str]:
    """The words of a list, in its order."""
    return " ".join(lines_of(name)).split()
