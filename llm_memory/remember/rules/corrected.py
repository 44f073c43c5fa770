"""Detects a text that repeats what a person has corrected. Pure.

The comparison tolerates the differences that deduplication tolerates (``statements``), and words
that were added before, after or between. Numbers, negations and the order of names must agree.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import compress
from typing import Final

from ...models.deeds import Deed, DeedKind
from ...models.turns import QueuedTurn
from ...text.dates.date_annotation import without_weekday_dates
from ...text.normalising import derived_id
from ...text.overlap import content
from ...text.same_meaning import LIGHT, PERSONS, TURNS
from ...text.scripts import simplified
from ...text.statements import Statement, Words, agree, extends, statement

_PIECE: Final = re.compile(
    r"(?:[^，,。！？!?；;：:…\n.]|[,:](?=\d)|\.(?=\w))+(?:[，,。！？!?；;：:…\n.]|\s)*|.", re.DOTALL
)
_MOST_CLAUSES: Final = 4
"""A statement is searched for in at most so many neighbouring clauses."""
_LEAST_WORDS: Final = 2
"""A shorter statement matches only a whole clause."""
_FEW_WORDS: Final = 4
"""A shorter statement must be at least half of a clause: 去北京 is in many."""
_LEAST_CLAUSE: Final = 3
"""A clause of a longer statement counts as a statement if it has so many words."""
_LEAST_SHARED: Final = 4
_SHARED, _NEW = 0.7, 0.2
"""A clause says a statement otherwise if it has this share of the statement's words, or if so few
of its own words are new. A Han character counts one, a word or number two."""
_POINTING: Final = frozenset({"这", "那", "此", "this", "that", "it"})
_MOST_COMMENT: Final = 6
"""A clause that begins with one of these and weighs no more, as above, may be a comment."""
_NAMED: Final = (
    (re.compile("(?:我|俺)(?!们)|用户|本人"), "{}"),
    (re.compile(r"\bI(?:'m| am)\b"), "{} is"),
    (re.compile(r"\b(?:I|the user)\b", re.IGNORECASE), "{}"),
    (re.compile(r"\bmy\b", re.IGNORECASE), "{}'s"),
)
_PERSON: Final = re.compile(
    "|".join(rf"\b{word}\b" if word.isascii() else word for word in sorted(PERSONS))
)
_ADDRESSED: Final = re.compile("(?:你|您)(?!们)")

type Mark = Callable[[str], str]
"""A keyed hash of a statement, hexadecimal."""


@dataclass(frozen=True)
class Removed:
    """A correction with its parsed statements, which are cached."""

    deed: Deed
    mark: Mark

    @cached_property
    def parts(self) -> tuple[Statement, ...]:
        """Returns the statement, and each of its clauses that is a statement itself."""
        found, said = list[Statement](), self.deed.words
        # People say 周六; the date is ours.
        for words in dict.fromkeys((said, without_weekday_dates(said))) if said else ():
            whole = statement(named(words, self.deed.who), self.deed.said_at)
            clauses = whole.clauses if len(whole.clauses) > 1 else ()
            told = [clause for clause in clauses if len(_heavy(clause)) >= _LEAST_CLAUSE]
            found += [whole, *(Statement((clause,), whole.vague) for clause in told)]
        return tuple(part for part in found if part.words)

    @cached_property
    def words(self) -> tuple[frozenset[str], ...]:
        """Returns the words of each part, without order."""
        return tuple(_folded(part.words) for part in self.parts)

    @cached_property
    def speaker(self) -> frozenset[str]:
        """Returns the words of its speaker's name."""
        return _folded(statement(self.deed.who, self.deed.said_at).words)

    def counts_otherwise(self, person: str | None) -> bool:
        """Returns whether in a text of this person, empty for one who is unknown, a clause that
        says the statement otherwise says it, too: not of what its speaker has taken back."""
        own = person is not None and person in ("", self.deed.person)
        return own and self.deed.kind is not DeedKind.TAKEN_BACK

    def may_be_in(
        self, clauses: Sequence[frozenset[str]], whole: frozenset[str], person: str | None
    ) -> bool:
        """A cheap prefilter: False if a text with these words cannot match. A match has all words
        of a part, or a clause with only words of the statement."""
        if not self.words:
            return False
        least = _LEAST_WORDS if self.counts_otherwise(person) else math.inf
        told = self.words[0]
        return any(part <= whole for part in self.words) or any(
            clause <= told or len(clause & told) >= least for clause in clauses
        )


