"""What is there in both languages and is no text of the catalogue."""

from __future__ import annotations

from dataclasses import dataclass

from ..texts import Spoken

__all__ = ["Said", "Spoken"]


@dataclass(frozen=True, slots=True)
class Said:
    """The same line twice."""

    zh: str
    en: str

    def text(self, language: Spoken) -> str:
        """Returns the line in one language."""
        return self.zh if language == "zh" else self.en
