"""What stands in Chroma and what is asked of it: names and ids that are legal and come back,
filters that only validated scopes enter, a second check of whatever it answers, and one error of
ours for its faults."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.errors import DirectoryInUse, IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.index.chroma.scope_where import scope_where
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Fingerprint
from astrbot_plugin_scoped_memory.llm_memory.index.vector.faults import attempt, translated
from astrbot_plugin_scoped_memory.llm_memory.index.vector.names import (
    collection_name,
    dimension_of,
    parse_id,
    record_id,
)
from astrbot_plugin_scoped_memory.llm_memory.index.vector.ports import Neighbours
from astrbot_plugin_scoped_memory.llm_memory.index.vector.records import visible
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.llm_memory.models.scope import (
    PUBLIC,
    SHARED,
    Place,
    Scope,
    ScopeFilter,
)

pytestmark = pytest.mark.unit

LEGAL = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]")
FINGERPRINTS = st.builds(Fingerprint, st.text(max_size=600), st.integers(1, 100_000), st.text())
FAMILY = Scope.parse("家")


def test_a_collection_is_named_for_people_first() -> None:
    name = collection_name(Fingerprint("BAAI/bge-small-zh_v1.5 模型", 512, "r1"))
    assert re.fullmatch(r"memories-BAAI-bge-small-zh-v1-5-512-[0-9a-f]{16}", name)


@example(Fingerprint("模型", 8), Fingerprint("别的", 8))
@example(Fingerprint("a/b", 8), Fingerprint("a-b", 8))
@example(Fingerprint("a-8", 8), Fingerprint("a", 88))
@example(Fingerprint("x" * 70 + "a", 8), Fingerprint("x" * 70 + "b", 8))
@given(FINGERPRINTS, FINGERPRINTS)
def test_each_fingerprint_has_a_legal_name_of_its_own_that_tells_its_dimension(
    one: Fingerprint, two: Fingerprint
) -> None:
    name = collection_name(one)
    assert LEGAL.fullmatch(name)
    assert dimension_of(name) == one.dim
    assert (name == collection_name(two)) == (one == two)


@pytest.mark.parametrize("name", ["", "personal_memory_v1", "memories-a-8", "memories-a-8-xyz"])
def test_a_foreign_name_tells_no_dimension(name: str) -> None:
    assert dimension_of(name) is None


@given(st.text("a/b家-", min_size=1, max_size=6), st.text("aA家-_", min_size=1, max_size=4))
def test_every_id_is_some_key_and_every_key_comes_back_from_its_id(name: str, scope: str) -> None:
    assert record_id(parse_id(name)) == name
    assert parse_id(record_id(Key(scope, name))) == Key(scope, name)


@pytest.mark.parametrize(
    "key", [Key("", "a/b"), Key("a/b", "c"), Key("a", ""), Key("", ""), Key("/", "a")]
)
def test_a_key_that_could_be_taken_for_another_is_refused(key: Key) -> None:
    with pytest.raises(ValueError, match="no key"):
        record_id(key)


@pytest.mark.parametrize(
    ("scope_filter", "expected"),
    [
        (ScopeFilter.reading_as(PUBLIC), "public"),
        (ScopeFilter.reading_as(FAMILY), {"$in": ["家", "public"]}),
        (ScopeFilter((FAMILY, FAMILY)), "家"),
        (ScopeFilter((PUBLIC,), everything=True), {"$ne": "quarantine"}),
        (
            ScopeFilter.reading_as(FAMILY, shelves=(SHARED, Place.of_role("猫娘"))),
            {"$in": ["家", "public", "@shared", "@role:猫娘"]},
        ),
    ],
)
def test_a_filter_asks_for_its_scopes_and_shelves_alone(
    scope_filter: ScopeFilter, expected: object
) -> None:
    assert scope_where(scope_filter) == {"memory_scope": expected}


@pytest.mark.parametrize("shelves", [(), (SHARED,)])
def test_a_filter_without_a_scope_is_refused(shelves: tuple[Place, ...]) -> None:
    with pytest.raises(ValueError, match="at least one scope"):
        scope_where(ScopeFilter((), shelves=shelves))


class Impostor(Scope):
    """Not the class itself: it could answer with another name."""


NO_SCOPES: list[Any] = [{"$ne": "x"}, "家", None, 1, ["public"], object(), Impostor.parse("x")]
NO_SHELVES: list[Any] = [{"$ne": "x"}, "@shared", None, object()]
NO_FILTERS: list[Any] = [None, {}, {"memory_scope": "public"}, FAMILY, (FAMILY,)]


@pytest.mark.parametrize(
    "scope_filter",
    [
        *(ScopeFilter((PUBLIC, name)) for name in NO_SCOPES),
        *(ScopeFilter((PUBLIC,), shelves=(name,)) for name in NO_SHELVES),
        *(ScopeFilter((PUBLIC,), everything=some) for some in cast("list[Any]", ["no", 1, None])),
        *NO_FILTERS,
    ],
)
def test_nothing_enters_a_filter_but_validated_scopes_and_shelves(scope_filter: Any) -> None:
    with pytest.raises(TypeError):
        scope_where(scope_filter)


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


class Panic(BaseException):
    """What a panic of a native part looks like: no Exception."""


def failing(times: int, message: str) -> Callable[[], int]:
    """A call that fails so many times and then answers how often it was called."""
    calls = 0

    def call() -> int:
        nonlocal calls
        calls += 1
        if calls <= times:
            raise RuntimeError(message)
        return calls

    return call


@pytest.mark.parametrize("error", [RuntimeError("x"), Panic("x"), AttributeError("x"), OSError(28)])
def test_foreign_errors_are_translated_with_their_cause(error: BaseException) -> None:
    message = f"opening: {type(error).__name__}"
    with pytest.raises(IndexUnavailable, match=message) as raised, translated("opening"):
        raise error
    assert raised.value.__cause__ is error


@pytest.mark.parametrize(
    "stop", [KeyboardInterrupt(), SystemExit(1), GeneratorExit(), asyncio.CancelledError()]
)
def test_requests_to_stop_pass(stop: BaseException) -> None:
    with pytest.raises(type(stop)), translated("opening"):
        raise stop


def test_errors_of_ours_pass_as_they_are() -> None:
    with pytest.raises(DirectoryInUse), translated("opening"):
        raise DirectoryInUse("index")


@pytest.mark.parametrize("times", [0, 1, 3])
def test_a_passing_fault_is_tried_again(times: int) -> None:
    assert attempt("query", failing(times, "Internal error: Error finding id")) == times + 1


@pytest.mark.parametrize(
    ("message", "asked"), [("Internal error: Error finding id", 4), ("disk is full", 1)]
)
def test_what_stays_is_given_up_and_another_fault_at_once(message: str, asked: int) -> None:
    call = failing(4, message)
    with pytest.raises(IndexUnavailable, match=message):
        attempt("query", call)
    for _ in range(4 - asked):  # are left to fail
        with pytest.raises(RuntimeError, match=message):
            call()
    assert call() == 5
