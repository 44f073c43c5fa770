"""What the services need from the outside world. Components and tests' fakes implement these.

Everything that blocks is a plain method and is called in a thread by its one caller; everything
that waits for a network is a coroutine.
"""

from .cache import TextKey, VectorCache
from .embedder import Embedder, Fingerprint, Vector, Vectors
from .formats import StoredFormat
from .index import (
    IndexManifest,
    IndexRecord,
    Key,
    Neighbour,
    Neighbours,
    TextIndex,
    VectorStore,
)
from .lexical import (
    LexicalIndex,
    LexicalMatch,
    LexicalMatches,
    LexicalQuery,
    LexicalRecord,
    Scanner,
)
from .notes import NoteFolder, NotePlaces, NoteSource, Signature
from .reranker import Reranker
from .state import StateStore
from .trust import TrustBook
from .vault import FileReport, Vault, VaultContent

__all__ = [
    "Embedder",
    "FileReport",
    "Fingerprint",
    "IndexManifest",
    "IndexRecord",
    "Key",
    "LexicalIndex",
    "LexicalMatch",
    "LexicalMatches",
    "LexicalQuery",
    "LexicalRecord",
    "Neighbour",
    "Neighbours",
    "NoteFolder",
    "NotePlaces",
    "NoteSource",
    "Reranker",
    "Scanner",
    "Signature",
    "StateStore",
    "StoredFormat",
    "TextIndex",
    "TextKey",
    "TrustBook",
    "Vault",
    "VaultContent",
    "Vector",
    "VectorCache",
    "VectorStore",
    "Vectors",
]
