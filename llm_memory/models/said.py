"""What is there in both languages and is no text of the catalogue."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches

from ..texts import Spoken

__all__ = ["Said", "Spoken", "did_you_mean"]


@dataclass(frozen=True, slots=True)
class Said:
    """The same line twice."""

    zh: str
    en: str

    def text(self, language: Spoken) -> str:
        """Returns the line in one language."""
        return self.zh if language == "zh" else self.en


def did_you_mean(word: str, known: Collection[str]) -> Said:
    """Returns the end of a line that names the nearest word; empty where none is near."""
    near = get_close_matches(word, known, 1)
    return Said(f"；是不是 {near[0]}？", f"; did you mean {near[0]}?") if near else Said("", "")
