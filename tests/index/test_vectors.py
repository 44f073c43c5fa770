"""The arrays that vectors are searched in: exact, and inside the scopes of the filter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.errors import IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Vectors
from astrbot_plugin_scoped_memory.llm_memory.index.ports import IndexRecord, Neighbours
from astrbot_plugin_scoped_memory.llm_memory.index.vectors import VectorArrays
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.llm_memory.models.scope import (
    PUBLIC,
    SHARED,
    Place,
    Scope,
    ScopeFilter,
)

pytestmark = pytest.mark.unit

DIM = 8
PLACES = ("家", "家人", "public", "quarantine", "@shared", "@person:" + "0" * 32)
KEYS = st.builds(Key, st.sampled_from(PLACES), st.sampled_from("abcde"))
FAMILY = ScopeFilter.reading_as(Scope.parse("家"))
FILTERS = (
    FAMILY,
    ScopeFilter.reading_as(PUBLIC, shelves=(SHARED,)),
    ScopeFilter((Place("家人"),), shelves=(Place(PLACES[-1]),)),
    ScopeFilter((PUBLIC,), everything=True),
)


def unit(seed: int, count: int = 1, dim: int = DIM) -> Vectors:
    rows = np.random.default_rng(seed).normal(size=(count, dim)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def records(scope: str, count: int) -> list[IndexRecord]:
    return [IndexRecord(Key(scope, f"m-{n}"), f"h{n}") for n in range(count)]


CHANGES = st.lists(st.tuples(KEYS, st.none() | st.integers(0, 50)), max_size=60)


@given(CHANGES, st.sampled_from(FILTERS), st.integers(0, 9))
def test_after_any_changes_a_search_is_what_looking_at_each_gives(
    changes: Sequence[tuple[Key, int | None]], seen: ScopeFilter, k: int
) -> None:
    arrays, expected = VectorArrays(), dict[Key, int]()
    for key, seed in changes:
        if seed is None:
            arrays.drop([key])
            expected.pop(key, None)
        else:
            arrays.put([IndexRecord(key, f"h{seed}", bytes(2 * (seed % 2)))], unit(seed))
            expected[key] = seed
    assert arrays.nbytes == 4 * DIM * len(expected)
    vector = unit(77)[0]
    admitted = {
        key: float(unit(s)[0] @ vector) for key, s in expected.items() if seen.admits(key.scope)
    }
    found = arrays.nearest(vector, seen, k)
    assert found.dropped == 0
    best = sorted(admitted.values(), reverse=True)[:k]
    assert [n.similarity for n in found.found] == pytest.approx(best, abs=1e-6)
    for neighbour in found.found:
        assert neighbour.similarity == pytest.approx(admitted[neighbour.key], abs=1e-6)
    pages = [(r, row) for some, rows in arrays.pages(3) for r, row in zip(some, rows, strict=True)]
    assert {r.key: r.content_hash for r, _ in pages} == {k: f"h{s}" for k, s in expected.items()}
    assert all(np.array_equal(row, unit(expected[r.key])[0]) for r, row in pages)
    assert all(r.plain == bytes(2 * (expected[r.key] % 2)) for r, _ in pages)


def test_the_plain_vector_is_the_texts_own() -> None:
    arrays, asked = VectorArrays(), unit(1)[0]
    plain = asked.astype("<f2").tobytes()
    both = [IndexRecord(Key("家", "asks"), "h", plain), IndexRecord(Key("家", "says"), "h")]
    arrays.put(both, unit(2, 2))
    found = arrays.plain([Key("家", "asks"), Key("家", "says"), Key("家", "unknown")])
    assert found.keys() == {Key("家", "asks"), Key("家", "says")}
    assert found[Key("家", "asks")] == pytest.approx(asked, abs=1e-3)
    assert np.array_equal(found[Key("家", "says")], unit(2, 2)[1])
    arrays.put([IndexRecord(Key("家", "asks"), "h2")], unit(3))
    assert np.array_equal(arrays.plain([Key("家", "asks")])[Key("家", "asks")], unit(3)[0])
    arrays.drop([one.key for one in both])
    assert arrays.nbytes == 0


@pytest.mark.parametrize("asked", [ScopeFilter(({"$ne": "x"},)), {"$ne": "x"}, "家", None])  # type: ignore[arg-type]
def test_only_a_filter_of_validated_scopes_may_ask(asked: object) -> None:
    arrays = VectorArrays()
    arrays.put(records("家", 1), unit(1))
    with pytest.raises(TypeError):
        arrays.nearest(unit(1)[0], asked, 5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong", [*(np.ones(n) for n in (0, 1, DIM - 1, DIM + 1)), np.full(DIM, np.nan)], ids=str
)
def test_a_vector_of_another_space_is_refused(wrong: Vectors) -> None:
    arrays = VectorArrays()
    arrays.put(records("家", 1), unit(1))
    with pytest.raises(IndexUnavailable):
        arrays.put(records("家", 1), np.array([wrong]))
    with pytest.raises(IndexUnavailable):
        arrays.nearest(wrong, FAMILY, 5)
    assert arrays.nearest(unit(1)[0], FAMILY, 5).found[0].similarity == pytest.approx(1.0)
    assert VectorArrays().nearest(unit(1)[0], FAMILY, 5) == Neighbours(())
