"""What every vector store promises: write, replace, drop, load, ask; embedders that come and go;
closing; and that nobody sees what is not theirs."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.errors import IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.index.chroma.records import collection_name
from astrbot_plugin_scoped_memory.llm_memory.index.chroma.vector_store import (
    ChromaConnection,
    ChromaStore,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import (
    Fingerprint,
    Vector,
    Vectors,
)
from astrbot_plugin_scoped_memory.llm_memory.index.ports import (
    IndexRecord,
    Neighbours,
    VectorStore,
)
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.llm_memory.models.scope import (
    PUBLIC,
    ROOT_NOTES,
    SHARED,
    Place,
    Scope,
    ScopeFilter,
)
from astrbot_plugin_scoped_memory.tests.fakes.memory_store import Disk, MemoryStore

pytestmark = [pytest.mark.process, pytest.mark.contract, pytest.mark.timeout(240)]

DIM = 8
MOST = 100_000
_numbers = itertools.count()


class Bench:
    """A place where vectors are kept, and a store over it."""

    def __init__(self, kind: str, folder: Path, url: str) -> None:
        self.kind, self.folder, self.url = kind, folder, url
        self.owner = uuid.uuid4().hex if kind == "server" else ""
        self.disk = Disk()
        self.store = self.fresh()

    def fresh(self) -> VectorStore:
        """A store over the same place that knows nothing of it."""
        if self.kind == "memory":
            return MemoryStore(self.disk)
        return ChromaStore(self.connection(), lambda: self.owner)

    def connection(self) -> ChromaConnection:
        server = ChromaConnection.at_server
        return server(self.url, {}) if self.url else ChromaConnection.in_folder(self.folder)

    def reopened(self) -> VectorStore:
        self.store.close()
        self.store = self.fresh()
        return self.store


@pytest.fixture(params=["memory", "folder", "server"], scope="module")
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    """One for all tests: opening takes longer than most of them."""
    url = request.getfixturevalue("server").url if request.param == "server" else ""
    one = Bench(request.param, tmp_path_factory.mktemp("index") / "目录 #1 100%" / "chroma", url)
    yield one
    one.store.close()


@pytest.fixture
def space(bench: Bench) -> Fingerprint:
    """An embedder of the test's own, whose empty collection is in use."""
    one = fresh_space()
    assert loaded(bench.store, one) == {}
    return one


def fresh_space() -> Fingerprint:
    return Fingerprint("test/模型", DIM, str(next(_numbers)))


def loaded(store: VectorStore, space: Fingerprint) -> dict[Key, tuple[IndexRecord, Vector]]:
    found: dict[Key, tuple[IndexRecord, Vector]] = {}
    for records, rows in store.load(space, MOST):
        assert rows is not None
        assert len(rows) == len(records) <= 1000
        found |= {r.key: (r, row) for r, row in zip(records, rows, strict=True)}
    return found


def unit(*numbers: float) -> Vector:
    vector = np.zeros(DIM, dtype=np.float32)
    vector[: len(numbers)] = numbers
    return vector / np.linalg.norm(vector)


def vectors(count: int, first: int = 0) -> Vectors:
    """Each number has one vector of its own."""
    rows = [np.random.default_rng(first + n).normal(size=DIM) for n in range(count)]
    return np.array([unit(*row) for row in rows], dtype=np.float32).reshape(count, DIM)


def record(scope: str, memory_id: str, content_hash: str = "h", plain: bytes = b"") -> IndexRecord:
    return IndexRecord(Key(scope, memory_id), content_hash, plain)


def reading_as(name: str, *, shelves: tuple[Place, ...] = ()) -> ScopeFilter:
    return ScopeFilter.reading_as(Scope.parse(name, derived=True), shelves=shelves)


def keys(neighbours: Neighbours) -> list[Key]:
    return [neighbour.key for neighbour in neighbours.found]


FAMILY = reading_as("家")


def test_what_was_written_comes_back_after_a_reopening(bench: Bench, space: Fingerprint) -> None:
    many = [record(s, f"{n}/句", f"h{n}", bytes(n % 3)) for n in range(1250) for s in ("家", "人")]
    rows = vectors(2500)
    bench.store.write(many, rows)
    found = loaded(bench.reopened(), space)
    assert [one for one, _ in found.values()] == many
    for one, row in zip(many, rows, strict=True):
        assert found[one.key][1] == pytest.approx(row, abs=1e-6)
    pages = list(bench.store.load(space, 2499))
    assert [(len(records), row) for records, row in pages] == [
        (1000, None),
        (1000, None),
        (500, None),
    ]
    assert keys(bench.store.query(rows[246], FAMILY, 1)) == [many[246].key]


