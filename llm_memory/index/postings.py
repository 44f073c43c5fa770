"""In which documents a term stands, as sorted arrays. A document is a number here: ``words`` knows
whose it is.

A posting is one whole number: from its highest bits down the term's number, the document's (24
bits), and how often the term stands in the text and in the context (8 bits each).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain
from typing import Final, NamedTuple

from .cut_texts import Tokens
from .scoring import Ints, Postings

_BLOCK: Final = 8192
"""Neighbouring documents whose postings lie together: so few are written anew with each change."""
_COUNT, _DOCUMENT, _TERM = 8, 16, 40
_MOST: Final = (1 << _COUNT) - 1
_DOCUMENTS: Final = (1 << _TERM - _DOCUMENT) - 1


class PostingLists(NamedTuple):
    """Blocks of ``_BLOCK`` documents, each a sorted array: what a term has there is a slice of it.
    Nothing of it ever changes but ``numbers``, which grows: it is read without a lock."""

    numbers: dict[str, int]  # of each term
    blocks: tuple[Ints, ...] = ()

    def rewritten(
        self, new: Sequence[tuple[int, Tokens]], gone: Collection[int] = ()
    ) -> PostingLists:
        """Without what documents that are ``gone`` had, and then with ``new`` ones."""
        import numpy as np

        added, away = self._packed(new), np.array([*gone], dtype=np.int64)
        blocks = list(self.blocks)
        for at in np.unique(np.append(away, _documents(added)) // _BLOCK).tolist():
            blocks += [added[:0]] * (at + 1 - len(blocks))
            kept, own = blocks[at], added[_documents(added) // _BLOCK == at]
            if len(away):
                kept = kept[~np.isin(_documents(kept), away)]
            blocks[at] = np.insert(kept, kept.searchsorted(own), own)
        return self._replace(blocks=tuple(blocks))

    def _packed(self, rows: Sequence[tuple[int, Tokens]]) -> Ints:
        """The postings of some documents, sorted."""
        import numpy as np

        columns: list[list[int]] = [[], [], [], []]
        numbers = self.numbers
        for document, (text, context) in rows:
            terms = [*text, *(term for term in context if term not in text)]
            columns[0] += [numbers.setdefault(term, len(numbers)) for term in terms]
            columns[1] += [document] * len(terms)
            columns[2] += [text.get(term, 0) for term in terms]
            columns[3] += [context.get(term, 0) for term in terms]
        number, place, said, around = (np.array(one, dtype=np.int64) for one in columns)
        counts = np.minimum(said, _MOST) << _COUNT | np.minimum(around, _MOST)
        return np.sort(number << _TERM | place << _DOCUMENT | counts)

    def terms_of(self, documents: Ints) -> set[str]:
        """All that some documents hold."""
        import numpy as np

        names = list(self.numbers)
        held = (one[np.isin(_documents(one), documents)] >> _TERM for one in self.blocks)
        return {names[number] for some in held for number in some.tolist()}


def found(lists: Sequence[tuple[int, PostingLists]], terms: Sequence[str]) -> Postings:
    """Where each of ``terms`` stands, among lists of which each has the number of its first
    document."""
    import numpy as np

    standing: list[list[Ints]] = [[] for _ in terms]
    for first, (numbers, blocks) in lists:
        known = {at: numbers[term] for at, term in enumerate(terms) if term in numbers}
        low = np.array([*known.values()], dtype=np.int64) << _TERM
        for block in blocks:
            begins, ends = block.searchsorted(low), block.searchsorted(low + (1 << _TERM))
            for at, least, begin, end in zip(known, low, begins, ends, strict=True):
                standing[at].append(block[begin:end] - least + (first << _DOCUMENT))
    row = np.repeat(np.arange(len(terms)), [sum(map(len, some)) for some in standing])
    every = np.concatenate([np.zeros(0, dtype=np.int64), *chain.from_iterable(standing)])
    text, context = (every >> _COUNT & _MOST).astype(float), (every & _MOST).astype(float)
    return Postings(row, every >> _DOCUMENT, text, context)


def _documents(postings: Ints) -> Ints:
    return postings >> _DOCUMENT & _DOCUMENTS