def named(text: str, who: str) -> str:
    """Returns ``text`` with its speaker's name in place of the first person."""
    for pattern, put in _NAMED if who else ():
        text = pattern.sub(lambda _, put=put: put.format(who), text)  # type: ignore[misc]
    return text


def unread_id(ticket_id: str) -> str:
    """Returns the id of the memory that stands for a turn's words until it is read."""
    return derived_id("m", "unread", ticket_id)


def copies(turn: QueuedTurn) -> frozenset[str]:
    """Returns the ids of the memories of which a waiting turn is another copy."""
    return frozenset((*turn.stored, unread_id(turn.ticket_id)))


def answered(text: str, who: str) -> str:
    """Returns ``text``, said to a person, with that person's name in place of the second person."""
    return _ADDRESSED.sub(lambda _: who, simplified(text)) if who else text


def marks_of(removed: Removed) -> tuple[str, ...]:
    """Returns the hashes that identify a statement once its words are purged."""
    return tuple(dict.fromkeys(removed.mark(_plain(part.words)) for part in removed.parts))


def says(
    text: str, said_at: datetime, removed: Iterable[Removed], person: str | None = None
) -> bool:
    """Returns whether ``text``, as ``named`` returns it, says one of the removed statements, as a
    whole or in some clauses. ``said_at``: its relative dates are resolved from there. ``person``:
    who said it, empty if unknown; what that person had said counts in other words, too."""
    known, said = list(removed), statement(text, said_at)
    says_sealed = _of_sealed(known)
    return bool(says_sealed and says_sealed(said)) or _says_any(said, known, person)


def without(
    text: str,
    said_at: datetime,
    removed: Iterable[Removed],
    person: str | None = None,
    *,
    as_named: Callable[[str], str] = str,
) -> str:
    """Returns ``text`` without the clauses that say one of the removed statements. ``as_named``
    returns a text with names in place of personal pronouns."""
    known = list(removed)
    says_sealed = _of_sealed(known)
    near = list(_near(statement(as_named(text), said_at), known, person))
    if not (near or says_sealed):
        return text
    pieces = _PIECE.findall(text)
    kept = [True] * len(pieces)
    for length in range(1, _MOST_CLAUSES + 1):
        for first in range(len(pieces) - length + 1):
            some = slice(first, first + length)
            if not all(kept[some]):
                continue
            said = statement(as_named("".join(pieces[some])), said_at)
            if (says_sealed and says_sealed(said)) or _says_any(said, near, person):
                kept[some] = [False] * length
    return text if all(kept) else "".join(compress(pieces, kept)).strip()


def _of_sealed(removed: Iterable[Removed]) -> Callable[[Statement], bool] | None:
    """Returns what tells whether a text says a purged statement, None if there is none. Only hashes
    are known of these: the text's runs are hashed once, however many there are."""
    sealed = [one for one in removed if one.deed.marks]
    marks = frozenset(mark for one in sealed for mark in one.deed.marks)

    def says_sealed(said: Statement) -> bool:
        return not marks.isdisjoint(sealed[0].mark(_plain(run)) for run in _runs(said))

    return says_sealed if marks else None


def _says_any(said: Statement, removed: Iterable[Removed], person: str | None) -> bool:
    return any(says_one(said, one, person) for one in _near(said, removed, person))


def _near(said: Statement, removed: Iterable[Removed], person: str | None) -> Iterator[Removed]:
    """Yields the statements that the text may say."""
    clauses = [words for clause in said.clauses if (words := _folded(clause))]
    whole = frozenset[str]().union(*clauses)
    return (one for one in removed if one.may_be_in(clauses, whole, person))


def says_one(said: Statement, removed: Removed, person: str | None) -> bool:
    """Returns whether ``said`` says one removed statement, of which the words are known."""
    runs = list(_runs(said))
    if not said.words or not removed.parts:
        return False
    if extends(removed.parts[0], said):
        return True
    clauses = said.clauses if removed.counts_otherwise(person) else ()
    telling = [clause for clause in clauses if _says_otherwise(clause, removed)]
    telling += (
        part.words
        for part in removed.parts
        if extends(said, part) or any(_holds(some, part.words) for some in runs)
    )
    return not all(_is_comment(words, said, removed) for words in telling)


