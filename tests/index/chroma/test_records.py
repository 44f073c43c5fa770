"""Names of ours in Chroma, what may enter a filter, and what passes the second check."""

from __future__ import annotations

import re
from typing import Any, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.index.chroma.records import (
    collection_name,
    parse_id,
    record_id,
    visible,
)
from astrbot_plugin_scoped_memory.llm_memory.index.chroma.scope_where import scope_where
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Fingerprint
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.llm_memory.models.scope import (
    PUBLIC,
    SHARED,
    Scope,
    ScopeFilter,
)

pytestmark = pytest.mark.unit

LEGAL = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]")
FINGERPRINTS = st.builds(Fingerprint, st.text(max_size=600), st.integers(1, 100_000), st.text())
FAMILY = Scope.parse("家")


@example(Fingerprint("模型", 8), Fingerprint("别的", 8))
@example(Fingerprint("a/b", 8), Fingerprint("a-b", 8))
@example(Fingerprint("a-8", 8), Fingerprint("a", 88))
@example(Fingerprint("x" * 70 + "a", 8), Fingerprint("x" * 70 + "b", 8))
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
NO_FILTERS: list[Any] = [None, {}, {"memory_scope": "public"}, FAMILY, (FAMILY,)]


@pytest.mark.parametrize(
    "scope_filter",
    [
        *(ScopeFilter((PUBLIC, name)) for name in NO_SCOPES),
        *(ScopeFilter((PUBLIC,), shelves=(name,)) for name in NO_SCOPES),
        *(ScopeFilter((PUBLIC,), everything=some) for some in cast("list[Any]", ["no", 1, None])),
        *NO_FILTERS,
        ScopeFilter(()),
        ScopeFilter((), shelves=(SHARED,)),
    ],
)
def test_nothing_enters_a_filter_but_validated_scopes_and_shelves(scope_filter: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        scope_where(scope_filter)


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
