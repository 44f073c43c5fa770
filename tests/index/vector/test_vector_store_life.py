"""Collections, reopening, closing, and many threads at once."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Fingerprint, Vector
from astrbot_plugin_scoped_memory.llm_memory.index.ports import VectorStore
from astrbot_plugin_scoped_memory.llm_memory.models.key import Key
from astrbot_plugin_scoped_memory.tests.index.vector.vector_bench import (
    DIM,
    SPACE,
    Bench,
    keys,
    reading_as,
    record,
    unit,
    vectors,
)

pytestmark = [pytest.mark.process, pytest.mark.contract]


def test_collections_do_not_see_each_other(bench: Bench, collection: str) -> None:
    other = bench.store.name_for(Fingerprint("test", DIM, "other of " + collection))
    bench.store.upsert([record("家", "m-1")], np.array([unit(1)]))
    bench.store.use(other)
    assert bench.store.count() == 0
    assert {collection, other} <= set(bench.store.collections())
    bench.store.drop(collection)
    bench.store.drop("memories-never-made-8-0000000000000000")
    assert collection not in bench.store.collections()
    bench.store.use(collection)
    assert bench.store.hashes() == {}


def test_the_collection_in_use_cannot_be_dropped(bench: Bench, collection: str) -> None:
    with pytest.raises(IndexUnavailable):
        bench.store.drop(collection)
    assert collection in bench.store.collections()


def test_only_collections_of_ours_are_used(bench: Bench) -> None:
    with pytest.raises(ValueError, match="personal_memory_v1"):
        bench.store.use("personal_memory_v1")


def test_reopening_keeps_everything(bench: Bench, collection: str) -> None:
    many = [record(scope, str(n), f"h{n}") for n in range(40) for scope in ("家", "public")]
    bench.store.upsert(many, vectors(80))
    before = bench.store.query(unit(1), reading_as("家"), 80)
    store = bench.reopen()
    assert collection in store.collections()
    store.use(collection)
    assert store.count() == 80
    assert store.hashes() == {r.key: r.content_hash for r in many}
    assert store.query(unit(1), reading_as("家"), 80) == before
    store.use(collection)
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


type Call = Callable[[VectorStore], object]

CALLS: dict[str, Call] = {
    "upsert": lambda store: store.upsert([record("家", "m-1")], np.array([unit(1)])),
    "delete": lambda store: store.delete([Key("家", "m-1")]),
    "hashes": lambda store: store.hashes(),
    "count": lambda store: store.count(),
    "query": lambda store: store.query(unit(1), reading_as("家"), 5),
    "query for none": lambda store: store.query(unit(1), reading_as("家"), 0),
}
ALWAYS: dict[str, Call] = {
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


def test_what_was_given_up_is_gone_when_it_is_opened_again(unopened: Bench) -> None:
    store = unopened.store
    assert store.open() == ""
    space = store.name_for(SPACE)
    assert not store.use(space)
    store.upsert([record("家", "m-1")], np.array([unit(1)]))
    store.discard("faulty")
    with pytest.raises(IndexUnavailable):
        store.count()
    assert store.open() == "faulty"
    assert store.collections() == ()
    assert not store.use(space)
    assert store.count() == 0
    store.reset()
    assert store.open() == ""


def test_after_a_reset_a_store_is_opened_on_what_there_is(unopened: Bench) -> None:
    store = unopened.store
    store.open()
    space = store.name_for(SPACE)
    store.use(space)
    store.upsert([record("家", "m-1")], np.array([unit(1)]))
    store.reset()
    with pytest.raises(IndexUnavailable):
        store.use(space)
    store.open()
    assert store.use(space)
    assert list(store.hashes()) == [Key("家", "m-1")]


def test_of_what_is_cleared_nothing_is_left_on_our_own_disk(unopened: Bench) -> None:
    store = unopened.store
    store.open()
    space = store.name_for(SPACE)
    store.use(space)
    store.upsert([record("家", "m-1")], np.array([unit(1)]))
    store.discard("faulty")  # set aside
    store.open()
    store.use(space)
    store.upsert([record("家", "m-2")], np.array([unit(1)]))
    store.close()
    unopened.fresh().clear()
    assert unopened.left == []
    store = unopened.store = unopened.fresh()
    store.clear()
    assert store.open() == ""
    assert store.use(space) is unopened.elsewhere
    assert store.count() == unopened.elsewhere
