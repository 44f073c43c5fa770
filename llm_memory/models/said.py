"""A line for a person, in each of the two languages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

type Spoken = Literal["zh", "en"]


@dataclass(frozen=True, slots=True)
class Said:
    """The same line twice."""

    zh: str
    en: str

    def text(self, language: Spoken) -> str:
        """Returns the line in one language."""
        return self.zh if language == "zh" else self.en
