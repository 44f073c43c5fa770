"""The words by which a question is read.

``patterns.txt`` has the patterns. ``heads.json`` has, by language, the head nouns of each topic and
of days, the verbs that ask for a person, and what says nothing beside them, whose kind is empty.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from ..text.lazy_pattern import PatternFile
from ..text.scripts import simplified

PATTERNS: Final = PatternFile("recall/patterns.txt")
_HEADS = Path(__file__).with_name("heads.json")
HEADS: Final[dict[str, dict[str, str]]] = {
    language: {word: kind for kind, words in kinds.items() for word in words.split()}
    for language, kinds in json.loads(_HEADS.read_text("utf-8")).items()
}


def says(kind: str, text: str) -> bool:
    """Whether a text, in either script, holds what a pattern describes."""
    return PATTERNS[kind].search(simplified(text)) is not None
