"""Which of several statements of one thing comes first: the newest; of history the oldest. Pure.

A statement of March is no lie because it was said otherwise in May; but who reads both
without a hint takes the first for the answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Set
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cache, partial
from itertools import islice
from typing import Final

from ...catalogue.rules.closing import closed_by
from ...catalogue.rules.timeline import is_digest
from ...models.data_models import StoredMemory
from ...models.passages import Passage, place_name
from ...text.content_words import WIDE, content
from .later_place import tells_a_later_place
from .questions.change import Wanted, states_a_change
from .ranking import Candidate, Sifted
from .spoken_corrections import VALUE, SpokenCorrection, weight

_LOOKED_AT: Final = 20
"""Of the best: what stands further back is hardly shown."""
_SHARED: Final = 0.5
"""Of the content of the shorter one."""
_LEAST: Final = 3
"""Shared, where a Han character counts one and a word two."""
_NAMED: Final = 2
"""Shared by a question and two answers: a name, or a word."""
_NAMED_THING: Final = 4
"""The same of one thing: of a name alone, whatever is told of its bearer has it."""
_HALF: Final = 0.5
"""Of what the older one says of the question, the newer one says so much."""
_NEARLY: Final = 0.6
"""This part of the older one's match is asked of what says something newer: it answers, too."""
_BEGINNING: Final = 12
"""Bytes that two statements of one thing begin with, where the newer one does not say that it
changed: four Han characters, or two words."""


_ASKS_FOR: Final = re.compile(
    r"谁|哪|什么|啥|咋|几|多[少久大远长]|怎么|\b(?:who|whose|what|which|where|when|how)\b",
    re.IGNORECASE,
)
_ASKS_IN_HAN: Final = re.compile("谁|哪[里儿个家]?|什么|啥|咋|怎么|几|多[少久大远长]")
_OTHER_WORDS: Final = re.compile("住院|教[室练授材]|[放开]学|吃[惊亏力]|放[心假]|开心")
"""In which what a question asks with, 住在哪里, is no verb."""
_IS_ASKED: Final = re.compile(r"(?:[?？]|[吗么]|来着)[。.~～]*\s*$")
_PIECE: Final = re.compile(r"[0-9A-Za-z']+|\S")
_SUBJECT: Final = 2
"""Pieces that two statements begin with, of which one replaces the other: 夜跑, "The plot"."""
_COMPARED: Final = 100
"""Pieces of a statement: the time goes by their square, and the bot waits for it."""


