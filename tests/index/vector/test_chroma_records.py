"""The second check refuses whatever it cannot vouch for, whatever Chroma was asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.index.ports import IndexRecord, Neighbour, Neighbours
from astrbot_plugin_scoped_memory.llm_memory.index.vector.records import (
    sound_hash,
    stored_metadata,
    visible,
)
from astrbot_plugin_scoped_memory.llm_memory.models.key import Key
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC, Scope, ScopeFilter

pytestmark = pytest.mark.unit

NAMES = ("家", "家人", "public", "quarantine", "a", "A")
STORED = st.sampled_from(NAMES) | st.none() | st.integers() | st.booleans() | st.text(max_size=2)
ANSWERS = st.lists(
    st.tuples(
        st.builds("{}/{}".format, st.sampled_from((*NAMES, "")), st.text(max_size=2)),
        st.none() | st.dictionaries(st.sampled_from(("memory_scope", "kind")), STORED, max_size=2),
        st.floats(-1, 3) | st.just(float("nan")),
    )
)


@given(ANSWERS, st.sampled_from(NAMES), st.booleans())
def test_an_unfiltered_answer_shows_a_reader_its_own_scope_and_public_only(
    answer: list[tuple[str, dict[str, object] | None, float]], reader: str, everything: bool
) -> None:
    scopes = ScopeFilter.reading_as(Scope.parse(reader, derived=True)).scopes
    neighbours = visible(answer, ScopeFilter(scopes, everything))
    allowed = set(NAMES) - {"quarantine"} if everything else {reader, "public"}
    assert {neighbour.key.scope for neighbour in neighbours.found} <= allowed
    assert len(neighbours.found) + neighbours.dropped == len(answer)
    truthful = {(i, m["memory_scope"]) for i, m, _ in answer if m and "memory_scope" in m}
    for neighbour in neighbours.found:
        scope, memory_id = neighbour.key.scope, neighbour.key.memory_id
        assert (f"{scope}/{memory_id}", scope) in truthful


def test_sound_records_come_through_in_their_order() -> None:
    answer = [
        ("家/m-2", {"memory_scope": "家"}, 0.25),
        ("public/m-1", {"memory_scope": "public"}, 0.5),
        ("公司/m-1", {"memory_scope": "公司"}, 0.75),
        ("家/m-1", {"memory_scope": "家"}, 2.0000001),
    ]
    neighbours = visible(answer, ScopeFilter.reading_as(Scope.parse("家")))
    found = (
        Neighbour(Key("家", "m-2"), 0.75),
        Neighbour(Key("public", "m-1"), 0.5),
        Neighbour(Key("家", "m-1"), -1.0),
    )
    assert neighbours == Neighbours(found, dropped=1)


@pytest.mark.parametrize("distance", [float("nan"), float("inf"), float("-inf"), 3.0, -1.0])
def test_a_distance_that_is_none_is_no_neighbour(distance: float) -> None:
    answer = [("public/m-1", {"memory_scope": "public"}, distance)]
    assert visible(answer, ScopeFilter.reading_as(PUBLIC)) == Neighbours((), dropped=1)


def test_the_record_names_scope_and_hash_whatever_its_metadata_says() -> None:
    forged = {"memory_scope": "public", "has_scope": 0, "content_hash": "x", "who": "小明"}
    assert stored_metadata(IndexRecord(Key("家", "m-1"), "text", "h", forged)) == {
        "memory_scope": "家",
        "has_scope": 1,
        "content_hash": "h",
        "who": "小明",
    }


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"memory_scope": "家", "content_hash": "h"}, "h"),
        ({"memory_scope": "public", "content_hash": "h"}, ""),
        ({"memory_scope": "家", "content_hash": 7}, ""),
        ({"memory_scope": "家"}, ""),
        ({"content_hash": "h"}, ""),
        ({}, ""),
        (None, ""),
    ],
)
def test_a_damaged_record_has_no_hash(metadata: dict[str, object] | None, expected: str) -> None:
    assert sound_hash(Key("家", "m-1"), metadata) == expected
