"""What the services need from the outside world. Components and tests' fakes implement these.

Everything that blocks is a plain method and is called in a thread by its one caller; everything
that waits for a network is a coroutine.
"""

from .cache import TextKey, VectorCache
from .embedder import Embedder, Fingerprint, Vector, Vectors
from .formats import StoredFormat
from .index import IndexManifest, IndexRecord, Key, Neighbour, Neighbours, VectorStore
from .state import QueuedTurn, StateStore
from .vault import FileReport, Vault, VaultContent

__all__ = [
    "Embedder",
    "FileReport",
    "Fingerprint",
    "IndexManifest",
    "IndexRecord",
    "Key",
    "Neighbour",
    "Neighbours",
    "QueuedTurn",
    "StateStore",
    "StoredFormat",
    "TextKey",
    "Vault",
    "VaultContent",
    "Vector",
    "VectorCache",
    "VectorStore",
    "Vectors",
]
