"""Where an index folder is broken: one that is built once, copies of it, and stores on them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Fingerprint, Vectors
from astrbot_plugin_scoped_memory.llm_memory.index.ports import IndexRecord, VectorStore
from astrbot_plugin_scoped_memory.llm_memory.index.vector.embedded import EmbeddedChroma
from astrbot_plugin_scoped_memory.llm_memory.index.vector.vector_store import ChromaVectorStore
from astrbot_plugin_scoped_memory.llm_memory.index.vector.worker_process import WorkerProcess
from astrbot_plugin_scoped_memory.llm_memory.index.vector.worker_store import (
    WorkerStore,
    worker_command,
)
from astrbot_plugin_scoped_memory.llm_memory.index.vector.write_pace import WritePace
from astrbot_plugin_scoped_memory.llm_memory.models.key import Key
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope, ScopeFilter
from astrbot_plugin_scoped_memory.tests.support.native import NATIVE

DIM = 16
COUNT = 250
SPACE = Fingerprint("test", DIM, "r1")
FAMILY = ScopeFilter.reading_as(Scope.parse("家"))
EXCLUSIVE = ("BEGIN EXCLUSIVE",)
HOLDER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
for statement in sys.argv[2:]:
    connection.execute(statement).fetchone()
print("held", flush=True)
sys.stdin.read()
"""


def chroma_at(folder: Path) -> ChromaVectorStore:
    pace = WritePace(long=1.0, sleep=lambda _: None)
    return ChromaVectorStore(EmbeddedChroma(folder), pace=pace)


class Index:
    """An index folder as a bot has it, with its neighbours."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / "chroma"
        self.database = self.folder / "chroma.sqlite3"
        self.record = root / "chroma.health.json"

    @property
    def segment(self) -> Path:
        """The folder of the one collection that the built index has."""
        (segment,) = (path for path in self.folder.iterdir() if path.is_dir())
        return segment

    @property
    def set_aside(self) -> list[Path]:
        return sorted(self.root.glob("chroma.broken-*"))

    def store(self) -> ChromaVectorStore:
        """Chroma in this process, which a broken folder may end."""
        return chroma_at(self.folder)

    def worker(self, start: type[WorkerProcess] = WorkerProcess) -> WorkerStore:
        """Chroma in a process of its own, as bots have it."""
        return WorkerStore(worker_command(self.folder, NATIVE), start=start)

    def opened(self, store: VectorStore | None = None) -> tuple[VectorStore, str]:
        """A store that uses its collection, and why an earlier index was set aside."""
        store = store or self.store()
        reason = store.open()
        store.use(store.name_for(SPACE))
        return store, reason

    def copied(self, root: Path) -> Index:
        """The same index elsewhere: its files keep their times."""
        shutil.copytree(self.root, root, dirs_exist_ok=True)
        return Index(root)


def build(root: Path) -> Index:
    """An index of COUNT records, closed in order."""
    index = Index(root)
    store, _ = index.opened()
    store.upsert(records(COUNT), vectors(COUNT))
    store.close()
    return index


def records(count: int, first: int = 0) -> list[IndexRecord]:
    return [IndexRecord(Key("家", f"m-{n}"), "t", f"h{n}") for n in range(first, first + count)]


def vectors(count: int, first: int = 0) -> Vectors:
    rows = [np.random.default_rng(first + n).normal(size=DIM) for n in range(count)]
    return np.array(rows, dtype=np.float32)


def works(store: VectorStore) -> bool:
    """What is written now is found."""
    store.upsert(records(60, 9000), vectors(60, 9000))
    found = [store.query(row, FAMILY, 1).found for row in vectors(60, 9000)]
    return [hits[0].key.memory_id for hits in found if hits] == [f"m-{9000 + n}" for n in range(60)]


def fill_with_garbage(path: Path) -> None:
    """As long as before, and other bytes."""
    path.write_bytes(np.random.default_rng(7).bytes(path.stat().st_size))


def truncate(path: Path) -> None:
    """The first half remains."""
    os.truncate(path, path.stat().st_size // 2)


@contextmanager
def held(database: Path, statements: tuple[str, ...] = EXCLUSIVE) -> Iterator[None]:
    """Another process has the database in a transaction."""
    command = [sys.executable, "-P", "-c", HOLDER, str(database), *statements]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        yield
        holder.stdin.close()
        holder.wait()
