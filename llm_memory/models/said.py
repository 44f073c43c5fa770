"""What is there in both languages and is no text of the catalogue."""

from __future__ import annotations

from dataclasses import dataclass

from ..texts import Spoken


@dataclass(frozen=True, slots=True)
class Both:
    """The same text twice: a prompt, a line that a soul holds, or one that was read from a file."""

    zh: str
    en: str

    def text(self, language: Spoken) -> str:
        """Returns the line in one language."""
        return self.zh if language == "zh" else self.en