def test_writing_a_key_again_replaces_it_in_one_call_too(bench: Bench, space: Fingerprint) -> None:
    bench.store.write([record("家", "m-1", "old", b"plain")], np.array([unit(1)]))
    twice = [record("家", "m-1", "first"), record("家", "m-1", "last")]
    bench.store.write(twice, np.array([unit(1), unit(0, 1)]))
    bench.store.write([], np.empty((0, DIM), dtype=np.float32))
    ((found, row),) = loaded(bench.store, space).values()
    assert found == twice[1]
    assert row == pytest.approx(unit(0, 1), abs=1e-6)
    (neighbour,) = bench.store.query(unit(0, 1), FAMILY, 3).found
    assert neighbour.similarity == pytest.approx(1.0, abs=1e-3)


def test_the_nearest_comes_first_and_what_was_dropped_never(
    bench: Bench, space: Fingerprint
) -> None:
    near, middle, far, opposite = unit(1, 0.1), unit(1, 1), unit(0, 1), unit(-1)
    names = [record("家", n, plain=n.encode()) for n in ("far", "near", "opposite", "middle")]
    assert bench.store.query(unit(1), FAMILY, 5) == Neighbours(())
    bench.store.write(names, np.array([far, near, opposite, middle]))
    found = bench.store.query(unit(1), FAMILY, 10).found
    assert [n.plain.decode() for n in found] == ["near", "middle", "far", "opposite"]
    assert [n.similarity for n in found] == pytest.approx([near[0], middle[0], 0, -1], abs=1e-5)
    assert all(-1.0 <= n.similarity <= 1.0 for n in found)
    bench.store.drop([Key("家", "near"), Key("家", "never written"), Key("家", "near")])
    bench.store.drop([])
    assert bench.store.query(unit(1), FAMILY, 1).found[0].key == Key("家", "middle")
    assert Key("家", "near") not in loaded(bench.store, space)


def test_another_embedder_takes_its_place(bench: Bench, space: Fingerprint) -> None:
    bench.store.write([record("家", "m-1")], vectors(1))
    second = replace(fresh_space(), dim=4)
    assert list(bench.store.load(second, MOST)) == []
    bench.store.write([record("家", "m-1")], np.eye(1, 4, dtype=np.float32))
    assert [len(records) for records, _ in bench.reopened().load(second, MOST)] == [1]
    assert loaded(bench.store, space) == {}


def test_all_is_dropped_and_written_anew(bench: Bench, space: Fingerprint) -> None:
    many = [record("家", str(n)) for n in range(5)]
    bench.store.write(many, vectors(5))
    bench.store.drop(None)
    assert not bench.folder.exists()
    bench.store.write(many[:2], vectors(2))
    assert list(loaded(bench.store, space)) == [many[0].key, many[1].key]
    bench.store.close()
    unopened = bench.fresh()
    unopened.drop(None)
    unopened.close()
    assert loaded(bench.reopened(), space) == {}


CALLS: Sequence[Callable[[VectorStore], object]] = (
    lambda store: store.write([record("家", "m-1")], np.array([unit(1)])),
    lambda store: store.query(unit(1), FAMILY, 5),
    lambda store: list(store.load(Fingerprint("x", DIM), MOST)),
    lambda store: store.drop([Key("家", "m-1")]),
    lambda store: store.drop(None),
)


def test_before_it_is_loaded_and_once_it_is_closed_nothing_answers(bench: Bench) -> None:
    store = bench.reopened()
    for call in CALLS[:2]:
        with pytest.raises(IndexUnavailable):
            call(store)
    loaded(store, fresh_space())
    for _ in range(2):
        store.close()
    for call in CALLS:
        with pytest.raises(IndexUnavailable) as failed:
            call(store)
        assert failed.value.code == "closed"
    bench.store = bench.fresh()


