"""One contract for the fake and for the real Chroma: what the port VectorStore promises."""

import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.components.vector_store import ChromaVectorStore
from astrbot_plugin_scoped_memory.llm_memory.errors import IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC, Scope, ScopeFilter
from astrbot_plugin_scoped_memory.llm_memory.ports import (
    Fingerprint,
    IndexRecord,
    Key,
    Neighbours,
    Vector,
    Vectors,
    VectorStore,
)
from astrbot_plugin_scoped_memory.tests.fakes.vector_store import (
    Disk,
    InMemoryVectorStore,
    Row,
)

DIM = 8
SPACE = Fingerprint("test/模型", DIM)
HOSTILE = (
    *("家", "家人", "家人2", "人", "public", "public-x", "publi", "xpublic", "PUBLIC-", "a", "A"),
    *("aa", "dm-a", "dm-a1", "group-1", "quarantine", "quarantine2", "a" * 64, "家" * 64, "-", "_"),
    *("0", "1", "true", "None", "ne", "in", "m-1"),
)

LEGAL = r"[a-zA-Z0-9\u4e00-\u4e10_-]{1,6}"


class Bench:
    """A place on disk, a store on it, and a way to damage what lies there."""

    store: VectorStore

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
        self._path = path
        self.store = self.fresh()

    def fresh(self) -> VectorStore:
        return ChromaVectorStore(self._path, rest=lambda: None)

    def plant(self, name: str, rows: dict[str, Row]) -> None:
        import chromadb

        self.store.close()
        settings = chromadb.Settings(anonymized_telemetry=False)
        client = chromadb.PersistentClient(self._path, settings)
        try:
            client.get_collection(name, embedding_function=None).upsert(
                ids=list(rows),
                embeddings=[row.vector for row in rows.values()],
                metadatas=[dict(row.metadata) or None for row in rows.values()],
            )
        finally:
            client.close()
        self.reopen().use(name)


@pytest.fixture(params=["memory", "chroma"], scope="module")
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    bench = (
        MemoryBench()
        if request.param == "memory"
        else ChromaBench(tmp_path_factory.mktemp("index") / "目录 #1 100%")
    )
    bench.store.open()
    return bench


_numbers = itertools.count()


@pytest.fixture
def name(shared: Bench) -> str:
    """A collection of its own."""
    return shared.store.name_for(Fingerprint("test", DIM, str(next(_numbers))))


@pytest.fixture
def bench(shared: Bench, name: str) -> Bench:
    shared.store.use(name)
    return shared


@pytest.fixture(params=["memory", "chroma"])
def unopened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    bench = MemoryBench() if request.param == "memory" else ChromaBench(tmp_path / "index")
    yield bench
    bench.store.close()


def unit(*numbers: float) -> Vector:
    vector = np.zeros(DIM, dtype=np.float32)
    vector[: len(numbers)] = numbers
    return vector / np.linalg.norm(vector)


