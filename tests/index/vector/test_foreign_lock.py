"""Another process holds Chroma's database while the bot runs: nobody waits for it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Fingerprint
from astrbot_plugin_scoped_memory.llm_memory.index.ports import IndexRecord
from astrbot_plugin_scoped_memory.llm_memory.index.vector.embedded import EmbeddedChroma
from astrbot_plugin_scoped_memory.llm_memory.index.vector.foreign_lock import ForeignLock
from astrbot_plugin_scoped_memory.llm_memory.index.vector.vector_store import ChromaVectorStore
from astrbot_plugin_scoped_memory.llm_memory.models.key import Key
from astrbot_plugin_scoped_memory.tests.index.vector.index_bench import EXCLUSIVE, FAMILY, held

pytestmark = [
    pytest.mark.process,
    pytest.mark.contract,
    pytest.mark.skipif(sys.platform not in ("linux", "darwin"), reason="locks cannot be told here"),
]

WRITER = ("BEGIN IMMEDIATE",)
READER = ("BEGIN", "SELECT count(*) FROM collections")
ROWS = np.eye(8, dtype=np.float32)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("locked") / "chroma" / "chroma.sqlite3"


@pytest.fixture(scope="module")
def store(database: Path) -> Iterator[ChromaVectorStore]:
    store = ChromaVectorStore(EmbeddedChroma(database.parent, patience=0.04))
    store.open()
    store.use(store.name_for(Fingerprint("test", 8)))
    store.upsert([IndexRecord(Key("家", "m-0"), "t", "h")], ROWS[:1])
    yield store
    store.close()


def write(store: ChromaVectorStore, number: int) -> None:
    store.upsert([IndexRecord(Key("家", f"m-{number}"), "t", "h")], ROWS[number : number + 1])


def found(store: ChromaVectorStore) -> list[str]:
    return [n.key.memory_id for n in store.query(ROWS[0], FAMILY, 1).found]


@pytest.mark.parametrize("statements", [WRITER, EXCLUSIVE, READER], ids=lambda s: s[0] + s[-1][:6])
def test_a_write_says_busy_and_works_once_the_other_is_gone(
    store: ChromaVectorStore, database: Path, statements: tuple[str, ...]
) -> None:
    with held(database, statements):
        for call in (lambda: write(store, 1), lambda: store.delete([Key("家", "m-1")])):
            with pytest.raises(IndexUnavailable) as refused:
                call()
            assert refused.value.code == "busy"
    write(store, 1)
    store.delete([Key("家", "m-1")])
    assert found(store) == ["m-0"]


def test_a_question_says_busy_only_while_the_other_lets_nobody_read(
    store: ChromaVectorStore, database: Path
) -> None:
    for statements in (WRITER, READER):
        with held(database, statements):
            assert found(store) == ["m-0"]
    with held(database, EXCLUSIVE):
        for call in (lambda: found(store), store.count, store.hashes):
            with pytest.raises(IndexUnavailable) as refused:
                call()
            assert refused.value.code == "busy"
    assert found(store) == ["m-0"]


def test_our_own_writes_are_in_nobodys_way(store: ChromaVectorStore) -> None:
    for number in range(2, 8):
        write(store, number)
        assert found(store) == ["m-0"]


def test_who_waits_while_the_index_is_closed_is_told_busy(
    store: ChromaVectorStore, database: Path
) -> None:
    assert found(store) == ["m-0"]
    lock = ForeignLock(database, sleep=lambda _: lock.close())
    lock.open()
    with held(database, EXCLUSIVE), pytest.raises(IndexUnavailable) as refused:
        lock.wait(to_write=False)
    assert refused.value.code == "busy"


def test_a_lock_that_is_closed_while_it_is_looked_at_holds_nobody_up(
    store: ChromaVectorStore, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found(store) == ["m-0"]
    lock = ForeignLock(database)
    lock.open()
    import_module = importlib.import_module

    def closing(name: str) -> ModuleType:
        lock.close()
        return import_module(name)

    with held(database, EXCLUSIVE):
        monkeypatch.setattr(importlib, "import_module", closing)
        lock.wait(to_write=False)
