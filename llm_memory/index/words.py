"""The index of words: memories and pieces of notes alike, in memory, one inverted index for each
place. It is made of what lives, and nothing of a place shows where its name is not in the filter.

A posting is one whole number: from its highest bits down the term's number, the document's (24
bits), and how often the term stands in the text and around it (8 bits each). They lie in sorted
arrays, by blocks of documents: what a term has in a block is a slice of it.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, batched, chain, groupby
from math import inf
from operator import attrgetter
from typing import Final

from ..errors import IndexUnavailable
from ..models.passages import Key
from ..models.scope import ScopeFilter
from ..runtime.cooperative import cooperative
from ..text.overlap import content
from ..text.tokenizer import Tokenizer
from .arrays import Floats, Ints, np
from .cut_texts import Tokens, tokens_of
from .question import Question
from .records import WordMatch, WordMatches, WordQuery, WordRecord
from .scoring import BEFORE, Documents, Postings, best_places, follows, joined, preceding, scores

_BLOCK: Final = 8192
"""Neighbouring documents whose postings are written anew together, with each change."""
_COUNT, _DOCUMENT, _TERM = 8, 16, 40
_MOST: Final = (1 << _COUNT) - 1
_DOCUMENTS: Final = (1 << _TERM - _DOCUMENT) - 1
_AT_ONCE: Final = 256
"""Records that are put in while a search waits."""
_REMEASURE: Final = 0.2
"""A place of which so large a share was written or removed is measured again,"""
_SMALL: Final = 256
"""and one of at most so many documents after every change."""
_SAMPLED: Final = 30
"""Documents whose words tell whether a place's sessions hang together,"""
_TERMS: Final = 300
"""by so many of their words, or up to twice as many."""
_LEAST_AROUND: Final = 16
_AROUND_WORK: Final = 200_000
"""Terms of the talk before a question, times documents: so many are looked up, and 16 in any case.
They only order what is found, and what each costs grows with the store."""
_SCOPE: Final = attrgetter("scope")
_WITHOUT_DICTIONARY: Final = Tokenizer(use_jieba=False)


@dataclass(eq=False)
class _Part:
    """A place as it was at some moment: read without a lock, for nothing of it changes.

    Attributes:
        ids: Of the documents, by number; "" where a slot is empty.
        columns: Shape ``(4, N)``: tokens of the text, and of what stands around it; the session;
            the document's place there.
        blocks: Postings, of ``_BLOCK`` documents each.
    """

    place: _Place
    ids: tuple[str, ...]
    columns: Floats
    blocks: tuple[Ints, ...] = ()

    @cached_property
    def documents(self) -> Documents:
        """Worked out by who asks first."""
        text, around, sessions, at = self.columns
        session = sessions.astype(np.int64)
        share = self.place.follows(session, np.flatnonzero(text + around), self)
        previous = preceding(session, at)
        return Documents(text, text + around, session, previous, np.full(len(text), share))