@dataclass(frozen=True, slots=True, eq=False)
class _Statement:
    """A memory among the candidates, by the place at which it stands."""

    place: int
    stored: StoredMemory
    about: frozenset[str]
    numbers: frozenset[str]
    """Of that, numbers and days: they are what changes of a thing."""
    named: frozenset[str]
    """What the question is about, too."""
    match: float
    pieces: list[str]
    values: list[str]
    changes: bool
    """Whether it says itself that something changed."""
    asked_for: frozenset[str]
    """Of what the question names, too, the Han characters nearest to the word that asks."""
    letters: Set[str]
    """Its characters but for those of ``_OTHER_WORDS`` that the question has not."""
    asks: bool
    """Whether it is a question itself."""
    correction: SpokenCorrection | None = None
    is_below: bool = False
    """Whether it is below the floor."""

    @classmethod
    def of(
        cls,
        place: int,
        candidate: Candidate,
        question: str,
        asked: frozenset[str],
        is_unread: Callable[[Passage], bool],
    ) -> _Statement | None:
        """None for a note."""
        stored = candidate.passage
        if not isinstance(stored, StoredMemory):
            return None
        correction = SpokenCorrection.of(stored.memory) if is_unread(stored) else None
        text = stored.memory.judgment
        about, values = content(text), VALUE.findall(text)
        return cls(
            place,
            stored,
            about,
            about & content(" ".join(values)),
            about & asked,
            _match(candidate),
            _pieces(text, _COMPARED),
            values,
            states_a_change(text),
            _asked_for(question, about & asked),
            set(_OTHER_WORDS.sub(lambda word: word[0] * (word[0] in question), text)),
            _IS_ASKED.search(text) is not None,
            correction,
        )

    def is_corrected_by(self, other: _Statement) -> bool:
        """Whether ``other`` says so, to the same people, and no reader has judged it yet."""
        if other.correction is None or place_name(self.stored) != place_name(other.stored):
            return False
        return other.correction.corrects(self.stored.memory)

    def was_elsewhere(self, other: _Statement, question: str) -> bool:
        """Whether ``other`` says later, to the same people, where what is asked for is."""
        if other.match < _NEARLY * self.match or not self._is_followed_by(other):
            return False
        old, new = self.stored.memory, other.stored.memory
        return tells_a_later_place(old.judgment, new.judgment, question)

    def was_so_until(self, other: _Statement, is_of_another: _OfAnother) -> bool:
        """Whether ``other`` says later, to the same people, what may answer the question, too: how
        it is now."""
        if place_name(self.stored) != place_name(other.stored):
            return False
        old, new = self.stored.memory, other.stored.memory
        if old.created_at >= new.created_at or other.match < _HALF * self.match:
            return False
        if new.quoted or closed_by(new) or is_digest(new) or is_digest(old):
            return False
        if weight(self.named & other.named) < _NAMED:
            return False
        shared, half = weight(other.named), _HALF * weight(self.named)
        if shared < half or other.asks:
            return False
        # One of two words, choir of choir rehearsal, is something else; two characters are a name.
        if shared == half and not WIDE.search("".join(other.named)):
            return False
        # 外婆把药盒放在床头 has the name in common with 外婆的药怎么吃, and tells nothing of it.
        if not other.changes and not self.asked_for <= other.letters:
            return False
        return not is_of_another(self, other)

    def is_replaced_by(self, other: _Statement) -> bool:
        """Whether ``other`` says later, to the same people, that just this has changed: then it is
        the answer, in whichever words the question asks."""
        if not other.changes or other.asks or not self._is_followed_by(other):
            return False
        if self.pieces[:_SUBJECT] != other.pieces[:_SUBJECT]:
            return False
        one, two = (said.about - said.numbers for said in (self, other))
        longer = max(weight(one), weight(two))
        return weight(one & two) >= max(_NAMED_THING, _SHARED * longer)

    def is_before(self, other: _Statement, wanted: Wanted, is_of_another: _OfAnother) -> bool:
        """Whether ``other`` says something newer of the same thing."""
        if self.is_corrected_by(other) or (other.is_below and self.is_replaced_by(other)):
            return True
        old, new = self.stored.memory, other.stored.memory
        if old.created_at >= new.created_at or other.match < _NEARLY * self.match:
            return False
        once = wanted is Wanted.NEWEST  # what did she cook
        if not (self._speaks_of(other) or (not once and self._is_asked_as(other))) or other.asks:
            return False
        if new.quoted or is_digest(new) or closed_by(new):
            return False
        asked = wanted is not Wanted.ANY or other.changes
        if not asked and not self._differs_in_a_value(other):
            return False
        return not is_of_another(self, other)

    def _is_followed_by(self, other: _Statement) -> bool:
        """Whether ``other`` was said later, to the same people, and both still stand as a speaker's
        own words."""
        old, new = self.stored.memory, other.stored.memory
        return (
            old.created_at < new.created_at
            and place_name(self.stored) == place_name(other.stored)
            and not any(one.quoted or is_digest(one) or closed_by(one) for one in (old, new))
        )

    def _speaks_of(self, other: _Statement) -> bool:
        """Whether both are about one thing, in other words."""
        if self.about == other.about:
            return False
        shared = self.about & other.about
        least = min(weight(one.about - (one.numbers - shared)) for one in (self, other))
        return weight(shared) >= max(_LEAST, _SHARED * least)

    def _is_asked_as(self, other: _Statement) -> bool:
        """Whether ``other``, which says that something changed, has all of the question that this
        one has, and more than one word of it."""
        return (
            other.changes
            and weight(self.named) >= _NAMED_THING
            and self.named <= other.named
            and self.about != other.about
        )

    def _differs_in_a_value(self, other: _Statement) -> bool:
        """Whether both begin alike and name other numbers or days: 排练在周三, 排练在周日."""
        one, two = (said.stored.memory.judgment[:_BEGINNING] for said in (self, other))
        if one.encode()[:_BEGINNING] != two.encode()[:_BEGINNING]:
            return False
        return bool(self.values) and bool(other.values) and self.values != other.values


_OfAnother = Callable[[_Statement, _Statement], bool]
"""Of an older and a newer one."""


