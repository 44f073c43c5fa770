"""The built-in embedder: words hashed into a vector. No model, no download, no wait."""

from __future__ import annotations

import asyncio
import math
import threading
from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

from ...courtesy import considerate
from ...policies.deduplication import MergeThresholds
from ...ports import Fingerprint
from ..imports import import_whole
from ..tokenizer import Tokenizer
from .term_weights import TermWeights

if TYPE_CHECKING:
    from ...ports import Vector, Vectors

VERSION = "1"
"""Of the algorithm. Anything that changes a vector changes it: tokens, weights, hashing."""

DIMENSION = 1024
"""Below it collisions cost recall (see ``benchmarks/floors.py``), above it they cost little."""

FLOOR = 0.12
"""With and without jieba: questions about everyday memories reach it, small talk does not."""

MERGE_THRESHOLDS = MergeThresholds(reinforce=0.89, replace=0.88)
"""With and without jieba: nine in ten of the labelled pairs that should merge reach them."""

_DOCUMENT_PRIOR_MASS = 4.0
_QUERY_PRIOR_MASS = 0.3
_VOID = 32  # coordinates, from the end, for documents without any token
_QUERY_PRIOR = -_VOID - 1
_DOCUMENT_PRIOR = -_VOID - 2
_RESERVED = _VOID + 2


class LexicalEmbedder:
    """Signed feature hashing (Weinberger et al. 2009) of tokens with static weights.

    A token t of a document gets ``(1 + log tf) * sqrt(w(t))``, of a query ``(1 + log tf) * w(t)``
    (``term_weights``), at the coordinate and with the sign that its hash names. Two coordinates
    carry a prior: every document has 4 on one, every query 0.3 on the other, and no query shares
    the documents'. So after scaling to unit length a short memory with one shared word does not
    beat a long one that answers (the pivoted length normalisation of Singhal et al. 1996), and a
    query with little to say is similar to nothing.

    A text without any token (emoji, punctuation) is similar to nothing: such a query has similarity
    0 to every document, such a document to every query and every other document but the same text.
    Both have unit length, and nothing is raised.

    Args:
        tokenizer: Shared with the lexical index; its dictionary is loaded at the first use.
        dim: Length of a vector, above 34.
    """

    def __init__(self, tokenizer: Tokenizer, *, dim: int = DIMENSION) -> None:
        if dim <= _RESERVED:
            raise ValueError(f"dim must be above {_RESERVED}, not {dim}")
        self._tokenizer = tokenizer
        self._dim = dim
        self._lock = threading.Lock()
        self._weights: TermWeights | None = None

    @property
    def label(self) -> str:
        return "lexical"

    @property
    def floor(self) -> float:
        """See ``benchmarks/floors.py`` for how it was measured."""
        return FLOOR

    @property
    def merge_thresholds(self) -> MergeThresholds:
        """See ``benchmarks/calibrate.py`` for how they were measured."""
        return MERGE_THRESHOLDS

    @property
    def costly(self) -> bool:
        return False  # hashing is as quick as reading a file

    @property
    def beside_index(self) -> None:
        return None

    async def prepare(self) -> Fingerprint:
        """Loads the dictionary. Never fails; without jieba the vectors lie in another space."""
        await asyncio.to_thread(self._load)
        revision = f"{VERSION}-characters" if self._tokenizer.degraded else VERSION
        return Fingerprint("lexical", self._dim, revision)

    async def embed_query(self, text: str) -> Vector:
        return await asyncio.to_thread(self._query, text)

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return await asyncio.to_thread(self._documents, texts)

    async def close(self) -> None:
        """Let go of the dictionary: a reload of the plugin makes another one."""
        # In a thread: another one may be loading it for seconds, and holds the lock meanwhile.
        await asyncio.to_thread(self._let_go)

    def _let_go(self) -> None:
        with self._lock:
            self._weights = None
        self._tokenizer.close()

    def _query(self, text: str) -> Vector:
        tokens = self._tokenizer.query_tokens(text)
        return self._vector(tokens, 1.0, _QUERY_PRIOR, _QUERY_PRIOR_MASS)

    def _documents(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        vectors = np.empty((len(texts), self._dim), dtype=np.float32)
        for row, text in considerate(enumerate(texts)):
            vectors[row] = self._document(text)
        return vectors

    def _document(self, text: str) -> Vector:
        tokens = self._tokenizer.tokens(text)
        if tokens:
            return self._vector(tokens, 0.5, _DOCUMENT_PRIOR, _DOCUMENT_PRIOR_MASS)
        return self._void(text)

    def _vector(self, tokens: Sequence[str], power: float, prior: int, mass: float) -> Vector:
        import numpy as np

        weigh = self._term_weights()
        vector = np.zeros(self._dim, dtype=np.float64)
        vector[prior] = mass
        for token, count in Counter(tokens).items():
            place, sign = self._place(token)
            vector[place] += sign * (1.0 + math.log(count)) * weigh(token) ** power
        unit: Vector = (vector / np.linalg.norm(vector)).astype(np.float32)
        return unit

    def _place(self, token: str) -> tuple[int, float]:
        """Coordinate and sign. A keyed hash, because Python's own differs between processes."""
        digest = blake2b(token.encode(), digest_size=8, person=b"lexical").digest()
        number = int.from_bytes(digest, "little")
        return number % (self._dim - _RESERVED), 1.0 if number >> 63 else -1.0

    def _void(self, text: str) -> Vector:
        """Signs from a hash of the whole text, on coordinates that nothing else uses."""
        import numpy as np

        digest = blake2b(text.encode(errors="replace"), digest_size=_VOID // 8, person=b"void")
        bits = np.unpackbits(np.frombuffer(digest.digest(), dtype=np.uint8))
        vector = np.zeros(self._dim, dtype=np.float32)
        vector[-_VOID:] = (bits * 2.0 - 1.0) / math.sqrt(_VOID)
        return vector

    def _load(self) -> None:
        import_whole("numpy.typing")
        self._term_weights()

    def _term_weights(self) -> TermWeights:
        with self._lock:
            if self._weights is None:
                self._weights = TermWeights(self._tokenizer.dictionary())
            return self._weights