def _is_comment(clause: Words, said: Statement, removed: Removed) -> bool:
    """Returns whether a clause says of the others what may be said of many (``这是好事``): a few
    words that name nothing, less than half of the text and of the statement."""
    if clause[0].casefold() not in _POINTING or any(map(_is_number, clause)) or _names(clause):
        return False
    own = _weight(_folded(clause))
    wholes = _folded(said.words), removed.words[0]
    return own <= _MOST_COMMENT and 2 * own < min(map(_weight, wholes))


def _says_otherwise(clause: Words, removed: Removed) -> bool:
    """Returns whether ``clause`` has most of the words of a part, or hardly any others, in any
    order. Neither alone is negated or retracted, and it names no other number, person or thing."""
    said = _gist(clause, removed)
    parts = (part.words for part in removed.parts if len(said) >= _LEAST_WORDS)
    return any(_resembles(clause, said, words, _gist(words, removed)) for words in parts)


def _resembles(clause: Words, said: frozenset[str], part: Words, meant: frozenset[str]) -> bool:
    new, many = said - meant, max(_LEAST_SHARED, _SHARED * _weight(meant))
    if any(word in PERSONS or _is_number(word) for word in new) or (
        TURNS.isdisjoint(clause) != TURNS.isdisjoint(part)
        or _name_others(_names(clause) & said, _names(part) & meant)
    ):
        return False
    return _weight(new) <= _NEW * _weight(said) or _weight(said & meant) >= many


def _name_others(some: frozenset[str], others: frozenset[str]) -> bool:
    """Returns whether both name things, and none in common: PostgreSQL is Postgres."""
    pairs = [(one, other) for one in some for other in others]
    return bool(pairs) and not any(a.startswith(b) or b.startswith(a) for a, b in pairs)


def _names(words: Words) -> frozenset[str]:
    """Returns what names a thing by its writing: Latin words in Chinese, in English what has a
    capital letter inside a sentence."""
    latin = [word for word in words if word.isascii() and word[:1].isalpha()]
    if len(latin) == len(words):
        latin = [word for word in words[1:] if word[:1].isupper()]
    return frozenset(word.casefold() for word in latin)


def _is_number(word: str) -> bool:
    return any(map(str.isdigit, word))


def _weight(words: frozenset[str]) -> int:
    return sum(1 + word.isascii() for word in words)


def _gist(words: Words, removed: Removed) -> frozenset[str]:
    """Returns the words that say something, without those of the speaker's name."""
    return frozenset(word for word in _folded(words) if content(word)) - removed.speaker


def _runs(said: Statement) -> Iterator[Words]:
    """Yields the words of each run of neighbouring clauses."""
    for first in range(len(said.clauses)):
        for last in range(first + 1, min(first + _MOST_CLAUSES, len(said.clauses)) + 1):
            yield tuple(word for clause in said.clauses[first:last] for word in clause)


def _holds(words: Words, removed: Words) -> bool:
    """Returns whether ``words`` has all of ``removed``, in order and close together, about the same
    person, with the same negations and retractions."""
    wanted, there = _heavy(removed), _heavy(words)
    few = len(wanted) < _FEW_WORDS and 2 * len(wanted) < len(there)
    if few or len(wanted) < _LEAST_WORDS or _turns(wanted) != _turns(there):
        return agree(words, removed)
    most = len(wanted) + len(wanted) // 2
    firsts = (first for first, word in enumerate(there) if word == wanted[0])
    near = any(_begins(there[first : first + most], wanted) for first in firsts)
    return near or agree(words, removed)


def _begins(words: Words, wanted: Words) -> bool:
    """Returns whether ``words`` begins with ``wanted``, without a word for another person in
    between."""
    between = ""
    for word in wanted:
        if word not in words:
            return False
        place = words.index(word)
        between += " " + "".join(f" {one}" if one.isascii() else one for one in words[:place])
        words = words[place + 1 :]
    return _PERSON.search(between) is None


def _turns(words: Words) -> list[str]:
    return sorted(word for word in words if word in TURNS)


def _heavy(words: Words) -> Words:
    return tuple(word for word in words if word not in LIGHT)


def _folded(words: Words) -> frozenset[str]:
    """Returns the words in lower case, as at the beginning of a text."""
    return frozenset(word.casefold() for word in _heavy(words))


def _plain(words: Words) -> str:
    return "\n".join(_heavy(words))
