"""A rule as words: folded, cut into clauses, each word with what it does."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from ...text import traditional
from ...text.scripts import fold
from .manner_words import ALONE, KINDS, Word


@dataclass(frozen=True, slots=True)
class Token:
    """A word, folded; of what is no known word a part."""

    text: str
    kind: Word


_CLAUSE: Final = re.compile(r"[,.;:!?。\u2026()\u2010-\u2015]+|\bbut\b|但是?|不过")
_PIECE: Final = re.compile(r"[\u4e00-\u9fff]+|[a-z]+|\d+|[^\W_]+")
_SHORTENED: Final = (
    (re.compile("[\u2018\u2019]"), "'"),
    (re.compile("\xe9"), "e"),  # cliché
    (re.compile(r"\bcannot\b"), "can not"),
    (re.compile(r"\bcan't\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"'(?:s|re|m|ve|ll|d)\b"), ""),
    (re.compile(r"\b(?:do|does|did) not\b"), "not"),
    (re.compile(r"(?<=[\u4e00-\u9fff]) +(?=[\u4e00-\u9fff])"), ""),
    (re.compile(r"(?<!\d)1[、.,] ?2(?:[、.,] ?3)?(?:[、.,] ?)?(?!\d)"), " 编号 "),
    (re.compile("再(?=复述|重复|复读)"), ""),  # it breaks no negation there
)
_LONGEST: Final = max(len(word) for word in KINDS if not word.isascii())
_PHRASE: Final = 4
_ENDINGS: Final = (
    ("ies", "y"), ("ied", "y"), ("s", ""), ("es", ""), ("ed", ""), ("d", ""), ("ing", ""),
    ("ing", "e"), ("ly", ""), ("ily", "y"),
)  # fmt: skip
_COMPARED: Final = (("er", ""), ("r", ""), ("ier", "y"), ("est", ""), ("st", ""), ("iest", "y"))
"""Endings of topics alone: with other words they make whoever does it, an owner, a speaker."""
_SIGNS: Final = re.compile(r"[^\w\s]+")
_UNITS: Final = re.compile(
    r"\s*(?:句|个|字|词|段|条|行|次|点|倍|成|秒|分钟|%|到\d|至\d|[-~]\d|or \d|to \d|"
    r"(?:short |long |full |bullet )?(?:sentence|word|line|paragraph|point|bullet|item|emoji|"
    r"question|example|character|time)s?\b)"
)


def simplified(text: str) -> str:
    """Returns the text in NFKC and lower case, with simplified characters for the traditional ones
    that words of manner have."""
    return traditional.simplified(fold(text))


def folded(text: str) -> str:
    """Returns the text as its words are read: NFKC, lower case, simplified characters, no short
    forms."""
    seen = simplified(text)
    for form, plain in _SHORTENED:
        seen = form.sub(plain, seen)
    return " ".join(seen.split())


def clauses_of(seen: str) -> Iterator[list[Token]]:
    """Yields the clauses of a folded text that have words."""
    for clause in _CLAUSE.split(seen):
        tokens = list(_tokens(clause))
        if tokens:
            yield tokens


def strange_in(seen: str) -> Iterator[str]:
    """Yields the runs of a folded text that are of no known word; a single Chinese character with
    the one before it, and with the one behind."""
    for part in _SIGNS.split(seen):
        tokens = list(_tokens(part))
        place = 0
        for is_strange, run in groupby(tokens, _is_unknown):
            words = [token.text for token in run]
            start, place = place, place + len(words)
            written = (" " if words[0].isascii() else "").join(words)
            if is_strange and len(written) > 1:
                yield written
            elif is_strange:
                yield from (one.text[-1] + written for one in tokens[:start][-1:])
                yield from (written + one.text[0] for one in tokens[place:][:1])


def _is_unknown(token: Token) -> bool:
    return token.kind is Word.STRANGE and not token.text.isdecimal()


def _tokens(clause: str) -> Iterator[Token]:
    pieces = list(_PIECE.finditer(clause))
    place = 0
    while place < len(pieces):
        piece = pieces[place]
        written = piece[0]
        if "\u4e00" <= written[0] <= "\u9fff":
            yield from _chinese(written)
            place += 1
        elif written.isdecimal():
            counts = len(written) <= 3 and _UNITS.match(clause, piece.end())
            yield Token(written, Word.PLAIN if counts else Word.STRANGE)
            place += 1
        else:
            token, taken = _english([one[0] for one in pieces[place : place + _PHRASE]])
            yield token
            place += taken


def _english(words: list[str]) -> tuple[Token, int]:
    """Returns the longest phrase at the beginning of the words, and of how many words it is."""
    for count in range(len(words), 0, -1):
        firsts = _bases(words[0]) if count > 1 else ("",)
        for first, last in itertools.product(firsts, _bases(words[count - 1])):
            phrase = "-".join(filter(None, [first, *words[1 : count - 1], last]))
            if phrase in KINDS:
                return Token(phrase, KINDS[phrase]), count
    return Token(words[0], Word.STRANGE), 1


def _bases(word: str) -> Iterator[str]:
    yield word
    yield from _without(word, _ENDINGS)
    yield from (base for base in _without(word, _COMPARED) if KINDS.get(base) is Word.TOPIC)


def _without(word: str, endings: Iterable[tuple[str, str]]) -> Iterator[str]:
    for ending, instead in endings:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            stem = word[: -len(ending)]
            yield stem + instead
            if stem[-1] == stem[-2]:
                yield stem[:-1]


def _chinese(run: str) -> Iterator[Token]:
    """Yields the fewest known words that cover a run; what they cannot cover by the character."""
    best: list[tuple[int, int]] = [(0, 0)]
    for end in range(1, len(run) + 1):
        unknown = (best[end - 1][0] + 1000, end - 1)
        known = (
            (best[start][0] + 1, start)
            for start in range(max(end - _LONGEST, 0), end)
            if run[start:end] in KINDS
        )
        best.append(min(known, default=unknown))
    words: list[str] = []
    end = len(run)
    while end:
        start = best[end][1]
        words.append(run[start:end])
        end = start
    words.reverse()
    for place, word in enumerate(words):
        beside = words[max(place - 1, 0) : place] + words[place + 1 : place + 2]
        named = word in ALONE and any(one in ALONE for one in beside)
        yield Token(word, Word.STRANGE if named else KINDS.get(word, Word.STRANGE))
