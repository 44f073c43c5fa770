"""The second check refuses whatever it cannot vouch for, whatever Chroma was asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.index.ports import Neighbours
from astrbot_plugin_scoped_memory.llm_memory.index.vector.records import (
    visible,
)
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


@pytest.mark.parametrize("distance", [float("nan"), float("inf"), float("-inf"), 3.0, -1.0])
def test_a_distance_that_is_none_is_no_neighbour(distance: float) -> None:
    answer = [("public/m-1", {"memory_scope": "public"}, distance)]
    assert visible(answer, ScopeFilter.reading_as(PUBLIC)) == Neighbours((), dropped=1)
