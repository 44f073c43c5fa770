"""The words of ``data/same_meaning.txt``, which says what they are for."""

from __future__ import annotations

from functools import partial

from .data import lines_of, words_of

_words_of = partial(words_of, "same_meaning")
SYNONYMS = {word: words[0] for words in map(str.split, lines_of("synonyms")) for word in words}
DEGREES = frozenset(_words_of("degrees"))
EMPTY = DEGREES.union(_words_of("empty"))
LIGHT = frozenset(_words_of("light"))
NEGATIONS = frozenset(_words_of("negations"))
TURNS = NEGATIONS.union(_words_of("turns"))
PERSONS = frozenset(_words_of("persons"))
CONTRACTIONS = {
    short: words for short, *words in map(str.split, lines_of("same_meaning", "contractions"))
}
