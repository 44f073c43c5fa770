"""The index of words: memories and pieces of notes alike, in memory, one for each place. What it
holds is made of what lives, and asked for nothing that its place is not asked for."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, batched
from math import inf
from typing import Final

from ..errors import IndexUnavailable
from ..models.passages import Key
from ..models.scope import ScopeFilter
from ..runtime.cooperative import cooperative
from ..storage.imports import import_whole
from ..text.overlap import content
from ..text.tokenizer import Tokenizer
from .cut_texts import Tokens, tokens_of
from .postings import PostingLists, found
from .question import Question
from .records import WordMatch, WordMatches, WordQuery, WordRecord
from .scoring import (
    BEFORE,
    Documents,
    Floats,
    Ints,
    best_places,
    follows,
    joined,
    preceding,
    scores,
)

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
_WITHOUT_DICTIONARY: Final = Tokenizer(use_jieba=False)


@dataclass(eq=False)
class _Part:
    """A place as it was at some moment: read without a lock, for nothing of it changes.

    Attributes:
        ids: Of the documents, by number; None where a slot is empty.
        columns: Shape ``(4, N)``: tokens of the text, and of what stands around it; the session;
            the document's place there.
    """

    place: _Place
    ids: tuple[str | None, ...]
    columns: Floats
    lists: PostingLists

    @cached_property
    def documents(self) -> Documents:
        """Worked out by who asks first."""
        import numpy as np

        text, around, sessions, at = self.columns
        session = sessions.astype(np.int64)
        share = self.place.follows(session, np.flatnonzero(text + around), self.lists)
        previous = preceding(session, at)
        return Documents(text, text + around, session, previous, np.full(len(text), share))


class _Place:
    """Documents are numbered from 0. One that is changed keeps its number, and with it its place in
    a tie; that of one which is dropped is given to the next."""

    def __init__(self, name: str) -> None:
        import numpy as np

        self.name = name
        self.numbers: dict[str, int] = {}
        self.part = _Part(self, (), np.zeros((4, 0)), PostingLists({}))
        self._ids: list[str | None] = []
        self._hashes: list[str] = []
        self._free: list[int] = []
        self._sessions: dict[str, int] = {}
        self._follows = 0.0
        self._measured = self._changes = 0

    def put(self, rows: Sequence[tuple[WordRecord, Tokens]]) -> None:
        """Add or replace; no id twice."""
        import numpy as np

        ids = [record.key.memory_id for record, _ in rows]
        replaced = [self.numbers[one] for one in ids if one in self.numbers]
        numbers = [self._number_of(one) for one in ids]
        values = []
        for number, (record, tokens) in zip(numbers, rows, strict=True):
            self._hashes[number] = record.content_hash
            session = self._sessions.setdefault(record.session, len(self._sessions))
            values.append((*(sum(one.values()) for one in tokens), session, record.at))
        room = len(self._ids) - len(self.part.ids)
        columns = np.hstack([self.part.columns, np.zeros((4, room))])
        columns[:, numbers] = np.transpose(values)
        new = [(number, tokens) for number, (_, tokens) in zip(numbers, rows, strict=True)]
        self._changed(columns, new, replaced)

    def _number_of(self, memory_id: str) -> int:
        """Its own, else a new one."""
        if memory_id not in self.numbers:
            if not self._free:
                self._free.append(len(self._ids))
                self._ids.append(None)
                self._hashes.append("")
            self.numbers[memory_id] = self._free.pop()
            self._ids[self.numbers[memory_id]] = memory_id
        return self.numbers[memory_id]

    def drop(self, ids: Collection[str]) -> None:
        """Unknown ones are ignored."""
        gone = [self.numbers.pop(one) for one in ids if one in self.numbers]
        for number in gone:
            self._ids[number] = None
        self._free += gone
        columns = self.part.columns.copy()
        columns[:, gone] = [[0], [0], [0], [inf]]  # nothing comes after it in its session
        self._changed(columns, (), gone)

    def _changed(
        self, columns: Floats, new: Sequence[tuple[int, Tokens]], gone: Collection[int]
    ) -> None:
        lists = self.part.lists.rewritten(new, gone)
        self.part = _Part(self, tuple(self._ids), columns, lists)
        self._changes += len(new) or len(gone)

    def hashes(self) -> list[tuple[str, str]]:
        """Ids and content hashes."""
        return [(one, self._hashes[number]) for one, number in self.numbers.items()]

    def follows(self, session: Ints, living: Ints, lists: PostingLists) -> float:
        """How far neighbours have to do with each other, as it was measured not long ago."""
        import numpy as np

        if self._changes > (self._measured * _REMEASURE if self._measured > _SMALL else 0):
            self._measured, self._changes = len(session), 0
            many = min(_SAMPLED, len(living))
            some = living[np.linspace(0, max(len(living) - 1, 0), many).astype(int)]
            terms = sorted(lists.terms_of(some))
            tokens = found([(0, lists)], terms[:: max(1, len(terms) // _TERMS)])
            self._follows = follows(session, living, tokens)
        return self._follows


class Words:
    """One place beside the other: what is not in the filter is not looked at, and a private word
    changes nothing of what others find. Any thread may use it; ``put``, ``drop`` and ``search``
    block. Raises IndexUnavailable, ``no_numpy``, where numpy cannot be imported.

    Args:
        tokenizer: That by which the records were cut.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._lock = threading.Lock()
        self._places: dict[str, _Place] = {}

    def __len__(self) -> int:
        with self._lock:
            return sum(len(place.numbers) for place in self._places.values())

    def hashes(self) -> dict[Key, str]:
        """Content hashes of all records."""
        with self._lock:
            known = [(name, place.hashes()) for name, place in self._places.items()]
        rows = ((name, *row) for name, some in known for row in some)
        return {Key(name, one): content_hash for name, one, content_hash in cooperative(rows)}

    def put(self, rows: Sequence[tuple[WordRecord, Tokens]]) -> None:
        """Add or replace; of equal keys the last wins."""
        _need_numpy()
        by_place: dict[str, list[tuple[WordRecord, Tokens]]] = defaultdict(list)
        for row in {record.key: (record, tokens) for record, tokens in rows}.values():
            by_place[row[0].key.scope].append(row)
        for name, own in by_place.items():
            for some in cooperative(batched(own, _AT_ONCE)):
                with self._lock:
                    self._places.setdefault(name, _Place(name)).put(some)

    def drop(self, keys: Collection[Key]) -> None:
        """Unknown keys are ignored."""
        by_place: dict[str, set[str]] = defaultdict(set)
        for key in keys:
            by_place[key.scope].add(key.memory_id)
        for name, ids in by_place.items():
            with self._lock:
                if (place := self._places.get(name)) is not None:
                    place.drop(ids)
                    if not place.numbers:  # its words go with it
                        del self._places[name]

    def search(self, query: WordQuery, seen: ScopeFilter, k: int) -> WordMatches:
        """At most ``k`` visible records that share a word with the query. Those that hold every
        word of its subject are among them, as far as ``k`` goes."""
        _need_numpy()
        import numpy as np

        question = Question.read(self._tokenizer, query)
        parts = self._look(seen) if question.terms and k > 0 else []
        if not parts:
            return WordMatches()
        firsts = [0, *accumulate(len(part.ids) for part in parts)]
        documents = joined([part.documents for part in parts])
        around = question.around[: max(_LEAST_AROUND, _AROUND_WORK // firsts[-1])]
        lists = list(zip(firsts, (part.lists for part in parts), strict=False))
        tokens = found(lists, (*question.terms, *around))
        counted = np.array([*question.counted(), *(BEFORE for _ in around)])
        score = scores(documents, tokens, counted)
        tokens = tokens.first(len(question.terms))
        holders = question.held_whole(tokens, firsts[-1])
        places = best_places(score, k, holders)
        covered = question.covered(documents, tokens, places, carried=query.carried)
        best = float(score[places[0]]) if len(places) else 1.0
        matches = []
        for place, own, share in zip(places.tolist(), score[places].tolist(), covered, strict=True):
            at = bisect_right(firsts, place) - 1
            memory_id = parts[at].ids[place - firsts[at]]
            assert memory_id is not None, "an empty slot has no score"  # noqa: S101
            matches.append(WordMatch(Key(parts[at].place.name, memory_id), own / best, share))
        return WordMatches(tuple(matches), int(np.count_nonzero(holders)))

    def _look(self, seen: ScopeFilter) -> list[_Part]:
        """What the filter admits, and nothing else."""
        with self._lock:
            names = sorted(self._places if seen.everything else seen.names)
            known = (self._places.get(name) for name in names if seen.admits(name))
            return [place.part for place in known if place is not None]


def coverages(query: WordQuery, records: Sequence[WordRecord]) -> list[float]:
    """How much of the question each record speaks of, 0 to 1: see ``WordMatch``. For a few that no
    index tells of; without a dictionary, and roughly without numpy. Blocks."""
    tokenizer = _WITHOUT_DICTIONARY
    question = Question.read(tokenizer, replace(query, around=""))
    if not question.terms or not records:
        return [0.0] * len(records)
    cut = [tokens_of(record, tokenizer) for record in cooperative(records)]
    try:
        import numpy as np
    except ImportError:
        wanted = content(query.subject)
        return [len(wanted & content(one.text)) / max(len(wanted), 1) for one in records]
    place = _Place("")
    named = (replace(one, key=Key("", str(at))) for at, one in enumerate(records))
    place.put(list(zip(named, cut, strict=True)))
    tokens = found([(0, place.part.lists)], question.terms)
    documents = place.part.documents
    return question.covered(documents, tokens, np.arange(len(cut)), carried=query.carried)


def _need_numpy() -> None:
    try:
        import_whole("numpy")
    except ImportError as error:
        raise IndexUnavailable(f"no numpy: {error}", code="no_numpy") from error
