"""Three ways to the neighbours a reader may see: one answer, each way where it is cheap."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Vector
from astrbot_plugin_scoped_memory.llm_memory.index.ports import Neighbours
from astrbot_plugin_scoped_memory.llm_memory.index.vector.search import Search
from astrbot_plugin_scoped_memory.llm_memory.models.key import Key
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC, Scope, ScopeFilter

pytestmark = pytest.mark.unit

DIM = 4
FAMILY = ScopeFilter.reading_as(Scope.parse("家"))
EVERYTHING = ScopeFilter((PUBLIC,), everything=True)


def direction(number: int) -> Vector:
    """Some unit vector, always the same for a number."""
    row = np.random.default_rng(number).normal(size=DIM).astype(np.float32)
    return row / np.linalg.norm(row)


QUERY = direction(-1 % 2**32)


def matches(metadata: Mapping[str, object], where: Mapping[str, Any]) -> bool:
    """What Chroma makes of a filter."""
    scope, condition = metadata.get("memory_scope"), where["memory_scope"]
    if isinstance(condition, str):
        return scope == condition
    return scope in condition["$in"] if "$in" in condition else scope != condition["$ne"]


class FakeCollection:
    """Answers exactly what Chroma's collection would, and writes down how it was asked."""

    def __init__(self, rows: Mapping[str, tuple[Mapping[str, object], Vector]]) -> None:
        self.rows = dict(rows)
        self.asked: list[str] = []
        self.between: Callable[[], None] = lambda: None

    def query(
        self,
        query_embeddings: Sequence[Vector],
        n_results: int,
        include: Sequence[str],
        where: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        self.asked.append("wide" if where is None else "filter")
        found = [
            (identifier, metadata, 1.0 - float(row @ query_embeddings[0]))
            for identifier, (metadata, row) in self.rows.items()
            if where is None or matches(metadata, where)
        ]
        found = sorted(found, key=lambda item: item[2])[:n_results]
        self.between()
        return {
            "ids": [[item[0] for item in found]],
            "metadatas": [[item[1] for item in found]] if "metadatas" in include else None,
            "distances": [[item[2] for item in found]],
        }

    def get(
        self,
        include: Sequence[str],
        ids: Sequence[str] | None = None,
        where: Mapping[str, Any] | None = None,
        limit: int | None = None,
    ) -> dict[str, Any]:
        if ids is None:
            self.asked.append("fetch" if "embeddings" in include else "count")
        found = [
            (identifier, metadata, row)
            for identifier, (metadata, row) in self.rows.items()
            if (ids is None or identifier in ids) and (where is None or matches(metadata, where))
        ][:limit]
        return {
            "ids": [item[0] for item in found],
            "metadatas": [item[1] for item in found],
            "embeddings": np.array([item[2] for item in found]),
        }


def stored(*scopes: str) -> FakeCollection:
    """One record for each scope named, ``m-<place in the list>``."""
    return FakeCollection(
        {
            f"{scope}/m-{number}": ({"memory_scope": scope}, direction(number))
            for number, scope in enumerate(scopes)
        }
    )


class Bench:
    """A search over a fake, however few records that has."""

    def __init__(self, collection: FakeCollection, *, many: int = 0, small: int = 5) -> None:
        self.collection = collection
        self._search = Search(self._ask, many=many, small=small)

    def _ask(self, doing: str, call: Callable[[Any], Any]) -> Any:
        assert doing == "query"
        return call(self.collection)

    def query(self, scope_filter: ScopeFilter = FAMILY, k: int = 3) -> Neighbours:
        self.collection.asked.clear()
        return self._search.query(QUERY, scope_filter, k, lambda: len(self.collection.rows))

    def ways(self, k: int = 3) -> list[str]:
        self.query(k=k)
        return list(self.collection.asked)


def nearest_of(collection: FakeCollection, scope_filter: ScopeFilter, k: int) -> list[Key]:
    """By brute force, of sound records."""
    seen = [
        (float(row @ QUERY), Key(*identifier.split("/", 1)))
        for identifier, (metadata, row) in collection.rows.items()
        if scope_filter.admits(identifier.split("/")[0])
    ]
    return [key for _, key in sorted(seen, key=lambda item: -item[0])[:k]]


SCOPES = st.lists(st.sampled_from(("家", "public", "公司", "家人", "quarantine")), max_size=120)


@given(
    SCOPES,
    st.integers(1, 60),
    st.integers(0, 40),
    st.sampled_from((FAMILY, EVERYTHING, ScopeFilter((PUBLIC,)))),
)
def test_whatever_the_way_the_answer_is_that_of_brute_force(
    scopes: list[str], k: int, small: int, reader: ScopeFilter
) -> None:
    bench = Bench(stored(*scopes), small=small)
    for _ in range(4):  # the ways change from one query to the next
        answer = bench.query(reader, k)
        assert [neighbour.key for neighbour in answer.found] == nearest_of(
            bench.collection, reader, k
        )
        assert answer.dropped == 0


def test_a_reader_of_much_of_what_is_near_needs_no_filter() -> None:
    bench = Bench(stored(*(["家", "公司"] * 50)))
    assert bench.ways() == ["wide"]
    assert bench.ways() == ["wide"]


def test_a_small_store_is_asked_with_the_filter_at_once() -> None:
    assert Bench(stored("家", "公司"), many=3).ways() == ["filter"]


@pytest.mark.parametrize("k", [-1, 0, 1000])
def test_nothing_wanted_or_too_much_is_asked_with_the_filter(k: int) -> None:
    bench = Bench(stored(*["家"] * 20))
    answer = bench.query(k=k)
    assert bench.collection.asked == ["filter"]
    assert len(answer.found) == min(max(k, 0), 20)


def test_a_neighbourhood_full_of_another_scopes_records_shows_none_of_them() -> None:
    bench = Bench(stored(*["公司"] * 200, "家", "家", "家人"))
    for _ in range(3):
        answer = bench.query(k=10)
        assert {neighbour.key.scope for neighbour in answer.found} == {"家"}
        assert (len(answer.found), answer.dropped) == (2, 0)


def test_a_small_scope_is_fetched_whole_and_not_looked_round_for_again() -> None:
    bench = Bench(stored(*["公司"] * 200, *["家"] * 4))
    assert bench.ways() == ["wide", "count", "fetch"]
    assert bench.ways() == ["fetch"]
    assert bench.ways() == ["fetch"]


def test_a_small_scope_that_grew_is_filtered_and_tried_anew() -> None:
    bench = Bench(stored(*["公司"] * 200, *["家"] * 4))
    bench.ways()
    grown = {f"家/n-{n}": ({"memory_scope": "家"}, direction(900 + n)) for n in range(9)}
    bench.collection.rows.update(grown)
    answer = bench.query()
    assert bench.collection.asked == ["fetch", "filter"]
    assert [n.key for n in answer.found] == nearest_of(bench.collection, FAMILY, 3)


def test_the_more_often_the_wide_way_was_in_vain_the_less_often_it_is_tried() -> None:
    far = {f"家/m-{n}": ({"memory_scope": "家"}, -QUERY) for n in range(9)}
    near = {f"公司/m-{n}": ({"memory_scope": "公司"}, QUERY) for n in range(200)}
    bench = Bench(FakeCollection(near | far))
    tried = [number for number in range(200) if "wide" in bench.ways()]
    assert tried[:5] == [0, 2, 6, 14, 30]
    assert {later - sooner for sooner, later in pairwise(tried[5:])} == {32}


def test_one_filter_that_starves_says_nothing_of_another() -> None:
    bench = Bench(stored(*["公司"] * 200, *["家"] * 9))
    bench.ways()
    bench.query(ScopeFilter((Scope.parse("公司"),)))
    assert bench.collection.asked == ["wide"]


@pytest.mark.parametrize(
    "metadata", [{"memory_scope": "公司"}, {}, {"memory_scope": 1}, {"memory_scope": "public"}]
)
def test_an_id_alone_makes_nothing_visible(metadata: dict[str, object]) -> None:
    """The id says 家, the record something else."""
    liar = {"家/liar": (metadata, QUERY)}
    sound = {f"家/m-{n}": ({"memory_scope": "家"}, direction(n)) for n in range(60)}
    bench = Bench(FakeCollection(liar | sound))
    answer = bench.query()
    assert Key("家", "liar") not in {n.key for n in answer.found}
    assert len(answer.found) == 3
    # What the filter would have kept out is no news; what it would have let in is counted.
    assert answer.dropped == (metadata.get("memory_scope") == "public")


def test_a_record_that_went_between_two_questions_is_left_out() -> None:
    bench = Bench(stored(*["家"] * 60))
    first = nearest_of(bench.collection, FAMILY, 1)[0]

    def forget() -> None:
        bench.collection.rows.pop(f"{first.scope}/{first.memory_id}", None)

    bench.collection.between = forget
    answer = bench.query()
    assert [n.key for n in answer.found] == nearest_of(bench.collection, FAMILY, 3)
    assert first not in {n.key for n in answer.found}