def vectors(count: int, seed: int = 0) -> Vectors:
    rows = np.random.default_rng(seed).normal(size=(count, DIM)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def record(scope: str, memory_id: str, content_hash: str = "h", **metadata: str) -> IndexRecord:
    return IndexRecord(Key(scope, memory_id), "text", content_hash, metadata)


def reading_as(name: str) -> ScopeFilter:
    return ScopeFilter.reading_as(Scope.parse(name, derived=True))


def keys(neighbours: Neighbours) -> list[Key]:
    return [neighbour.key for neighbour in neighbours.found]


def test_what_was_written_is_found(bench: Bench) -> None:
    bench.store.upsert([record("家", "m-1", "h1")], np.array([unit(1)]))
    answer = bench.store.query(unit(1), reading_as("家"), 3)
    assert keys(answer) == [Key("家", "m-1")]
    assert answer.found[0].similarity == pytest.approx(1.0, abs=1e-5)
    assert answer.dropped == 0
    assert bench.store.hashes() == {Key("家", "m-1"): "h1"}
    assert bench.store.count() == 1


def test_writing_a_key_again_replaces_it(bench: Bench) -> None:
    bench.store.upsert([record("家", "m-1", "old")], np.array([unit(1)]))
    bench.store.upsert([record("家", "m-1", "new")], np.array([unit(0, 1)]))
    assert bench.store.hashes() == {Key("家", "m-1"): "new"}
    found = bench.store.query(unit(0, 1), reading_as("家"), 3).found
    assert [round(n.similarity, 3) for n in found] == [1.0]


def test_of_equal_keys_in_one_call_the_last_wins(bench: Bench) -> None:
    twice = [record("家", "m-1", "first"), record("家", "m-1", "last")]
    bench.store.upsert(twice, np.array([unit(1), unit(0, 1)]))
    assert bench.store.hashes() == {Key("家", "m-1"): "last"}
    assert bench.store.query(unit(0, 1), reading_as("家"), 1).found[0].similarity > 0.99


def test_deleting_removes_the_keys_and_nothing_else(bench: Bench) -> None:
    both = [record("家", "m-1"), record("public", "m-1"), record("家", "m-2")]
    bench.store.upsert(both, vectors(3))
    bench.store.delete([Key("家", "m-1"), Key("家", "never-written"), Key("家", "m-1")])
    assert set(bench.store.hashes()) == {Key("public", "m-1"), Key("家", "m-2")}
    assert bench.store.count() == 2


def test_nothing_to_write_or_delete_is_fine(bench: Bench) -> None:
    bench.store.upsert([], np.empty((0, DIM), dtype=np.float32))
    bench.store.delete([])
    assert bench.store.count() == 0
    assert bench.store.hashes() == {}
    assert bench.store.query(unit(1), reading_as("家"), 5) == Neighbours(())


def test_the_nearest_comes_first(bench: Bench) -> None:
    near, middle, far, opposite = unit(1, 0.1), unit(1, 1), unit(0, 1), unit(-1)
    names = [record("家", name) for name in ("far", "near", "opposite", "middle")]
    bench.store.upsert(names, np.array([far, near, opposite, middle]))
    found = bench.store.query(unit(1), reading_as("家"), 10).found
    assert [n.key.memory_id for n in found] == ["near", "middle", "far", "opposite"]
    expected = [near[0], middle[0], 0.0, -1.0]
    assert [n.similarity for n in found] == pytest.approx(expected, abs=1e-5)
    assert all(-1.0 <= n.similarity <= 1.0 for n in found)


@pytest.mark.parametrize(("k", "expected"), [(-1, 0), (0, 0), (1, 1), (3, 3), (7, 7), (1000, 7)])
def test_k_is_an_upper_bound(bench: Bench, k: int, expected: int) -> None:
    bench.store.upsert([record("家", str(number)) for number in range(7)], vectors(7))
    assert len(bench.store.query(unit(1), reading_as("家"), k).found) == expected


def test_three_hundred_records_are_one_call(bench: Bench) -> None:
    many = [record("家", str(number), f"h{number}") for number in range(300)]
    bench.store.upsert(many, vectors(300))
    assert bench.store.hashes() == {r.key: r.content_hash for r in many}
    found = bench.store.query(vectors(300)[123], reading_as("家"), 1).found
    assert found[0].key == Key("家", "123")
    bench.store.delete([r.key for r in many[:299]])
    assert list(bench.store.hashes()) == [many[299].key]


def test_metadata_cannot_speak_for_the_scope(bench: Bench) -> None:
    lying = record("家", "m-1", memory_scope="public", content_hash_="x", has_scope="no")
    bench.store.upsert([lying], np.array([unit(1)]))
    assert bench.store.query(unit(1), reading_as("public"), 5) == Neighbours(())
    assert keys(bench.store.query(unit(1), reading_as("家"), 5)) == [Key("家", "m-1")]
    assert bench.store.hashes() == {Key("家", "m-1"): "h"}


def test_hostile_metadata_is_no_reason_to_refuse_a_batch(bench: Bench) -> None:
    who = "\ud83d half an emoji \x00 \n ^m-1 " + "长" * 10_000
    bench.store.upsert([record("家", "m-1", who=who, role="")], np.array([unit(1)]))
    assert bench.store.count() == 1


@given(
    stored=st.dictionaries(
        st.tuples(
            st.sampled_from(HOSTILE) | st.from_regex(LEGAL, fullmatch=True),
            st.sampled_from(("m-1", "m-2", "a/b", "public/m-1", "/x", "家")),
        ).filter(lambda pair: pair[0].lower() not in {"con", "prn", "aux", "nul"}),
        st.integers(0, 5),
        max_size=25,
    ),
    reader=st.sampled_from(HOSTILE),
    batch=st.integers(0, 2**32 - 1),
)
def test_a_reader_sees_exactly_its_own_scope_and_public(
    shared: Bench, stored: dict[tuple[str, str], int], reader: str, batch: int
) -> None:
    store = shared.store
    space = store.name_for(Fingerprint("property", DIM, str(next(_numbers))))
    store.use(space)
    if stored:
        store.upsert([record(*pair) for pair in stored], vectors(len(stored), batch))
    answer = store.query(vectors(1, batch + 1)[0], reading_as(reader), 1000)
    expected = {Key(*pair) for pair in stored if pair[0] in {reader, "public"}}
    assert len(answer.found) == len(expected)
    assert set(keys(answer)) == expected
    assert answer.dropped == 0
    downgraded = ScopeFilter((PUBLIC,), everything=True)
    everyone = {Key(*pair) for pair in stored if pair[0] != "quarantine"}
    assert set(keys(store.query(unit(1), downgraded, 1000))) == everyone
    assert set(store.hashes()) == {Key(*pair) for pair in stored}
    store.use(store.name_for(SPACE))
    store.drop(space)


LIES: dict[str, Row] = {
    "家/liar": Row({"memory_scope": "public", "content_hash": "h"}, unit(1)),
    "家/missing": Row({"content_hash": "h"}, unit(1, 0.1)),
    "家/bare": Row({}, unit(1, 0.2)),
    "家/number": Row({"memory_scope": 1, "content_hash": "h"}, unit(1, 0.3)),
    "家/true": Row({"memory_scope": True, "content_hash": "h"}, unit(1, 0.4)),
    "家/empty": Row({"memory_scope": "", "content_hash": "h"}, unit(1, 0.5)),
    "no-scope": Row({"memory_scope": "public", "content_hash": "h"}, unit(1, 0.6)),
    "/public": Row({"memory_scope": "public", "content_hash": "h"}, unit(1, 0.7)),
    "public/": Row({"memory_scope": "public", "content_hash": "h"}, unit(1, 0.8)),
    "public": Row({"memory_scope": "public", "content_hash": "h"}, unit(1, 0.9)),
}
CLAIMING_PUBLIC = 5


@pytest.fixture
def damaged(bench: Bench, name: str) -> Bench:
    """One sound public record, far from the query, behind ten that are damaged."""
    bench.store.upsert([record("public", "sound")], np.array([unit(0, 1)]))
    bench.plant(name, LIES)
    return bench


@pytest.mark.parametrize("reader", ["public", "公司", "家"])
def test_a_record_that_lies_about_its_scope_is_dropped_and_counted(
    damaged: Bench, reader: str
) -> None:
    answer = damaged.store.query(unit(1), reading_as(reader), 100)
    assert keys(answer) == [Key("public", "sound")]
    assert answer.dropped == CLAIMING_PUBLIC


def test_the_emergency_downgrade_does_not_believe_lies_either(damaged: Bench) -> None:
    answer = damaged.store.query(unit(1), ScopeFilter((PUBLIC,), everything=True), 100)
    assert keys(answer) == [Key("public", "sound")]
    assert answer.dropped >= CLAIMING_PUBLIC


def test_a_lying_record_takes_no_sound_ones_place(damaged: Bench) -> None:
    answer = damaged.store.query(unit(1), reading_as("public"), 1)
    assert keys(answer) == [Key("public", "sound")]


def test_a_damaged_record_shows_as_changed_and_can_be_mended(damaged: Bench) -> None:
    hashes = damaged.store.hashes()
    assert len(hashes) == damaged.store.count() == 1 + len(LIES)
    assert [key for key, content_hash in hashes.items() if content_hash] == [Key("public", "sound")]
    damaged.store.upsert([record("家", "liar", "mended")], np.array([unit(1)]))
    assert damaged.store.hashes()[Key("家", "liar")] == "mended"
    assert Key("家", "liar") in keys(damaged.store.query(unit(1), reading_as("家"), 100))


def test_records_of_foreign_form_can_be_deleted_by_their_keys(damaged: Bench) -> None:
    damaged.store.delete([key for key in damaged.store.hashes() if key != Key("public", "sound")])
    assert set(damaged.store.hashes()) == {Key("public", "sound")}
    assert damaged.store.count() == 1


@pytest.mark.parametrize("scope", ["", "a/b", "/"])
def test_a_key_without_a_scope_cannot_be_written(bench: Bench, scope: str) -> None:
    with pytest.raises(ValueError, match="no key"):
        bench.store.upsert([record(scope, "m-1/x")], np.array([unit(1)]))


def test_only_validated_scopes_may_ask(bench: Bench) -> None:
    injected = ScopeFilter(({"$ne": "x"},))  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        bench.store.query(unit(1), injected, 5)


@pytest.mark.parametrize("length", [1, DIM - 1, DIM + 1, 0])
def test_a_vector_of_wrong_length_is_refused_even_in_an_empty_collection(
    bench: Bench, length: int
) -> None:
    wrong = np.ones(length, dtype=np.float32)
    with pytest.raises(IndexUnavailable):
        bench.store.upsert([record("家", "m-1")], np.array([wrong]))
    with pytest.raises(IndexUnavailable):
        bench.store.query(wrong, reading_as("家"), 5)
    assert bench.store.count() == 0


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_vector_that_is_not_finite_is_refused(bench: Bench, number: float) -> None:
    spoilt = np.full(DIM, number, dtype=np.float32)
    with pytest.raises(IndexUnavailable):
        bench.store.upsert([record("家", "a"), record("家", "b")], np.array([unit(1), spoilt]))
    with pytest.raises(IndexUnavailable):
        bench.store.query(spoilt, reading_as("家"), 5)
    assert bench.store.count() == 0


def test_each_record_needs_its_vector(bench: Bench) -> None:
    with pytest.raises(ValueError, match="2 records, 1 vectors"):
        bench.store.upsert([record("家", "a"), record("家", "b")], np.array([unit(1)]))


def test_collections_do_not_see_each_other(bench: Bench, name: str) -> None:
    other = bench.store.name_for(Fingerprint("test", DIM, str(next(_numbers))))
    bench.store.upsert([record("家", "m-1")], np.array([unit(1)]))
    bench.store.use(other)
    assert bench.store.count() == 0
    assert {name, other} <= set(bench.store.collections())
    bench.store.drop(name)
    bench.store.drop("memories-never-made-8-0000000000000000")
    assert name not in bench.store.collections()
    bench.store.use(name)
    assert bench.store.hashes() == {}


def test_the_collection_in_use_cannot_be_dropped(bench: Bench, name: str) -> None:
    with pytest.raises(IndexUnavailable):
        bench.store.drop(name)
    assert name in bench.store.collections()


def test_only_collections_of_ours_are_used(bench: Bench) -> None:
    with pytest.raises(ValueError, match="personal_memory_v1"):
        bench.store.use("personal_memory_v1")


def test_reopening_keeps_everything(bench: Bench, name: str) -> None:
    many = [record(scope, str(n), f"h{n}") for n in range(40) for scope in ("家", "public")]
    bench.store.upsert(many, vectors(80))
    before = bench.store.query(unit(1), reading_as("家"), 80)
    store = bench.reopen()
    assert name in store.collections()
    store.use(name)
    assert store.count() == 80
    assert store.hashes() == {r.key: r.content_hash for r in many}
    assert store.query(unit(1), reading_as("家"), 80) == before
    store.use(name)
    store.open()
    assert store.count() == 80


def test_sixteen_threads_read_and_write_at_once(bench: Bench) -> None:
    store = bench.store
    scopes = [f"家{number}" for number in range(8)]

    def work(number: int) -> list[Key]:
        scope, seen = scopes[number % 8], list[Key]()
        mine: Sequence[Vector] = vectors(12, number)
        for turn in range(12):
            store.upsert([record(scope, f"{number}-{turn}")], np.array([mine[turn]]))
            seen += keys(store.query(mine[turn], reading_as(scope), 30))
            if turn % 4 == 3:
                store.delete([Key(scope, f"{number}-{turn}")])
                store.hashes()
        return [key for key in seen if key.scope != scope]

    with ThreadPoolExecutor(16) as pool:
        leaked = list(pool.map(work, range(16)))
    assert leaked == [[]] * 16
    expected = {
        Key(scopes[number % 8], f"{number}-{turn}")
        for number in range(16)
        for turn in range(12)
        if turn % 4 != 3
    }
    assert set(store.hashes()) == expected


CALLS = {
    "upsert": lambda store: store.upsert([record("家", "m-1")], np.array([unit(1)])),
    "delete": lambda store: store.delete([Key("家", "m-1")]),
    "hashes": lambda store: store.hashes(),
    "count": lambda store: store.count(),
    "query": lambda store: store.query(unit(1), reading_as("家"), 5),
    "query for none": lambda store: store.query(unit(1), reading_as("家"), 0),
}
ALWAYS = {
    "collections": lambda store: store.collections(),
    "use": lambda store: store.use(store.name_for(SPACE)),
    "drop": lambda store: store.drop("memories-x-8-0000000000000000"),
}


@pytest.mark.parametrize("call", CALLS)
def test_without_a_collection_nothing_answers(unopened: Bench, call: str) -> None:
    with pytest.raises(IndexUnavailable):
        CALLS[call](unopened.store)
    unopened.store.open()
    with pytest.raises(IndexUnavailable):
        CALLS[call](unopened.store)


@pytest.mark.parametrize("call", ALWAYS)
def test_before_it_is_open_nothing_answers(unopened: Bench, call: str) -> None:
    with pytest.raises(IndexUnavailable):
        ALWAYS[call](unopened.store)


def test_a_closed_store_stays_closed(unopened: Bench) -> None:
    store = unopened.store
    store.open()
    store.use(store.name_for(SPACE))
    store.close()
    store.close()
    for call in (CALLS | ALWAYS).values():
        with pytest.raises(IndexUnavailable):
            call(store)
    with pytest.raises(IndexUnavailable):
        store.open()


def test_a_store_may_be_closed_before_it_was_opened(unopened: Bench) -> None:
    unopened.store.close()
    with pytest.raises(IndexUnavailable):
        unopened.store.open()
