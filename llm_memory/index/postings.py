"""In which documents a term stands, as sorted arrays. Only numbers: who they are, ``words`` knows.

A posting is one whole number: from its highest bits down the term's number, the document's (24
bits), and how often the term stands in the text and in the context (8 bits each).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Final

from .scoring import Ints, Postings

if TYPE_CHECKING:
    from collections.abc import Collection

_BLOCK: Final = 8192
"""Neighbouring documents whose postings lie together: so few are written anew with each change."""
_COUNT: Final = 8
_MOST: Final = 255
_DOCUMENT: Final = 16
_DOCUMENTS: Final = (1 << 24) - 1
_TERM: Final = 40

type Counts = tuple[Counter[str], Counter[str]]
"""How often each token stands in a text, and in what stands around it."""


@dataclass(frozen=True, slots=True)
class PostingLists:
    """Blocks of ``_BLOCK`` documents, each a sorted array: what a term has there is a slice of it.

    Nothing of it is ever changed but ``numbers``, which grows: it is read without a lock.
    """

    numbers: dict[str, int] = field(default_factory=dict)  # of each term
    blocks: tuple[Ints, ...] = ()

    def rewritten(self, new: Sequence[tuple[int, Counts]], gone: Collection[int]) -> PostingLists:
        """Without what documents that are ``gone`` had, and then with ``new`` ones."""
        import numpy as np

        added = self._packed(new)
        away = np.array(gone, dtype=np.int64)
        changed = np.array([number for number, _ in new], dtype=np.int64)
        blocks = list(self.blocks)
        for at in np.unique(np.concatenate([away, changed]) // _BLOCK).tolist():
            blocks += [added[:0]] * (at + 1 - len(blocks))
            kept, own = blocks[at], added[_documents(added) // _BLOCK == at]
            if len(away):
                kept = kept[~np.isin(_documents(kept), away)]
            blocks[at] = np.insert(kept, kept.searchsorted(own), own)
        return PostingLists(self.numbers, tuple(blocks))

    def _packed(self, rows: Sequence[tuple[int, Counts]]) -> Ints:
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
        number, place, said, around = (np.array(column, dtype=np.int64) for column in columns)
        stands = np.minimum(said, _MOST) << _COUNT | np.minimum(around, _MOST)
        return np.sort(number << _TERM | place << _DOCUMENT | stands)

    def terms_of(self, documents: Ints) -> set[str]:
        """All that these documents hold."""
        import numpy as np

        names = list(self.numbers)
        blocks = [self.blocks[at] for at in np.unique(documents // _BLOCK).tolist()]
        held = [block[np.isin(_documents(block), documents)] >> _TERM for block in blocks]
        return {names[number] for some in held for number in some.tolist()}

    def standing(self, terms: Sequence[str], first: int) -> Iterator[tuple[int, Ints]]:
        """The place of a term among ``terms``, and postings of it, whose documents are numbered
        from ``first`` on."""
        import numpy as np

        known = {at: self.numbers[term] for at, term in enumerate(terms) if term in self.numbers}
        low = np.array([*known.values()], dtype=np.int64) << _TERM
        high = low + (1 << _TERM)
        for block in self.blocks:
            ends = zip(known, low, block.searchsorted(low), block.searchsorted(high), strict=True)
            for at, least, begin, end in ends:
                if begin < end:
                    yield at, block[begin:end] - least + (first << _DOCUMENT)


def found(lists: Sequence[tuple[int, PostingLists]], terms: Sequence[str]) -> Postings:
    """Where each of ``terms`` stands, among lists of which each has the number of its first
    document."""
    import numpy as np

    standing: list[list[Ints]] = [[] for _ in terms]
    for first, one in lists:
        for at, some in one.standing(terms, first):
            standing[at].append(some)
    rows = np.repeat(np.arange(len(terms)), [sum(map(len, some)) for some in standing])
    one_by_one = np.concatenate([np.zeros(0, dtype=np.int64), *chain.from_iterable(standing)])
    return Postings(
        rows,
        one_by_one >> _DOCUMENT,
        (one_by_one >> _COUNT & _MOST).astype(np.float64),
        (one_by_one & _MOST).astype(np.float64),
    )


def _documents(postings: Ints) -> Ints:
    return postings >> _DOCUMENT & _DOCUMENTS
