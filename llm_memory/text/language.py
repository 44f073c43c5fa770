"""Which language a text is in, as far as an embedder's trust and a floor need to know."""

from __future__ import annotations

import re
from enum import StrEnum

from .scripts import HAN

_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]+")


class Language(StrEnum):
    """Told apart by script."""

    CHINESE = "zh"
    ENGLISH = "en"


def language_of(text: str) -> Language | None:
    """By Han characters against Latin words; None for a text with neither."""
    han, latin = len(HAN.findall(text)), len(_LATIN.findall(text))
    if not han and not latin:
        return None
    return Language.CHINESE if han >= latin else Language.ENGLISH
