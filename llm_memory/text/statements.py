"""A statement as what it says: words in their order, without differences that mean nothing. Pure.

- It is read in simplified Chinese.
- Days that words name from the day they were said on are written out (`date_annotation`).
- Numerals become digits; ``1,000`` becomes ``1000``; ``2.0.1``, ``3:30``, ``C++`` stay whole.
- Known synonyms become one word, words that say nothing go (``same_meaning``).
- Letters keep their case, but at the beginning of a sentence: a password and a name differ by it.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from .dates.date_annotation import resolve_dates
from .dates.expressions import Precision, TimeSpan, find_times
from .numerals import ENGLISH_NUMBERS, HAN_NUMERALS, han_number, number
from .same_meaning import CONTRACTIONS, DEGREES, EMPTY, LIGHT, NEGATIONS, SYNONYMS, TURNS
from .scripts import simplified

Words = tuple[str, ...]

_KNOWN = sorted(
    (word for word in {*SYNONYMS, *EMPTY, *LIGHT, *TURNS} if not word.isascii()),
    key=len,
    reverse=True,
)
_PIECE = re.compile(
    rf"(?P<known>{'|'.join(map(re.escape, _KNOWN))}|\?)"
    rf"|(?P<numeral>[{HAN_NUMERALS}]{{1,20}})"
    r"|(?P<latin>(?:(?<![0-9A-Za-z])-)?[0-9A-Za-z]+(?:[.:/@_+#'&~-]+[0-9A-Za-z]+)*(?:[+#%°]+)?)"
    r"|(?P<end>[,;!、。…\n]|\.(?![0-9A-Za-z]))"
    r"|(?P<other>\S)"
)
_FULL_YEAR = re.compile("[0-9０-９〇零一二]{4}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}(?:-[0-9]{2})?")
_REWRITTEN = (
    (re.compile(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))"), ""),
    (re.compile(r"(?<=[0-9])(?=(?:km|kg|cm)(?![A-Za-z]))"), " "),
    (re.compile(r"(?:对|一?吃到?|一?碰到?)([^，。；,.;]{1,12}?)(?:就|会|就会)?过敏"), r"\1过敏"),
)
"""``1,000``, ``5km``, and what somebody is allergic to, as it is told in other words."""
_ASKED = re.compile(
    r"(?:请|帮我|麻烦)?记住\s*[，,:：]?|(?:please\s)?remember(?:\sthat)?\s", re.IGNORECASE
)
"""What is said to a bot, at the beginning only: 没记住密码 is something else than 没密码."""


@dataclass(frozen=True, slots=True)
class Statement:
    """What a text says, clause by clause."""

    clauses: tuple[Words, ...]
    vague: bool = False
    """Whether it says when in words that mean another time later (``最近``)."""

    @property
    def words(self) -> Words:
        return tuple(word for clause in self.clauses for word in clause)


def statement(text: str, said_at: datetime) -> Statement:
    """What ``text``, said at that local time, says."""
    text = simplified(text.strip())
    asked = _ASKED.match(text)
    text = text[asked.end() :] if asked else text
    spans = find_times(text, said_at)
    if any(span.relative and not span.vague for span in spans):
        text = resolve_dates(text, said_at)
        spans = find_times(text, said_at)
    plain = unicodedata.normalize("NFKC", _dates_written_out(text, spans)).replace("\u2019", "'")
    for pattern, put in _REWRITTEN:
        plain = pattern.sub(put, plain)
    clauses = tuple(tuple(words) for said, words in groupby(_words(plain), bool) if said)
    return Statement(clauses, vague=any(span.vague for span in spans))


def _dates_written_out(resolved: str, spans: Sequence[TimeSpan]) -> str:
    """Each named day as a date in digits, in place of its words."""
    parts, place = list[str](), 0
    for span in spans:
        has_date = resolved[span.last : span.last + 2].lstrip()[:1] in ("(", "（")
        is_date = span.precision is Precision.DAY and _FULL_YEAR.search(span.words)
        if has_date if span.relative and not span.vague else is_date:
            put = "" if span.relative and not span.vague else f" {span.start.isoformat()} "
            parts += [resolved[place : span.first], put]
            place = span.last
    return "".join([*parts, resolved[place:]])


def _words(text: str) -> Iterator[str]:
    """The words that say something; an empty one where a clause ends."""
    initial, before = True, ""
    for match in _PIECE.finditer(text):
        for word in _canonical(match.lastgroup, match[0], initial=initial):
            if word not in EMPTY or (before in ("不", "not") and word in DEGREES):
                yield word
            before = before if word == "是" else word
        initial = match.lastgroup == "end" or match[0] == "?"


def _canonical(kind: str | None, piece: str, *, initial: bool) -> Sequence[str]:
    if kind == "latin":
        return _latin(piece, initial=initial)
    if kind == "numeral":
        value = han_number(piece)
        return (piece if value is None else str(value),)
    if kind == "other" and unicodedata.category(piece)[0] in "PZ":
        return ()
    return ("" if kind == "end" else SYNONYMS.get(piece, piece),)


def _latin(piece: str, *, initial: bool) -> Sequence[str]:
    lower = piece.lower()
    if lower in CONTRACTIONS:
        return [SYNONYMS.get(word, word) for word in CONTRACTIONS[lower]]
    if lower.endswith("'s"):
        piece, lower = piece[:-2], lower[:-2]
    plain = lower if initial and piece[1:] == lower[1:] else piece
    plain = "i" if plain == "I" else plain
    counted = number(plain) if plain in ENGLISH_NUMBERS else None
    return (SYNONYMS.get(plain, plain) if counted is None else str(counted),)


def agree(one: Words, other: Words) -> bool:
    """Whether both say the same: the same words in the same order, ``LIGHT`` ones aside, of which
    none stands for another. A single date may stand anywhere. Where something is negated nothing is
    light: 我不会游泳 is not 我不游泳."""
    one, other = _date_first(one), _date_first(other)
    if not NEGATIONS.isdisjoint(one):
        return one == other
    mine, yours = (Counter(word for word in words if word in LIGHT) for words in (one, other))
    heavy, others = ([word for word in words if word not in LIGHT] for words in (one, other))
    return heavy == others and (mine <= yours or yours <= mine)


def _date_first(words: Words) -> Words:
    dates = [word for word in words if _DATE.fullmatch(word)]
    return (*dates, *(word for word in words if word not in dates)) if len(dates) == 1 else words


def extends(longer: Statement, shorter: Statement) -> bool:
    """Whether ``longer`` begins with all that ``shorter`` says, and only adds to it."""
    said = shorter.words
    weight = _weight(said)
    begun: list[str] = []
    for count, clause in enumerate(longer.clauses[:-1], start=1):
        begun += clause
        weight -= _weight(clause)
        if weight < 0:
            return False
        if weight == 0 and agree(tuple(begun), said):
            rest = (word for clause in longer.clauses[count:] for word in clause)
            return not any(word.lower() in TURNS for word in rest)
    return False


def _weight(words: Words) -> int:
    """How many of the words must be in both of two that agree."""
    return sum(word not in LIGHT for word in words)
