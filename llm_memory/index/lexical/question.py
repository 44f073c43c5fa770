"""What a question asks for, as tokens with weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ...text.scripts import Script, script_of
from ...text.tokenizer import Tokenizer
from .word_weights import says

CHARACTER: Final = 2.25
"""A single Han character: 爱猫 and 喜欢小猫 share no word, but one that tells."""
HAN_WORD: Final = 0.75
"""A Han word, which brings its characters along."""
WORD: Final = 6.0
"""Any other word, times what it says wherever it stands: 0.1 to 0.9, see ``word_weights``."""
RARITY: Final = 0.35
"""The power of the inverse document frequency. Less than 1, because a rare word of a question is as
often one that the answer puts in another way as one that it must hold."""
_MANY: Final = 100


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked.

    Attributes:
        terms: What is looked for, each once.
        factors: How much each term counts where an answer speaks of it; 0 for some.
        subject: Which of them an answer has to speak of. Not words that name a time: what was said
            then need not say when.
        around: Terms of what was said before, and of nothing else, those that say the most first:
            they move an answer up, and none is asked to speak of them.
    """

    terms: tuple[str, ...]
    factors: dict[str, float]
    subject: frozenset[str]
    around: tuple[str, ...] = ()

    @classmethod
    def read(cls, tokenizer: Tokenizer, text: str, subject: str, around: str = "") -> Question:
        """From the whole text, what of it is the subject, and what was said before."""
        about = frozenset(tokenizer.query_tokens(subject))
        terms = tuple(dict.fromkeys((*tokenizer.query_tokens(text), *about)))
        before = dict.fromkeys(tokenizer.query_tokens(around)) if around else {}
        dictionary = tokenizer.dictionary()
        factors = {}
        for term in terms:
            is_han = script_of(term) is Script.HAN
            # Of a time only whole words count: 天 in 明天 says nothing, nor does 5 in 5月.
            if term not in about and (
                len(term) == 1 if is_han else script_of(term) is Script.DIGIT
            ):
                continue
            if is_han and len(term) == 1:
                factors[term] = CHARACTER
            elif not is_han:
                factors[term] = WORD * says(term)
            elif len(term) > 2 or (dictionary is not None and dictionary.look(term)):
                factors[term] = HAN_WORD
            # Two characters that are no word stand side by side by chance.
        others = sorted((term for term in before if term not in set(terms)), key=says, reverse=True)
        return cls(terms, factors, about, tuple(others))

    def weights(self, among: int, holding: Sequence[int]) -> list[float]:
        """Of each term: its factor, times its inverse document frequency to the power ``RARITY``.

        Who has three memories has no common words yet: frequencies are those of a hundred at least.
        """
        many = max(among, _MANY)
        return [
            self.factors.get(term, 0.0) * math.log1p((many - n + 0.5) / (n + 0.5)) ** RARITY
            for term, n in zip(self.terms, holding, strict=True)
        ]
