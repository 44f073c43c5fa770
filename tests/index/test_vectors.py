"""The arrays that vectors are searched in, names of ours in Chroma, what may enter a filter, and
what passes the second check."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.errors import IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.index.chroma.records import (
    collection_name,
    parse_id,
    record_id,
    visible,
)
from astrbot_plugin_scoped_memory.llm_memory.index.chroma.scope_where import scope_where
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Fingerprint, Vectors
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


def unit(seed: int, count: int = 1) -> Vectors:
    rows = np.random.default_rng(seed).normal(size=(count, DIM)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


CHANGES = st.lists(st.tuples(KEYS, st.none() | st.integers(0, 50)), max_size=60)


@given(CHANGES, st.sampled_from(FILTERS), st.integers(1, 9))
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
    asks, says = Key("家", "asks"), Key("家", "says")
    records = [IndexRecord(asks, "h", asked.astype("<f2").tobytes()), IndexRecord(says, "h")]
    arrays.put(records, unit(2, 2))
    found = arrays.plain([asks, says, Key("家", "unknown")])
    assert found.keys() == {asks, says}
    assert found[asks] == pytest.approx(asked, abs=1e-3)
    assert np.array_equal(found[says], unit(2, 2)[1])
    arrays.put([IndexRecord(asks, "h2")], unit(3))
    assert np.array_equal(arrays.plain([asks])[asks], unit(3)[0])
    arrays.drop([asks, says])
    assert arrays.nbytes == 0


@pytest.mark.parametrize(
    "wrong", [*(np.ones(n) for n in (0, 1, DIM - 1, DIM + 1)), np.full(DIM, np.nan)], ids=str
)
def test_a_vector_of_another_space_is_refused(wrong: Vectors) -> None:
    arrays, record = VectorArrays(), IndexRecord(Key("家", "m-1"), "h")
    assert arrays.nearest(unit(1)[0], FAMILY, 5) == Neighbours(())
    arrays.put([record], unit(1))
    with pytest.raises(IndexUnavailable):
        arrays.put([record], np.array([wrong]))
    with pytest.raises(IndexUnavailable):
        arrays.nearest(wrong, FAMILY, 5)
    assert arrays.nearest(unit(1)[0], FAMILY, 5).found[0].similarity == pytest.approx(1.0)


LEGAL = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]")
FINGERPRINTS = st.builds(Fingerprint, st.text(max_size=600), st.integers(1, 100_000), st.text())


@example(Fingerprint("a-8", 8), Fingerprint("a", 88))
@given(FINGERPRINTS, FINGERPRINTS)
def test_each_embedder_has_a_legal_name_of_its_own(one: Fingerprint, two: Fingerprint) -> None:
    assert LEGAL.fullmatch(collection_name(one))
    assert (collection_name(one) == collection_name(two)) == (one == two)
    assert collection_name(one, "0" * 32) != collection_name(one, "1" * 32)


@given(st.text("a/b家-", min_size=1, max_size=6), st.text("aA家-_", min_size=1, max_size=4))
def test_every_key_comes_back_from_its_id(memory_id: str, scope: str) -> None:
    assert parse_id(record_id(Key(scope, memory_id))) == Key(scope, memory_id)


@pytest.mark.parametrize(
    "key", [Key("", "a/b"), Key("a/b", "c"), Key("a", ""), Key("", ""), Key("/", "a")]
)
def test_a_key_that_could_be_taken_for_another_is_refused(key: Key) -> None:
    with pytest.raises(ValueError, match="no key"):
        record_id(key)


class Impostor(Scope):
    """Not the class itself: it could answer with another name."""


NO_SCOPES: list[Any] = [{"$ne": "x"}, "家", None, 1, ["public"], object(), Impostor.parse("x")]
NO_FLAGS: list[Any] = ["no", 1, None]
NO_FILTERS: list[Any] = [
    *(ScopeFilter((PUBLIC, name)) for name in NO_SCOPES),
    *(ScopeFilter((PUBLIC,), shelves=(name,)) for name in NO_SCOPES),
    *(ScopeFilter((PUBLIC,), everything=some) for some in NO_FLAGS),
    *(None, {}, {"memory_scope": "public"}, PUBLIC, (PUBLIC,)),
    ScopeFilter(()),
    ScopeFilter((), shelves=(SHARED,)),
]


@pytest.mark.parametrize("scope_filter", NO_FILTERS)
def test_nothing_enters_a_filter_but_validated_scopes_and_shelves(scope_filter: Any) -> None:
    arrays = VectorArrays()
    arrays.put([IndexRecord(Key("家", "m-1"), "h")], unit(1))
    with pytest.raises((TypeError, ValueError)):
        scope_where(scope_filter)
    with pytest.raises((TypeError, ValueError)):
        arrays.nearest(unit(1)[0], scope_filter, 5)


NAMES = ("家", "家人", "public", "quarantine", "a", "A")
STORED = st.sampled_from(NAMES) | st.none() | st.integers() | st.booleans() | st.text(max_size=2)
ANSWERS = st.lists(
    st.tuples(
        st.builds("{}/{}".format, st.sampled_from((*NAMES, "")), st.text(max_size=2)),
        st.none() | st.dictionaries(st.sampled_from(("memory_scope", "kind")), STORED, max_size=2),
        st.floats(-1, 3) | st.sampled_from((float("nan"), float("inf"), None)),
    )
)


@example([("public/m-1", {"memory_scope": "public"}, float("nan"))], "public", False)
@given(ANSWERS, st.sampled_from(NAMES), st.booleans())
def test_an_unfiltered_answer_shows_a_reader_its_own_scope_and_public_only(
    answer: list[tuple[str, Any, Any]], reader: str, everything: bool
) -> None:
    scopes = ScopeFilter.reading_as(Scope.parse(reader, derived=True)).scopes
    ids, metadatas, distances = zip(*answer, strict=True) if answer else ((), (), ())
    neighbours = visible(ids, metadatas, distances, ScopeFilter(scopes, everything))
    allowed = set(NAMES) - {"quarantine"} if everything else {reader, "public"}
    assert {neighbour.key.scope for neighbour in neighbours.found} <= allowed
    assert len(neighbours.found) + neighbours.dropped == len(answer)
    truthful = {(i, m["memory_scope"]) for i, m, _ in answer if m and "memory_scope" in m}
    for neighbour in neighbours.found:
        scope, memory_id = neighbour.key.scope, neighbour.key.memory_id
        assert (f"{scope}/{memory_id}", scope) in truthful
        assert -1.0 <= neighbour.similarity <= 1.0
