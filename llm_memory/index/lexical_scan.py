"""What of a few records shares words with a question, where no index tells."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ..runtime.cooperative import cooperative
from ..storage.imports import import_whole
from ..text.tokenizer import Tokenizer
from .lexical.question import Question, coverages
from .lexical.scoring import Documents, Postings
from .lexical.tables import Words
from .lexical_port import LexicalQuery, LexicalRecord

_KEPT: Final = 1000
"""Records whose words are kept for the next question."""


class LexicalScan:
    """Compares a question with records that no index is asked for, by the measure of the index of
    words. Blocks; never fails.

    Args:
        tokenizer: Without a dictionary: a scan begins before any is loaded.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._lock = threading.Lock()
        self._words: OrderedDict[str, Words] = OrderedDict()

    def prepare(self) -> None:
        """Load what is needed, so that the first question need not wait for it."""
        with contextlib.suppress(ImportError):  # the notices of the indexes tell of it
            import_whole("numpy")

    def coverages(self, query: LexicalQuery, records: Sequence[LexicalRecord]) -> list[float]:
        """How much of the question each record speaks of, 0 to 1: see ``LexicalMatch``."""
        question = Question.read(self._tokenizer, replace(query, around=""))
        if not question.terms or not records:
            return [0.0] * len(records)
        words = [self._words_of(record) for record in cooperative(records)]
        try:
            import numpy as np
        except ImportError:  # of the wrong version, say: better roughly than not at all
            return [_share(question.terms, one) for one in words]
        lengths = np.array([one.lengths for one in words], dtype=np.float64)
        alone = np.arange(len(words))
        nothing = np.zeros(len(words))
        documents = Documents(lengths[:, 0], lengths[:, 1], alone, alone * 0 - 1, nothing)
        tokens = _postings(question.terms, words)
        return coverages(question, documents, tokens, alone, carried=query.carried)

    def _words_of(self, record: LexicalRecord) -> Words:
        with self._lock:
            known = self._words.get(record.content_hash)
            if known is None:
                tokens = self._tokenizer.tokens
                known = Words(Counter(tokens(record.text)), Counter(tokens(record.context)))
                self._words[record.content_hash] = known
                if len(self._words) > _KEPT:
                    self._words.popitem(last=False)
            return known


def _share(terms: Sequence[str], words: Words) -> float:
    return sum(1 for term in terms if words.text[term] or words.context[term]) / len(terms)


def _postings(terms: Sequence[str], words: Sequence[Words]) -> list[Postings]:
    """Of each term, in the order of ``terms``."""
    import numpy as np

    found: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for place, one in enumerate(words):
        for term in terms:
            text, context = one.text[term], one.context[term]
            if text or context:
                found[term].append((place, text, context))
    tables = (np.array(found[term], dtype=np.int64).reshape(-1, 3) for term in terms)
    return [Postings(t[:, 0], t[:, 1].astype(float), t[:, 2].astype(float)) for t in tables]
