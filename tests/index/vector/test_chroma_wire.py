"""What crosses to the process that holds Chroma arrives as it was."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Fingerprint
from astrbot_plugin_scoped_memory.llm_memory.index.ports import IndexRecord, Neighbour, Neighbours
from astrbot_plugin_scoped_memory.llm_memory.index.vector import wire
from astrbot_plugin_scoped_memory.llm_memory.models.key import Key
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC, Scope, ScopeFilter
from astrbot_plugin_scoped_memory.llm_memory.models.shelf import SHARED, Shelf

pytestmark = pytest.mark.unit

ANY = st.text(st.characters(exclude_categories=()), max_size=30)  # half surrogate pairs, too
KEYS = st.builds(Key, ANY, ANY)


def across(said: object) -> object:
    return json.loads(json.dumps(said))


@given(st.lists(st.tuples(KEYS, ANY), max_size=5), st.dictionaries(ANY, ANY, max_size=3))
def test_records_keys_and_hashes_arrive(
    pairs: list[tuple[Key, str]], metadata: dict[str, str]
) -> None:
    records = [IndexRecord(key, "not sent", content_hash, metadata) for key, content_hash in pairs]
    heard = wire.records_from_wire(across(wire.records_to_wire(records)))
    assert [(r.key, r.content_hash, r.metadata) for r in heard] == [
        (key, content_hash, metadata) for key, content_hash in pairs
    ]
    keys = [key for key, _ in pairs]
    assert wire.keys_from_wire(across(wire.keys_to_wire(keys))) == keys
    assert wire.hashes_from_wire(across(wire.hashes_to_wire(dict(pairs)))) == dict(pairs)


@given(st.builds(Fingerprint, ANY, st.integers(1, 5000), ANY))
def test_a_fingerprint_arrives(fingerprint: Fingerprint) -> None:
    assert wire.fingerprint_from_wire(across(wire.fingerprint_to_wire(fingerprint))) == fingerprint


@given(st.lists(st.tuples(KEYS, st.floats(-1, 1))), st.integers(0, 9))
def test_neighbours_arrive(found: list[tuple[Key, float]], dropped: int) -> None:
    neighbours = Neighbours(tuple(Neighbour(*pair) for pair in found), dropped)
    assert wire.neighbours_from_wire(across(wire.neighbours_to_wire(neighbours))) == neighbours


@pytest.mark.parametrize(
    "scope_filter",
    [
        ScopeFilter.reading_as(PUBLIC),
        ScopeFilter.reading_as(Scope.parse("dm-家", derived=True), shelves=(SHARED,)),
        ScopeFilter.reading_as(PUBLIC, shelves=(SHARED, Shelf.of_role("猫/娘 con"))),
        ScopeFilter((PUBLIC,), everything=True),
    ],
)
def test_a_filter_arrives_and_admits_the_same(scope_filter: ScopeFilter) -> None:
    assert wire.filter_from_wire(across(wire.filter_to_wire(scope_filter))) == scope_filter


def test_vectors_arrive() -> None:
    rows = np.random.default_rng(1).normal(size=(3, 4))
    shape, body = wire.rows_to_wire(rows)
    assert np.array_equal(wire.rows_from_wire(shape, body), rows.astype(np.float32))
    shape, body = wire.rows_to_wire(rows[0])
    assert wire.rows_from_wire(shape, body).shape == (4,)
