"""What every vector store promises: write, replace, delete, count, ask."""

import numpy as np
import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.index.ports import Neighbours
from astrbot_plugin_scoped_memory.llm_memory.models.key import Key
from astrbot_plugin_scoped_memory.tests.index.vector.vector_bench import (
    DIM,
    Bench,
    keys,
    reading_as,
    record,
    unit,
    vectors,
)

pytestmark = [pytest.mark.process, pytest.mark.contract]


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


def test_hostile_metadata_is_no_reason_to_refuse_a_batch(bench: Bench) -> None:
    who = "\ud83d half an emoji \x00 \n ^m-1 " + "长" * 10_000
    bench.store.upsert([record("家", "m-1", who=who, role="")], np.array([unit(1)]))
    assert bench.store.count() == 1


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