class _Place:
    """Documents are numbered from 0. One that is changed keeps its number, and with it its place in
    a tie; that of one which is dropped is given to the next."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.numbers: dict[str, int] = {}
        self.terms: dict[str, int] = {}
        self.part = _Part(self, (), np.zeros((4, 0)))
        self._ids: list[str] = []
        self._free: list[int] = []
        self._sessions: dict[str, int] = {}
        self._follows = 0.0
        self._measured = self._changes = 0

    def put(self, rows: Sequence[tuple[WordRecord, Tokens]]) -> None:
        """Add or replace; no id twice."""
        ids = [record.key.memory_id for record, _ in rows]
        replaced = [self.numbers[one] for one in ids if one in self.numbers]
        numbers = [self._number_of(one) for one in ids]
        values = []
        for record, tokens in rows:
            session = self._sessions.setdefault(record.session, len(self._sessions))
            values.append((*(sum(one.values()) for one in tokens), session, record.at))
        room = len(self._ids) - len(self.part.ids)
        columns = np.hstack([self.part.columns, np.zeros((4, room))])
        columns[:, numbers] = np.transpose(values)
        self._change(columns, self._postings(numbers, [tokens for _, tokens in rows]), replaced)
        self._changes += len(rows)

    def _number_of(self, memory_id: str) -> int:
        """Its own, else a new one."""
        if memory_id not in self.numbers:
            if not self._free:
                self._free.append(len(self._ids))
                self._ids.append("")
            self.numbers[memory_id] = self._free.pop()
            self._ids[self.numbers[memory_id]] = memory_id
        return self.numbers[memory_id]

    def _postings(self, documents: Sequence[int], cut: Sequence[Tokens]) -> Ints:
        """What they hold, sorted."""
        columns: list[list[int]] = [[], [], [], []]
        numbers = self.terms
        for document, (text, around) in zip(documents, cut, strict=True):
            terms = [*text, *(term for term in around if term not in text)]
            columns[0] += [numbers.setdefault(term, len(numbers)) for term in terms]
            columns[1] += [document] * len(terms)
            columns[2] += [text.get(term, 0) for term in terms]
            columns[3] += [around.get(term, 0) for term in terms]
        term, place, said, beside = (np.array(one, dtype=np.int64) for one in columns)
        counts = np.minimum(said, _MOST) << _COUNT | np.minimum(beside, _MOST)
        return np.sort(term << _TERM | place << _DOCUMENT | counts)

    def drop(self, ids: Collection[str]) -> None:
        """Unknown ones are ignored."""
        gone = [self.numbers.pop(one) for one in ids if one in self.numbers]
        for number in gone:
            self._ids[number] = ""
        columns = self.part.columns.copy()
        columns[:3, gone], columns[3, gone] = 0, inf  # nothing comes after it in a session
        self._change(columns, columns[0, :0].astype(int), gone)
        self._free += gone
        self._changes += len(gone)

    def _change(self, columns: Floats, added: Ints, gone: Collection[int]) -> None:
        """Take out the postings of some documents, and then put others in."""
        away = np.array([*gone], dtype=np.int64)
        blocks = list(self.part.blocks)
        for at in np.unique(np.append(away, _documents(added)) // _BLOCK).tolist():
            blocks += [added[:0]] * (at + 1 - len(blocks))
            kept, own = blocks[at], added[_documents(added) // _BLOCK == at]
            if len(away):
                kept = kept[~np.isin(_documents(kept), away)]
            blocks[at] = np.insert(kept, kept.searchsorted(own), own)
        self.part = _Part(self, tuple(self._ids), columns, tuple(blocks))

    def follows(self, session: Ints, living: Ints, part: _Part) -> float:
        """How far neighbours have to do with each other, as it was measured not long ago."""
        if self._changes > (self._measured * _REMEASURE if self._measured > _SMALL else 0):
            self._measured, self._changes = len(session), 0
            many = min(_SAMPLED, len(living))
            some = living[np.linspace(0, max(len(living) - 1, 0), many).astype(int)]
            names = list(self.terms)
            held = (one[np.isin(_documents(one), some)] >> _TERM for one in part.blocks)
            terms = sorted({names[number] for one in held for number in one.tolist()})
            tokens = _found([(0, part)], terms[:: max(1, len(terms) // _TERMS)])
            self._follows = follows(session, living, tokens)
        return self._follows


class Words:
    """One place beside the other: what is not in the filter is not looked at, and a private word
    changes nothing of what others find. Any thread may use it; every method blocks. Raises
    IndexUnavailable: ``no_numpy``.

    Args:
        tokenizer: That by which the records were cut.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._lock = threading.Lock()
        self._places: dict[str, _Place] = {}

    def put(self, rows: Sequence[tuple[WordRecord, Tokens]]) -> None:
        """Add or replace; of equal keys the last wins."""
        latest = {record.key: (record, tokens) for record, tokens in rows}
        parts: dict[str, _Part] = {}
        for name, keys in groupby(sorted(latest, key=_SCOPE), _SCOPE):
            for some in cooperative(batched(keys, _AT_ONCE)):
                with self._lock:
                    place = self._places.setdefault(name, _Place(name))
                    place.put([latest[key] for key in some])
                    parts[name] = place.part
        for part in parts.values():
            _ = part.documents  # worked out here, no search waits for it

    def drop(self, keys: Collection[Key]) -> None:
        """Unknown keys are ignored."""
        for name, own in groupby(sorted(keys, key=_SCOPE), _SCOPE):
            with self._lock:
                if (place := self._places.get(name)) is not None:
                    place.drop([key.memory_id for key in own])
                    if not place.numbers:  # its words go with it
                        del self._places[name]

    def search(self, query: WordQuery, seen: ScopeFilter, k: int) -> WordMatches:
        """At most ``k`` visible records that share a word with the query. Those that hold every
        word of its subject are among them, as far as ``k`` goes."""
        question = Question.read(self._tokenizer, query)
        parts: list[_Part] = []
        if question.terms and k > 0:
            with self._lock:
                names = sorted(self._places if seen.everything else seen.names)
                parts = [
                    self._places[name].part
                    for name in names
                    if name in self._places and seen.admits(name)
                ]
        if not parts:
            return WordMatches()
        firsts = [0, *accumulate(len(part.ids) for part in parts)]
        documents = joined([part.documents for part in parts])
        around = question.around[: max(_LEAST_AROUND, _AROUND_WORK // firsts[-1])]
        tokens = _found(list(zip(firsts, parts, strict=False)), (*question.terms, *around))
        counted = np.array([*question.counted(), *(BEFORE for _ in around)])
        score, text = scores(documents, tokens, counted)
        tokens = tokens.first(len(question.terms))
        holders = question.held_whole(tokens, firsts[-1])
        places = best_places(score, k, holders)
        covered = question.covered(documents, tokens, places, carried=query.carried)
        best = float(score[places[0]]) if len(places) else 1.0
        matches = []
        whole, alone = (score[places] / best).tolist(), text[places].tolist()
        for place, of_all, of_text, share in zip(
            places.tolist(), whole, alone, covered, strict=True
        ):
            at = bisect_right(firsts, place) - 1
            key = Key(parts[at].place.name, parts[at].ids[place - firsts[at]])
            matches.append(WordMatch(key, of_all, of_text, share))
        return WordMatches(tuple(matches), int(np.count_nonzero(holders)))


def coverages(query: WordQuery, records: Sequence[WordRecord]) -> list[float]:
    """How much of the question each record speaks of, 0 to 1: see ``WordMatch``. For a few that no
    index tells of; without a dictionary, and roughly without numpy. Blocks."""
    question = Question.read(_WITHOUT_DICTIONARY, replace(query, around=""))
    if not question.terms or not records:
        return [0.0] * len(records)
    try:
        place = _Place("")
    except IndexUnavailable:
        wanted = content(query.subject)
        return [len(wanted & content(one.text)) / max(len(wanted), 1) for one in records]
    named = [replace(one, key=Key("", str(at))) for at, one in enumerate(records)]
    place.put([(one, tokens_of(one, _WITHOUT_DICTIONARY)) for one in cooperative(named)])
    tokens = _found([(0, place.part)], question.terms)
    every = np.arange(len(records))
    return question.covered(place.part.documents, tokens, every, carried=query.carried)


def _found(parts: Sequence[tuple[int, _Part]], terms: Sequence[str]) -> Postings:
    """Where each of ``terms`` stands, in parts of which each has the number of its first document
    among all."""
    standing: list[list[Ints]] = [[] for _ in terms]
    for first, part in parts:
        numbers = part.place.terms
        known = {at: numbers[term] for at, term in enumerate(terms) if term in numbers}
        low = np.array([*known.values()], dtype=np.int64) << _TERM
        for block in part.blocks:
            begins, ends = block.searchsorted(low), block.searchsorted(low + (1 << _TERM))
            for at, least, begin, end in zip(known, low, begins, ends, strict=True):
                standing[at].append(block[begin:end] - least + (first << _DOCUMENT))
    row = np.repeat(np.arange(len(terms)), [sum(map(len, some)) for some in standing])
    every = np.concatenate([np.zeros(0, dtype=np.int64), *chain.from_iterable(standing)])
    text, context = (every >> _COUNT & _MOST).astype(float), (every & _MOST).astype(float)
    return Postings(row, every >> _DOCUMENT, text, context)


def _documents(postings: Ints) -> Ints:
    return postings >> _DOCUMENT & _DOCUMENTS
