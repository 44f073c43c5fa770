"""Where the contract of the vector store is tested: a disk, a store on it, a way to damage it."""

import uuid
from pathlib import Path
from typing import Any

import numpy as np

from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import (
    Fingerprint,
    Vector,
    Vectors,
)
from astrbot_plugin_scoped_memory.llm_memory.index.vector.embedded import EmbeddedChroma
from astrbot_plugin_scoped_memory.llm_memory.index.vector.ports import (
    IndexRecord,
    Neighbours,
    VectorStore,
)
from astrbot_plugin_scoped_memory.llm_memory.index.vector.server import ChromaServer
from astrbot_plugin_scoped_memory.llm_memory.index.vector.vector_store import ChromaVectorStore
from astrbot_plugin_scoped_memory.llm_memory.index.vector.worker_store import (
    WorkerStore,
    worker_command,
)
from astrbot_plugin_scoped_memory.llm_memory.index.vector.write_pace import WritePace
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Place, Scope, ScopeFilter
from astrbot_plugin_scoped_memory.llm_memory.storage.directory_lock import LOCK_NAME
from astrbot_plugin_scoped_memory.tests.fakes.vector_store import Disk, InMemoryVectorStore, Row
from astrbot_plugin_scoped_memory.tests.support.native import NATIVE

DIM = 8
SPACE = Fingerprint("test/模型", DIM)


class Bench:
    """A place on disk, a store on it, and a way to damage what lies there."""

    store: VectorStore
    elsewhere = False
    """Whether it is a server's disk."""

    @property
    def left(self) -> list[Path]:
        """Files of ours in which a vector may stand."""
        return []

    def fresh(self) -> VectorStore:
        """A store that was never opened, on the same disk."""
        raise NotImplementedError

    def plant(self, name: str, rows: dict[str, Row]) -> None:
        """Write raw rows into a collection, past the store; the store is open again after it."""
        raise NotImplementedError

    def reopen(self) -> VectorStore:
        self.store.close()
        self.store = self.fresh()
        self.store.open()
        return self.store


class MemoryBench(Bench):
    def __init__(self) -> None:
        self._disk = Disk()
        self.store = self.fresh()

    def fresh(self) -> VectorStore:
        return InMemoryVectorStore(self._disk)

    def plant(self, name: str, rows: dict[str, Row]) -> None:
        self._disk.collections[name].update(rows)
        self.reopen().use(name)


class ChromaBench(Bench):
    def __init__(self, path: Path) -> None:
        self.path = path
        self.store = self.fresh()

    @property
    def left(self) -> list[Path]:
        files = self.path.parent.glob(f"{self.path.name}*/**/*")
        return [path for path in files if path.name != LOCK_NAME]

    def fresh(self) -> VectorStore:
        return chroma_at(self.path)

    def plant(self, name: str, rows: dict[str, Row]) -> None:
        import chromadb

        self.store.close()
        settings = chromadb.Settings(anonymized_telemetry=False)
        write_raw(chromadb.PersistentClient(self.path, settings), name, rows)
        self.reopen().use(name)


class WorkerBench(ChromaBench):
    """Chroma in a process of its own, as bots have it."""

    def fresh(self) -> VectorStore:
        return WorkerStore(worker_command(self.path, NATIVE), folder=self.path)


def chroma_at(folder: Path, **options: Any) -> ChromaVectorStore:
    """Chroma in this process, which a broken folder may end."""
    pace = WritePace(long=1.0, sleep=lambda _: None)
    return ChromaVectorStore(EmbeddedChroma(folder), pace=pace, **options)


class ServerBench(Bench):
    """Each is another installation: on a server they do not see each other."""

    elsewhere = True

    def __init__(self, url: str) -> None:
        self._url = url
        self.owner = uuid.uuid4().hex
        self.store = self.fresh()

    def fresh(self) -> VectorStore:
        connection = ChromaServer(self._url, {}, lambda: self.owner, seconds=30.0)
        return ChromaVectorStore(connection, pace=WritePace(long=1.0, sleep=lambda _: None))

    def plant(self, name: str, rows: dict[str, Row]) -> None:
        import chromadb

        host, _, port = self._url.removeprefix("http://").partition(":")
        settings = chromadb.Settings(anonymized_telemetry=False)
        write_raw(chromadb.HttpClient(host, int(port), settings=settings), name, rows)
        self.reopen().use(name)


def write_raw(client: Any, name: str, rows: dict[str, Row]) -> None:
    """Past the store; the client is closed."""
    try:
        client.get_collection(name, embedding_function=None).upsert(
            ids=list(rows),
            embeddings=[row.vector for row in rows.values()],
            metadatas=[dict(row.metadata) or None for row in rows.values()],
        )
    finally:
        client.close()


def unit(*numbers: float) -> Vector:
    vector = np.zeros(DIM, dtype=np.float32)
    vector[: len(numbers)] = numbers
    return vector / np.linalg.norm(vector)


def vectors(count: int, first: int = 0) -> Vectors:
    """Each number has one vector of its own."""
    rows = [np.random.default_rng(first + n).normal(size=DIM) for n in range(count)]
    return np.array([unit(*row) for row in rows], dtype=np.float32).reshape(count, DIM)


def records(count: int, first: int = 0) -> list[IndexRecord]:
    """Of one scope, by their numbers."""
    return [record("家", f"m-{n}", f"h{n}") for n in range(first, first + count)]


def record(scope: str, memory_id: str, content_hash: str = "h", **metadata: str) -> IndexRecord:
    return IndexRecord(Key(scope, memory_id), "text", content_hash, metadata)


def reading_as(name: str, *, shelves: tuple[Place, ...] = ()) -> ScopeFilter:
    return ScopeFilter.reading_as(Scope.parse(name, derived=True), shelves=shelves)


def keys(neighbours: Neighbours) -> list[Key]:
    return [neighbour.key for neighbour in neighbours.found]


FAMILY = reading_as("家")
