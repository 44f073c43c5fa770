"""What a question asks for, as tokens with weights, and how much of it documents hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final

from ..text.scripts import Script, script_of
from ..text.tokenizer import Tokenizer
from .records import WordQuery
from .scoring import AROUND, CARRIED, MOST, Postings, coverage
from .word_weights import says

if TYPE_CHECKING:
    from .scoring import Documents, Flags, Ints

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
        persons: The terms of each name of the asker, and of each person who is asked about.
    """

    terms: tuple[str, ...]
    factors: dict[str, float]
    subject: frozenset[str]
    around: tuple[str, ...] = ()
    persons: tuple[tuple[frozenset[str], ...], ...] = ()

    @classmethod
    def read(cls, tokenizer: Tokenizer, query: WordQuery) -> Question:
        """From the whole text, what of it is the subject, and what was said before."""
        about = frozenset(tokenizer.query_tokens(query.subject))
        persons = tuple(
            tuple(frozenset(tokenizer.tokens(name)) for name in names)
            for names in (query.asker, *query.persons)
        )
        called = (term for names in persons for name in names for term in sorted(name))
        terms = tuple(dict.fromkeys((*tokenizer.query_tokens(query.text), *sorted(about), *called)))
        before = dict.fromkeys(tokenizer.query_tokens(query.around)) if query.around else {}
        dictionary = tokenizer.dictionary()
        factors = {}
        meant = about.union(*chain.from_iterable(persons))
        for term in terms:
            is_han = script_of(term) is Script.HAN
            # Of a time only whole words count: 天 in 明天 says nothing, nor does 5 in 5月.
            if term not in meant and (
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
        return cls(terms, factors, about, tuple(others), persons)

    def apart(self, tokens: Sequence[Postings]) -> tuple[list[Postings], list[Postings]]:
        """The postings of the terms that are asked for, and of those of the asker's names alone:
        these count as what was said before does."""
        own = frozenset().union(*self.persons[0]) - self.subject if self.persons else frozenset()
        asked: list[Postings] = []
        named: list[Postings] = []
        for term, token in zip(self.terms, tokens, strict=True):
            (named if term in own else asked).append(token)
        return asked, named

    def weights(self, among: int, holding: Sequence[int]) -> list[float]:
        """Of each term: its factor, times its inverse document frequency to the power ``RARITY``.

        Who has three memories has no common words yet: frequencies are those of a hundred at least.
        """
        many = max(among, _MANY)
        return [
            self.factors.get(term, 0.0) * math.log1p((many - n + 0.5) / (n + 0.5)) ** RARITY
            for term, n in zip(self.terms, holding, strict=True)
        ]


def holding_all(question: Question, tokens: Sequence[Postings], documents: int) -> Flags:
    """Shape ``(documents,)``: which of them say every word of the subject themselves."""
    import numpy as np

    asked = [
        token
        for term, token in zip(question.terms, tokens, strict=True)
        if term in question.subject and question.factors.get(term)
    ]
    said = np.zeros(documents, dtype=np.int64)
    for token in asked:
        said[token.places[token.text > 0]] += 1
    flags: Flags = said == len(asked) if asked else np.zeros(documents, dtype=bool)
    return flags


def shares(
    question: Question,
    documents: Documents,
    tokens: Sequence[Postings],
    places: Ints,
    *,
    carried: bool,
) -> list[float]:
    """How much of a question each of some documents speaks of, 0 to 1."""
    import numpy as np

    living = int((documents.total > 0).sum())
    holding = [int(np.count_nonzero(token.text)) for token in tokens]
    weights = np.array(question.weights(living, holding))
    asked = np.array([term in question.subject for term in question.terms])
    holds = np.zeros((len(tokens), len(places)))
    held = np.zeros(len(documents.text))
    for row, token in zip(holds, tokens, strict=True):
        held[token.places] = np.where(token.text > 0, 1.0, AROUND)
        row[:] = held[places]
        held[token.places] = 0.0
    lengths = documents.text[places]
    most = CARRIED if carried else MOST
    if carried:  # what was never spoken of cannot be meant
        asked &= np.array(holding) > 0
    persons = [
        [np.array([term in name for term in question.terms]) * weights for name in names]
        for names in question.persons
    ]
    found: list[float] = coverage(weights, asked, holds, lengths, most, persons).tolist()
    return found
