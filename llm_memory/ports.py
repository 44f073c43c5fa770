"""What the services need from the outside world. Components and tests' fakes implement these.

Everything that blocks is a plain method and is called in a thread by its one caller; everything
that waits for a network is a coroutine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from .models.conversation import Actor
from .models.data_models import Memory, StoredMemory, Topic
from .models.scope import Scope, ScopeFilter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]
    """Shape ``(dim,)``, unit length."""
    Vectors = NDArray[np.float32]
    """Shape ``(n, dim)``, rows of unit length."""
else:
    Vector = Vectors = Any


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Which vectors may be compared with which: same fingerprint, same space.

    ``model`` names the embedder and its settings, ``revision`` what a name cannot tell (the
    content of a local folder, a version of our own hashing), ``dim`` the length of a vector.
    """

    model: str
    dim: int
    revision: str = ""


class Embedder(Protocol):
    """Texts to unit vectors. The relevance floor is its own: similarities differ by model."""

    @property
    def label(self) -> str:
        """What the status shows: ``lexical``, ``provider:<id>``, ``local:<name>``."""
        ...

    @property
    def floor(self) -> float:
        """Cosine similarity below which a memory is not relevant to a query."""
        ...

    async def prepare(self) -> Fingerprint:
        """Load what is needed and say which space the vectors lie in.

        Raises:
            EmbeddingFailed: not now; the caller tries again later.
        """
        ...

    async def embed_query(self, text: str) -> Vector:
        """One query, shape ``(dim,)``. Raises EmbeddingFailed."""
        ...

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Shape ``(len(texts), dim)``. Raises EmbeddingFailed."""
        ...

    async def close(self) -> None:
        """Give back what it holds."""
        ...


@dataclass(frozen=True, slots=True)
class Key:
    """A record of the index: scope and id together, so that no id reaches into another scope."""

    scope: str
    memory_id: str


@dataclass(frozen=True, slots=True)
class IndexRecord:
    """What the index keeps of a memory. ``text`` is what was embedded."""

    key: Key
    text: str
    content_hash: str
    metadata: Mapping[str, str | int | float | bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A record near a query. ``similarity`` is the cosine, -1 to 1."""

    key: Key
    similarity: float


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Nearest first. ``dropped`` counts what the scope check refused after the store's answer."""

    found: tuple[Neighbour, ...]
    dropped: int = 0


class VectorStore(Protocol):
    """The index: a cache of the vault. Every method blocks and may raise IndexUnavailable."""

    def open(self) -> None:
        """Import, open, and make ready. Idempotent."""
        ...

    def name_for(self, fingerprint: Fingerprint) -> str:
        """The collection's name for an embedder; different for different fingerprints."""
        ...

    def collections(self) -> tuple[str, ...]:
        """The names of our collections on disk."""
        ...

    def use(self, collection: str) -> None:
        """Open the collection (made if missing) that the following calls speak of."""
        ...

    def drop(self, collection: str) -> None:
        """Delete a collection that is not in use. Unknown names are ignored."""
        ...

    def upsert(self, records: Sequence[IndexRecord], vectors: Vectors) -> None:
        """Add or replace by key."""
        ...

    def delete(self, keys: Sequence[Key]) -> None:
        """Remove by key. Unknown keys are ignored."""
        ...

    def hashes(self) -> dict[Key, str]:
        """Content hashes of all records."""
        ...

    def count(self) -> int:
        """How many records the collection holds."""
        ...

    def query(self, vector: Vector, scope_filter: ScopeFilter, k: int) -> Neighbours:
        """At most ``k`` visible neighbours. No result without the scope check."""
        ...

    def reset(self) -> None:
        """Let go of everything after a fault; ``open`` starts anew, on whatever is there then."""
        ...

    def close(self) -> None:
        """Release the directory. Idempotent; every call after it raises IndexUnavailable."""
        ...


class IndexManifest(Protocol):
    """Which collection is complete. Blocks; lies with the index and goes with it."""

    def active(self) -> str | None:
        """The collection's name, None where there is no manifest that we can read."""
        ...

    def activate(self, collection: str, fingerprint: Fingerprint) -> None:
        """Name it as the complete one. Raises IndexUnavailable."""
        ...


