"""A light stemmer for Latin words: plural, past, -ing, -ly, -gic. Pure.

Light on purpose: it joins the forms of one word (``allergies``/``allergy``, ``running``/``run``)
and leaves the rest alone: a wrong merge finds the wrong memory. A stem is a key, not a word.
"""

from __future__ import annotations

import re

from .data import lines_of

_VOWELS = frozenset("aeiouy")
_IRREGULAR = {
    form: stem for stem, *forms in map(str.split, lines_of("irregular")) for form in forms
}

_END = re.compile(r"(?<=...)(?:(?<!e)e|(?<![aeiouy])(?P<y>y))$")
_PLURAL = re.compile(r"(?:(?<=..)(?P<y>ies)|(?<=ss|sh|ch|zz)es|(?<=x)es|(?<=...)(?<![sui])s)$")


def stem(word: str) -> str:
    """The stem of a lower-case word; a word with letters beyond a-z is returned as it is."""
    if len(word) <= 2 or not (word.isascii() and word.isalpha()):
        return word
    if word in _IRREGULAR:
        return _final(_IRREGULAR[word])
    word = _without_suffix(_singular(word))
    # An allergy and who is allergic.
    return _final(word.removesuffix("c") if word.endswith("gic") and len(word) > 6 else word)


def _singular(word: str) -> str:
    return _PLURAL.sub(lambda ending: "y" if ending["y"] else "", word)


def _without_suffix(word: str) -> str:
    for suffix, shortest in (("ingly", 3), ("edly", 3), ("ing", 3), ("ed", 2), ("ly", 4)):
        base = word.removesuffix(suffix)
        if base != word:
            is_stem = len(base) >= shortest and not _VOWELS.isdisjoint(base)
            # need, agreed: not a past of ne, agre
            return _undoubled(base) if is_stem and (suffix != "ed" or base[-1] != "e") else word
    return word


def _undoubled(base: str) -> str:
    """``stopp`` is ``stop``; ``fall``, ``pass``, ``buzz`` keep both."""
    doubled = len(base) > 3 and base[-1] == base[-2] and base[-1] not in "lszaeiou"
    return base[:-1] if doubled else base


def _final(word: str) -> str:
    """``bake`` and ``baking``, ``allergy`` and ``allergies``, meet in one key."""
    return _END.sub(lambda ending: "i" if ending["y"] else "", word)
