"""What a question asks for, as tokens with weights, and how much of it documents hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from ..text import stop_words
from ..text.data import words_of
from ..text.english import stem
from ..text.scripts import Script, script_of
from ..text.tokenizer import Tokenizer
from .arrays import Flags, Ints, np
from .records import WordQuery
from .scoring import AROUND, BEFORE, CARRIED, MOST, Documents, Postings, coverage

CHARACTER: Final = 2.25
"""A single Han character: 爱猫 and 喜欢小猫 share no word, but one that tells."""
HAN_WORD: Final = 0.75
"""A Han word, which brings its characters along."""
WORD: Final = 6.0
"""Any other word, times what it ``says``."""
RARITY: Final = 0.35
"""The power of the inverse document frequency. Less than 1, because a rare word of a question is as
often one that the answer puts in another way as one that it must hold."""
_MANY: Final = 100
_FUNCTION_WORDS: Final = frozenset(map(stem, stop_words.ENGLISH))
_COMMON_ENGLISH: Final = frozenset(map(stem, words_of("common_english")))
_FUNCTION_WORD, _COMMON = 0.1, 0.38
_LATIN: Final = (0.51, 0.06, 0.85)  # the least, more per letter, at most: long words are rarer
_BY_LENGTH: Final = {
    Script.DIGIT: (0.4, 0.6, 0.9),  # a port or a year says more than a 3
    Script.HIRAGANA: (0.05, 0.25),  # mostly endings and particles
    Script.KATAKANA: (0.1, 0.45),
    Script.HANGUL: (0.1, 0.45),
}
"""Of one character, of two, and so on; the last of longer ones, too."""
_OTHER: Final = 0.7


def says(token: str) -> float:
    """How much a word of another script than Han says, wherever it stands: above 0 and below 1.

    Static on purpose, beside the frequencies among the memories: a chat in English has more words
    of no subject than a list of stop words holds, and a small scope cannot tell them by counting.
    """
    script = script_of(token)
    if script is Script.LATIN:
        if token in _FUNCTION_WORDS:
            return _FUNCTION_WORD
        least, per_letter, most = _LATIN
        return _COMMON if token in _COMMON_ENGLISH else min(most, least + per_letter * len(token))
    shares = _BY_LENGTH.get(script, (_OTHER,))
    return shares[min(len(token), len(shares)) - 1]


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
        others = sorted((term for term in before if term not in terms), key=says, reverse=True)
        return cls(terms, factors, about, tuple(others), persons)

    def counted(self) -> list[float]:
        """What each term counts for the order: one of the asker's names alone, what one does that
        was said before."""
        own = frozenset().union(*self.persons[0]) - self.subject if self.persons else frozenset()
        return [BEFORE if term in own else 1.0 for term in self.terms]

    def weights(self, among: int, holding: Sequence[int]) -> list[float]:
        """Of each term: its factor, times its inverse document frequency to the power ``RARITY``.

        Who has three memories has no common words yet: frequencies are those of a hundred at least.
        """
        many = max(among, _MANY)
        return [
            self.factors.get(term, 0.0) * math.log1p((many - n + 0.5) / (n + 0.5)) ** RARITY
            for term, n in zip(self.terms, holding, strict=True)
        ]

    def held_whole(self, tokens: Postings, documents: int) -> Flags:
        """Shape ``(documents,)``: which of them say every word of the subject themselves."""
        asked = np.array([t in self.subject and self.factors.get(t, 0) > 0 for t in self.terms])
        said = tokens.document[(tokens.text > 0) & asked[tokens.row]]
        many = int(asked.sum())
        flags: Flags = (np.bincount(said, minlength=documents) == many) & (many > 0)
        return flags

    def covered(
        self, documents: Documents, tokens: Postings, places: Ints, *, carried: bool
    ) -> list[float]:
        """How much of the question each of some documents speaks of, 0 to 1."""
        terms = len(self.terms)
        holding = np.bincount(tokens.row[tokens.text > 0], minlength=terms)
        weights = np.array(self.weights(int((documents.total > 0).sum()), holding.tolist()))
        asked = np.array([term in self.subject for term in self.terms])
        held = np.zeros((terms, len(places)))
        column = np.full(len(documents.text), -1)
        column[places] = np.arange(len(places))
        of_places = column[tokens.document] >= 0
        row, document, text, _ = (one[of_places] for one in tokens)
        held[row, column[document]] = np.where(text > 0, 1.0, AROUND)
        if carried:  # what was never spoken of cannot be meant
            asked &= holding > 0
        persons = [
            [np.array([term in name for term in self.terms]) * weights for name in names]
            for names in self.persons
        ]
        most = CARRIED if carried else MOST
        shares: list[float] = coverage(
            weights, asked, held, documents.text[places], most, persons
        ).tolist()
        return shares