@dataclass(frozen=True, slots=True)
class FileReport:
    """A file of the vault that was left alone. ``reason`` is a stable code, ``scope`` its scope."""

    scope: str
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class VaultContent:
    """What a reading of the vault found."""

    memories: tuple[StoredMemory, ...]
    broken: tuple[FileReport, ...] = ()


class Vault(Protocol):
    """The Markdown tree: the truth. Every method blocks."""

    def open(self) -> None:
        """Make the tree. Raises VaultWriteFailed."""
        ...

    def scopes(self) -> tuple[Scope, ...]:
        """The scopes that have a folder."""
        ...

    def strays(self) -> tuple[FileReport, ...]:
        """Folders whose name is no legal scope: left alone, read by nobody."""
        ...

    def ensure(self, scope: Scope) -> None:
        """Make the scope's folder. Raises VaultWriteFailed."""
        ...

    def read(self, scope: Scope) -> VaultContent:
        """All recallable entries of a scope."""
        ...

    def append(self, scope: Scope, topic: Topic, memory: Memory) -> StoredMemory:
        """Write and fsync. Raises VaultWriteFailed, and then nothing was changed."""
        ...

    def current(self, stored: StoredMemory) -> StoredMemory | None:
        """The entry as a person may have left it by now, None if it is gone.

        Raises VaultWriteFailed if its file cannot be read just now.
        """
        ...

    def replace(self, stored: StoredMemory, memory: Memory) -> StoredMemory:
        """Rewrite one entry in place. Raises VaultWriteFailed, KeyError if it is gone."""
        ...

    def archive(self, stored: StoredMemory, *, by: Actor, at: datetime) -> str:
        """Move an entry to ``archive/``; the archive's path inside the scope.

        Raises VaultWriteFailed, KeyError if a person has taken the entry out.
        """
        ...

    def archived(self, scope: Scope, memory_id: str) -> Memory | None:
        """A forgotten entry of the scope, None if there is none."""
        ...

    def restore(self, scope: Scope, memory_id: str) -> StoredMemory | None:
        """Bring an archived entry back to the file it came from; None if there is none."""
        ...


@dataclass(frozen=True, slots=True)
class QueuedTurn:
    """What was said in one turn, and the scope it belongs to whatever the map says later."""

    ticket_id: str
    scope: str
    conversation: str
    observed_at: datetime
    person: str
    who: str
    user_text: str
    reply_text: str


class StateStore(Protocol):
    """Small durable facts. Every method blocks; each row that holds words carries its scope."""

    def open(self) -> bool:
        """Make ready. False if the old file was unusable and was set aside for a new one."""
        ...

    def seen_conversations(self) -> frozenset[str]:
        """Conversation ids that a message came from."""
        ...

    def mark_seen(self, umo: str) -> None:
        """Add one. Idempotent."""
        ...

    def remembered_map_keys(self) -> frozenset[str]:
        """The private keys of the last map that had any."""
        ...

    def lost_map_keys(self) -> frozenset[str]:
        """Private keys that went all at once and that nobody gave back yet."""
        ...

    def remember_map_keys(self, keys: Iterable[str], *, lost: Iterable[str]) -> None:
        """Replace both."""
        ...

    def public_peers(self) -> frozenset[str]:
        """Persons who wrote privately while their chat fell to public."""
        ...

    def add_public_peer(self, person: str) -> None:
        """Add one. Idempotent."""
        ...

    def put_turn(self, turn: QueuedTurn) -> None:
        """Queue a finished turn, with the scope that was fixed when it was said."""
        ...

    def get_turn(self, ticket_id: str) -> QueuedTurn | None:
        """A queued turn by its ticket."""
        ...

    def drop_turn(self, ticket_id: str) -> None:
        """Take a turn from the queue. Unknown tickets are ignored."""
        ...

    def queue_length(self) -> int:
        """How many turns wait."""
        ...

    def count_use(self, keys: Sequence[Key]) -> None:
        """One more use of each memory."""
        ...

    def uses(self, key: Key) -> int:
        """How often a memory was found useful."""
        ...

    def close(self) -> None:
        """Give back the file. Idempotent."""
        ...
