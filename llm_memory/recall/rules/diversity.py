"""Whether a text says again what was said: then another one is worth more."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from ...text.scripts import fold

_NUMBER = re.compile(r"\d+")
_DENIAL = re.compile(r"[不没别未无非]|\bno\b|\bnot\b|n't\b|\bnever\b", re.IGNORECASE)
_SAME = 0.8


@dataclass(frozen=True, slots=True)
class Novelty:
    """What two texts are compared by: pairs of neighbouring letters, numbers, denials."""

    pairs: frozenset[str]
    numbers: tuple[str, ...]
    denials: int

    @classmethod
    def of(cls, text: str) -> Novelty:
        folded = fold(text)
        letters = [character for character in folded if character.isalnum()]
        pairs = frozenset("".join(pair) for pair in pairwise(letters))
        return cls(pairs, tuple(_NUMBER.findall(folded)), len(_DENIAL.findall(folded)))

    def repeats(self, others: Iterable[Novelty]) -> bool:
        """True where four fifths of all pairs are shared, and no number or denial differs."""
        return any(
            bool(self.pairs)
            and self.numbers == other.numbers
            and self.denials == other.denials
            and len(self.pairs & other.pairs) >= _SAME * len(self.pairs | other.pairs)
            for other in others
        )