HOSTILE = (
    *("家", "家人", "家人2", "人", "public", "public-x", "publi", "xpublic", "PUBLIC-", "a", "A"),
    *("aa", "dm-a", "dm-a1", "group-1", "quarantine", "quarantine2", "a" * 64, "家" * 64, "-", "_"),
    *("0", "1", "true", "None", "ne", "in", "m-1"),
)
SHELVES = ("@shared", "@root", "@role:default", "@role:猫", "@role:default2", "@role:sharedx")
READ = st.sampled_from([(), (SHARED,), (SHARED, Place.of_role("猫")), (SHARED, ROOT_NOTES)])
STORED = st.sets(
    st.tuples(
        st.sampled_from(HOSTILE + SHELVES)
        | st.from_regex(r"[a-zA-Z0-9\u4e00-\u4e10_-]{1,6}", fullmatch=True),
        st.sampled_from(("m-1", "m-2", "a/b", "public/m-1", "/x", "家")),
    ).filter(lambda pair: pair[0].lower() not in {"con", "prn", "aux", "nul"}),
    max_size=25,
)


@settings(max_examples=max(4, settings().max_examples // 4))
@given(STORED, st.sampled_from(HOSTILE), READ, st.integers(0, 2**32 - 1))
def test_a_reader_sees_exactly_its_own_scope_its_shelves_and_public(
    bench: Bench, stored: set[tuple[str, str]], reader: str, read: tuple[Place, ...], seed: int
) -> None:
    store, space = bench.store, fresh_space()
    loaded(store, space)
    store.write([record(*pair) for pair in stored], vectors(len(stored), seed))
    answer = store.query(unit(1), reading_as(reader, shelves=read), 100)
    seen = {reader, "public", *(shelf.name for shelf in read)}
    expected = {Key(*pair) for pair in stored if pair[0] in seen}
    assert (set(keys(answer)), len(answer.found), answer.dropped) == (expected, len(expected), 0)
    downgraded = ScopeFilter((PUBLIC,), everything=True)
    everyone = {Key(*pair) for pair in stored if pair[0] != "quarantine"}
    assert set(keys(store.query(unit(1), downgraded, 100))) == everyone


LIES: Sequence[tuple[str, Mapping[str, Any]]] = [
    ("家/liar", {"memory_scope": "public"}),
    ("家/missing", {"memory_scope": None}),
    ("家/number", {"memory_scope": 1}),
    ("家/true", {"memory_scope": True}),
    ("家/empty", {"memory_scope": ""}),
    ("家/hashless", {"content_hash": 7}),
    ("家/other vector", {"signs": "ff"}),
    ("家/no plain", {"plain": "*"}),
    ("no-scope", {"memory_scope": "public"}),
    ("/public", {"memory_scope": "public"}),
    ("public/", {"memory_scope": "public"}),
]


def test_what_lies_about_its_scope_is_seen_by_nobody_and_goes(
    bench: Bench, space: Fingerprint
) -> None:
    if bench.kind == "memory":
        pytest.skip("it holds records alone")
    bench.store.write([record("public", "sound")], np.array([unit(0, 1)]))  # far from the query
    ours = {"memory_scope": "家", "has_scope": 1, "content_hash": "h", "plain": "", "signs": "80"}
    bench.store.close()
    chroma, name = bench.connection(), collection_name(space, bench.owner)
    for identifier, lie in LIES:
        told = {field: value for field, value in (ours | lie).items() if value is not None}
        body = unit(1).tobytes()
        chroma.call(name, "upsert", body, ids=[identifier], metadatas=[told])
    chroma.close()
    bench.store = store = bench.fresh()
    next(store.load(space, MOST))
    readers = [ScopeFilter((PUBLIC,), everything=True), *map(reading_as, ("public", "公司", "家"))]
    for seen in readers:
        answer = store.query(unit(1), seen, 100)
        found = {key.memory_id for key in keys(answer)}
        assert found <= {"sound", "hashless", "other vector", "no plain"}
        assert answer.dropped > 0 or seen is readers[-1]
    assert list(loaded(store, space)) == [Key("public", "sound")]
    for seen in readers:
        assert store.query(unit(1), seen, 100) == store.query(unit(1), seen, 1)
    store.write([record("家", "liar")], np.array([unit(1)]))
    assert set(loaded(store, space)) == {Key("public", "sound"), Key("家", "liar")}
