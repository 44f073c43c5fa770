"""Vectors that were paid for are kept, and go when their memory goes."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Fingerprint, Vector
from astrbot_plugin_scoped_memory.llm_memory.index.embedding_cache import SqliteVectorCache, TextKey
from astrbot_plugin_scoped_memory.llm_memory.index.index_faults import IndexFaults
from astrbot_plugin_scoped_memory.llm_memory.index.index_queue import IndexQueue
from astrbot_plugin_scoped_memory.llm_memory.index.index_writer import IndexWriter, text_key
from astrbot_plugin_scoped_memory.llm_memory.index.store_calls import StoreCalls
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import NO_TIME, Memory, StoredMemory
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope
from astrbot_plugin_scoped_memory.llm_memory.runtime.notice_board import NoticeBoard
from astrbot_plugin_scoped_memory.tests.fakes.vector_store import InMemoryVectorStore
from astrbot_plugin_scoped_memory.tests.support.engines import QUICK

pytestmark = pytest.mark.unit

SPACE, OTHER = Fingerprint("模型", 4, "r1"), Fingerprint("模型", 4, "r2")
FAMILY, WORK = TextKey("家人", "a" * 64), TextKey("公司", "b" * 64)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index" / "embeddings.sqlite"


@pytest.fixture
def cache(path: Path) -> Iterator[SqliteVectorCache]:
    cache = SqliteVectorCache(path)
    cache.open()
    yield cache
    cache.close()


def unit(place: int) -> Vector:
    vector = np.zeros(4, dtype=np.float32)
    vector[place] = 1.0
    return vector


def known(cache: SqliteVectorCache, *keys: TextKey, space: Fingerprint = SPACE) -> set[TextKey]:
    return set(cache.get(space, keys))


def test_a_vector_comes_back_as_it_was(cache: SqliteVectorCache, path: Path) -> None:
    vector = np.array([0.1, -0.3, 0.3, 0.9], dtype=np.float32)
    cache.put(SPACE, {FAMILY: vector})
    cache.close()
    again = SqliteVectorCache(path)
    again.open()
    assert again.get(SPACE, [FAMILY, WORK])[FAMILY].tobytes() == vector.tobytes()
    assert known(again, FAMILY, WORK) == {FAMILY}
    assert known(again, FAMILY, space=OTHER) == set()
    again.close()


def test_what_a_scope_forgets_is_gone_and_the_other_scopes_stays(cache: SqliteVectorCache) -> None:
    same = TextKey(WORK.scope, FAMILY.content_hash)
    cache.put(SPACE, {FAMILY: unit(0), same: unit(0)})
    cache.forget([FAMILY])
    assert known(cache, same) == {same}
    cache.forget([same])
    assert known(cache, FAMILY, same) == set()


async def test_a_writer_keeps_what_it_has_to_forget_until_it_is_forgotten(
    cache: SqliteVectorCache, path: Path
) -> None:
    stored = StoredMemory(Scope.parse("家人"), "entities.md", Memory("m-0001", "奶奶怕猫", NO_TIME))
    queue, store, notices = IndexQueue(), InMemoryVectorStore(), NoticeBoard(None)
    faults = IndexFaults(notices, queue, lambda: "")
    calls = StoreCalls(store, query_seconds=1.0, on_fault=faults.of_query)
    writer = IndexWriter(queue, store, calls, cache, faults, notices, QUICK.pace)
    cache.put(SPACE, {text_key(stored): unit(0)})
    writer.forget(stored)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        await writer.sweep()
    assert known(cache, text_key(stored)) == {text_key(stored)}
    await writer.sweep()
    assert known(cache, text_key(stored)) == set()


def test_keep_only_sweeps_the_dead_of_every_model(cache: SqliteVectorCache) -> None:
    for space in (SPACE, OTHER):
        cache.keep_only(space, {FAMILY, WORK})
        cache.put(space, {FAMILY: unit(0), WORK: unit(1)})
    cache.keep_only(SPACE, {FAMILY})
    for space in (SPACE, OTHER):
        assert known(cache, FAMILY, WORK, space=space) == {FAMILY}


@pytest.mark.parametrize(
    "damaged",
    [
        b"\0\0\xc0\x7f",
        b"\0\0\xc0\x7f" * 4,
        b"12345",
        b"",
        "words",
        5,
        np.zeros(4, dtype="<f4").tobytes(),
        np.full(4, 1e30, dtype="<f4").tobytes(),
    ],
)
def test_a_vector_that_cannot_be_one_is_a_miss(
    cache: SqliteVectorCache, path: Path, damaged: object
) -> None:
    cache.put(SPACE, {FAMILY: unit(0), WORK: unit(1)})
    other = sqlite3.connect(path)
    with other:
        other.execute("UPDATE vector SET vector = ? WHERE scope = '家人'", (damaged,))
    other.close()
    assert known(cache, FAMILY, WORK) == {WORK}


def test_without_a_file_everything_is_a_miss_and_nothing_raises(tmp_path: Path) -> None:
    (tmp_path / "index").write_text("a file where the folder should be")
    cache = SqliteVectorCache(tmp_path / "index" / "embeddings.sqlite")
    cache.open()
    cache.put(SPACE, {FAMILY: unit(0)})
    cache.forget([FAMILY])
    cache.keep_only(SPACE, set())
    assert known(cache, FAMILY) == set()
    cache.close()


def test_a_file_that_another_process_locks_is_a_miss(cache: SqliteVectorCache, path: Path) -> None:
    cache.put(SPACE, {FAMILY: unit(0)})
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    cache.put(SPACE, {WORK: unit(1)})
    other.execute("ROLLBACK")
    other.close()
    assert known(cache, FAMILY, WORK) == {FAMILY}