def newest_first(
    sifted: Sifted,
    wanted: Wanted,
    question: str = "",
    is_unread: Callable[[Passage], bool] = lambda _: False,
) -> Sifted:
    """The relevant ones, none before what says something newer of the same thing; for history, none
    before what is older. What has a newer one is ``earlier`` either way.

    Where the question does not ask for either, the newer one has to say itself that something
    changed, or both begin alike and differ in a number or a day. What is told of another than the
    one whom the question names is no newer statement. Where a thing was said to be last comes
    before where it was said to be earlier, unmarked: there may be two. So does, where the question
    is how something is now, what was said last of that which it names.

    Args:
        is_unread: Tells what was not compared yet with what it corrects. That comes before it
            however few words of the question it has, and beside it if it was below the floor. So
            does what says in much the same words that something changed.
    """
    asked = content(question)
    is_of_another = cache(partial(_is_of_another, question))
    known = {
        place: one
        for place, candidate in enumerate(sifted.best[:_LOOKED_AT])
        if (one := _Statement.of(place, candidate, question, asked, is_unread)) is not None
    }
    corrections = _corrections(known.values(), sifted, question, asked, is_unread)
    best = [*sifted.best, *(sifted.below[place] for place in corrections)]
    below = [one for place, one in enumerate(sifted.below) if place not in corrections]
    for place, one in enumerate(corrections.values(), start=len(sifted.best)):
        known[place] = replace(one, place=place, is_below=True)
    newer = {
        place: [other for other in known.values() if one.is_before(other, wanted, is_of_another)]
        for place, one in known.items()
    }
    older: dict[int, list[_Statement]] = {place: [] for place in known}
    for place, ones in newer.items():
        for one in ones:
            older[one.place].append(known[place])
    is_history = wanted is Wanted.HISTORY
    first = (
        older
        if is_history
        else {
            place: [
                *newer[place],
                *(
                    other
                    for other in known.values()
                    if one.was_elsewhere(other, question)
                    or (wanted is Wanted.NOW and one.was_so_until(other, is_of_another))
                ),
            ]
            for place, one in known.items()
        }
    )
    order: dict[int, None] = {}

    seen: set[int] = set()

    def put(place: int) -> None:
        """Behind what comes before it, and that behind what comes before that."""
        if place in seen:
            return
        seen.add(place)
        ahead = sorted(
            first.get(place, ()),
            key=lambda one: one.stored.memory.created_at,
            reverse=not is_history,
        )
        for one in ahead:
            put(one.place)
        order[place] = None

    for place in range(len(best)):
        put(place)
    ordered = [
        replace(best[place], earlier=True) if newer.get(place) else best[place] for place in order
    ]
    return Sifted(ordered, below)


def _corrections(
    known: Collection[_Statement],
    sifted: Sifted,
    question: str,
    asked: frozenset[str],
    is_unread: Callable[[Passage], bool],
) -> dict[int, _Statement]:
    """By their places below the floor, what was said to correct something above it, or says that
    it has changed."""
    found: dict[int, _Statement] = {}
    beginnings = {tuple(one.pieces[:_SUBJECT]) for one in known}
    for place, candidate in enumerate(sifted.below):
        passage = candidate.passage
        if not is_unread(passage) and _beginning(passage) not in beginnings:
            continue  # reading it takes longer than that
        one = _Statement.of(place, candidate, question, asked, is_unread)
        if one is not None and any(
            other.is_corrected_by(one) or other.is_replaced_by(one) for other in known
        ):
            found[place] = one
    return found


def _beginning(passage: Passage) -> tuple[str, ...]:
    """The first pieces of a memory, nothing of a note."""
    text = passage.memory.judgment if isinstance(passage, StoredMemory) else ""
    return tuple(_pieces(text, _SUBJECT))


def _pieces(text: str, most: int) -> list[str]:
    return [piece[0] for piece in islice(_PIECE.finditer(text), most)]


def _match(candidate: Candidate) -> float:
    """How well its words answer: 月底 in the question lifts what says 月底, newer or not."""
    return candidate.order if candidate.match is None else candidate.match


def _asked_for(question: str, named: frozenset[str]) -> frozenset[str]:
    """住 of 现在住在哪里, 吃 of 怎么吃, as far as they are ``named``."""
    asks = [*_ASKS_IN_HAN.finditer(question)]
    if not asks:
        return frozenset()
    first, last = asks[-1].span()
    far: dict[int, set[str]] = {}
    for place, one in enumerate(question):
        if one in named and WIDE.fullmatch(one) and not first <= place < last:
            far.setdefault(max(first - place, place - last + 1), set()).add(one)
    return frozenset(far[min(far)]) if far else frozenset()


def _is_of_another(question: str, old: _Statement, new: _Statement) -> bool:
    """Whether they differ in what the question names, and in what it asks for: of Jack, who is 8,
    and of Mark, who is 5."""
    if old.named <= new.named or not _ASKS_FOR.search(question):
        return False
    before = old.pieces
    steps = SequenceMatcher(None, before, new.pieces, autojunk=False).get_opcodes()
    replaced = [(first, last) for step, first, last, *_ in steps if step == "replace"]
    asked = "\0".join(["", *_PIECE.findall(question), ""])
    return len(replaced) > 1 and any(
        "\0".join(["", *before[first:last], ""]) in asked
        and weight([one for one in before[first:last] if content(one)]) > 1
        and (_is_ordinal(before, first) or not VALUE.fullmatch("".join(before[first:last])))
        for first, last in replaced
    )


def _is_ordinal(pieces: list[str], place: int) -> bool:
    """Whether a number names one of many: 第3号用户 is not 第989号用户, however alike they are."""
    return place > 0 and pieces[place - 1] == "第"
