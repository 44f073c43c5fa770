"""How much a word of another script than Han says, wherever it stands. Pure.

Static on purpose, beside the frequencies among the memories: a chat in English has more words of no
subject than a list of stop words holds, and a small scope cannot tell them by counting.
"""

from __future__ import annotations

from ..text import stop_words
from ..text.english import stem
from ..text.scripts import Script, script_of

FUNCTION_WORD = 0.1
_COMMON_ENGLISH = frozenset(
    map(
        stem,
        """
absolutely activity ago agree amazing answer attend awesome bad begin believe best better big
boy bring buy call change child cool couple currently date day decide definitely different
discuss enjoy event everything excited experience family favorite favourite feel feeling few
find first friend fun girl glad good great guy happen happy help home hope idea image important
inspire introduce keep kid last lately learn leave life little long look love main man mean meet
month morning move name new next nice night number old part people person photo picture place
plan play pretty put question read reason recent recently recommend remind right seem see share
show small sound special specific spend start suggest support sure take tell thank think three
time today tomorrow totally try turn two type watch way week weekend woman wonderful work world
wow write year yesterday planning th rd nd st
""".split(),  # noqa: SIM905
    )
)
_ENGLISH_STOPS = frozenset(map(stem, stop_words.ENGLISH))
_COMMON_LATIN = 0.38
_LATIN = (0.51, 0.06, 0.85)  # the least, more per letter, at most: long words are rarer
_DIGITS = (0.4, 0.6, 0.9)  # one digit, two, more: a port or a year says more than a 3
_HIRAGANA = (0.05, 0.25)  # single character, bigram: mostly endings and particles
_KATAKANA_OR_HANGUL = (0.1, 0.45)
_OTHER = 0.7


def says(token: str) -> float:
    """The weight of one token of ``Tokenizer.tokens``, above 0 and below 1."""
    match script_of(token):
        case Script.DIGIT:
            return _DIGITS[min(len(token), 3) - 1]
        case Script.LATIN:
            return _latin(token)
        case Script.HIRAGANA:
            return _HIRAGANA[len(token) > 1]
        case Script.KATAKANA | Script.HANGUL:
            return _KATAKANA_OR_HANGUL[len(token) > 1]
        case _:
            return _OTHER


def _latin(token: str) -> float:
    if token in _ENGLISH_STOPS:
        return FUNCTION_WORD
    if token in _COMMON_ENGLISH:
        return _COMMON_LATIN
    least, per_letter, most = _LATIN
    return min(most, least + per_letter * len(token))
