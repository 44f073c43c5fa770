"""What every vector store promises: write, replace, delete, count, ask; collections, reopening,
closing, and many threads at once."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Fingerprint, Vector
from astrbot_plugin_scoped_memory.llm_memory.index.vector.ports import Neighbours, VectorStore
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
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


def test_writing_a_key_again_replaces_it_in_one_call_too(bench: Bench) -> None:
    bench.store.upsert([record("家", "m-1", "old")], np.array([unit(1)]))
    twice = [record("家", "m-1", "first"), record("家", "m-1", "last")]
    bench.store.upsert(twice, np.array([unit(1), unit(0, 1)]))
    assert bench.store.hashes() == {Key("家", "m-1"): "last"}
    found = bench.store.query(unit(0, 1), reading_as("家"), 3).found
    assert [round(n.similarity, 3) for n in found] == [1.0]


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


def test_three_hundred_records_are_one_call(bench: Bench) -> None:
    many = [record("家", str(number), f"h{number}") for number in range(300)]
    bench.store.upsert(many, vectors(300))
    assert bench.store.hashes() == {r.key: r.content_hash for r in many}
    found = bench.store.query(vectors(300)[123], reading_as("家"), 1).found
    assert found[0].key == Key("家", "123")
    bench.store.delete([*(r.key for r in many[:299]), many[0].key, Key("家", "never-written")])
    assert list(bench.store.hashes()) == [many[299].key]


def test_hostile_metadata_is_no_reason_to_refuse_a_batch(bench: Bench) -> None:
    who = "\ud83d half an emoji \x00 \n ^m-1 " + "长" * 10_000
    bench.store.upsert([record("家", "m-1", who=who, role="")], np.array([unit(1)]))
    assert bench.store.count() == 1


@pytest.mark.parametrize(
    "wrong", [*(np.ones(n) for n in (0, 1, DIM - 1, DIM + 1)), np.full(DIM, np.nan)], ids=str
)
def test_a_vector_that_is_none_of_the_collections_is_refused(bench: Bench, wrong: Vector) -> None:
    for rows in ([wrong], [wrong, wrong]):
        with pytest.raises(IndexUnavailable):
            bench.store.upsert([record("家", str(n)) for n in range(len(rows))], np.array(rows))
    with pytest.raises(IndexUnavailable):
        bench.store.query(wrong, reading_as("家"), 5)
    assert bench.store.count() == 0


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


def test_before_it_is_open_and_without_a_collection_nothing_answers(unopened: Bench) -> None:
    for call in (CALLS | ALWAYS).values():
        with pytest.raises(IndexUnavailable):
            call(unopened.store)
    unopened.store.open()
    for call in CALLS.values():
        with pytest.raises(IndexUnavailable):
            call(unopened.store)


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


def test_closing_ends_the_calls_of_others_in_answers_or_in_one_error(unopened: Bench) -> None:
    store = unopened.store
    store.open()
    store.use(store.name_for(SPACE))
    begun = Barrier(9)

    def ask() -> None:
        begun.wait(30)
        with pytest.raises(IndexUnavailable):
            while True:
                store.count()

    with ThreadPoolExecutor(8) as pool:
        asking = [pool.submit(ask) for _ in range(8)]
        begun.wait(30)
        store.close()
        for one in asking:
            one.result(30)


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
