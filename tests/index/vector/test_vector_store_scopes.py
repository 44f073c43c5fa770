"""Who sees what: scopes never meet, and a damaged record publishes nothing."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Fingerprint
from astrbot_plugin_scoped_memory.llm_memory.index.vector.ports import Neighbours
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.llm_memory.models.scope import (
    PUBLIC,
    ROOT_NOTES,
    SHARED,
    Place,
    ScopeFilter,
)
from astrbot_plugin_scoped_memory.tests.fakes.vector_store import Row
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

HOSTILE = (
    *("家", "家人", "家人2", "人", "public", "public-x", "publi", "xpublic", "PUBLIC-", "a", "A"),
    *("aa", "dm-a", "dm-a1", "group-1", "quarantine", "quarantine2", "a" * 64, "家" * 64, "-", "_"),
    *("0", "1", "true", "None", "ne", "in", "m-1"),
)

LEGAL = r"[a-zA-Z0-9\u4e00-\u4e10_-]{1,6}"
_numbers = itertools.count()


def test_metadata_cannot_speak_for_the_scope(bench: Bench) -> None:
    lying = record("家", "m-1", memory_scope="public", content_hash_="x", has_scope="no")
    bench.store.upsert([lying], np.array([unit(1)]))
    assert bench.store.query(unit(1), reading_as("public"), 5) == Neighbours(())
    assert keys(bench.store.query(unit(1), reading_as("家"), 5)) == [Key("家", "m-1")]
    assert bench.store.hashes() == {Key("家", "m-1"): "h"}


SHELVES = ("@shared", "@root", "@role:default", "@role:猫", "@role:default2", "@role:sharedx")


@pytest.mark.parametrize(
    "read", [(), (SHARED,), (SHARED, Place.of_role("猫")), (SHARED, ROOT_NOTES)]
)
@pytest.mark.parametrize("reader", ["public", "家"])
def test_a_reader_sees_the_shelves_that_it_reads_and_no_other(
    bench: Bench, reader: str, read: tuple[Place, ...]
) -> None:
    places = [*SHELVES, "public", "家", "家人", "shared", "root", "role"]
    bench.store.upsert([record(place, "n-1") for place in places], vectors(len(places), 3))
    scope_filter = reading_as(reader, shelves=read)
    seen = {key.scope for key in keys(bench.store.query(unit(1), scope_filter, 100))}
    assert seen == {reader, "public", *(shelf.name for shelf in read)}


# Planting past a store that lives in a process of its own takes a new process each time.
planted = pytest.mark.parametrize("shared_bench", ["memory", "chroma", "server"], indirect=True)

type Stored = dict[tuple[str, str], int]

STORED = st.dictionaries(
    st.tuples(
        st.sampled_from(HOSTILE) | st.from_regex(LEGAL, fullmatch=True),
        st.sampled_from(("m-1", "m-2", "a/b", "public/m-1", "/x", "家")),
    ).filter(lambda pair: pair[0].lower() not in {"con", "prn", "aux", "nul"}),
    st.integers(0, 5),
    max_size=25,
)
READERS = st.sampled_from(HOSTILE)
SEEDS = st.integers(0, 2**32 - 1)


@planted
@settings(max_examples=max(5, settings().max_examples // 2))
@given(STORED, READERS, SEEDS)
def test_a_reader_sees_exactly_its_own_scope_and_public(
    shared_bench: Bench, stored: Stored, reader: str, batch: int
) -> None:
    store = shared_bench.store
    space = store.name_for(Fingerprint("property", DIM, str(next(_numbers))))
    store.use(space)
    if stored:
        store.upsert([record(*pair) for pair in stored], vectors(len(stored), batch))
    answer = store.query(vectors(1, batch + 1)[0], reading_as(reader), 1000)
    expected = {Key(*pair) for pair in stored if pair[0] in {reader, "public"}}
    assert len(answer.found) == len(expected)
    assert set(keys(answer)) == expected
    assert answer.dropped == 0
    downgraded = ScopeFilter((PUBLIC,), everything=True)
    everyone = {Key(*pair) for pair in stored if pair[0] != "quarantine"}
    assert set(keys(store.query(unit(1), downgraded, 1000))) == everyone
    assert set(store.hashes()) == {Key(*pair) for pair in stored}
    store.use(store.name_for(SPACE))
    store.drop(space)


LIES: dict[str, Row] = {
    "家/liar": Row({"memory_scope": "public", "content_hash": "h"}, unit(1)),
    "家/missing": Row({"content_hash": "h"}, unit(1, 0.1)),
    "家/bare": Row({}, unit(1, 0.2)),
    "家/number": Row({"memory_scope": 1, "content_hash": "h"}, unit(1, 0.3)),
    "家/true": Row({"memory_scope": True, "content_hash": "h"}, unit(1, 0.4)),
    "家/empty": Row({"memory_scope": "", "content_hash": "h"}, unit(1, 0.5)),
    "no-scope": Row({"memory_scope": "public", "content_hash": "h"}, unit(1, 0.6)),
    "/public": Row({"memory_scope": "public", "content_hash": "h"}, unit(1, 0.7)),
    "public/": Row({"memory_scope": "public", "content_hash": "h"}, unit(1, 0.8)),
    "public": Row({"memory_scope": "public", "content_hash": "h"}, unit(1, 0.9)),
}
CLAIMING_PUBLIC = 5


@pytest.fixture
def damaged(bench: Bench, collection: str) -> Bench:
    """One sound public record, far from the query, behind ten that are damaged."""
    bench.store.upsert([record("public", "sound")], np.array([unit(0, 1)]))
    bench.plant(collection, LIES)
    return bench


@planted
@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.parametrize("reader", ["public", "公司", "家"])
def test_a_record_that_lies_about_its_scope_is_dropped_counted_and_takes_no_place(
    damaged: Bench, reader: str, everything: bool
) -> None:
    asked = ScopeFilter((PUBLIC,), everything=True) if everything else reading_as(reader)
    answer = damaged.store.query(unit(1), asked, 100)
    assert keys(answer) == keys(damaged.store.query(unit(1), asked, 1)) == [Key("public", "sound")]
    assert answer.dropped == CLAIMING_PUBLIC or (everything and answer.dropped > CLAIMING_PUBLIC)


@planted
def test_a_damaged_record_shows_as_changed_and_can_be_mended_and_deleted(damaged: Bench) -> None:
    hashes = damaged.store.hashes()
    assert len(hashes) == damaged.store.count() == 1 + len(LIES)
    assert [key for key, content_hash in hashes.items() if content_hash] == [Key("public", "sound")]
    damaged.store.upsert([record("家", "liar", "mended")], np.array([unit(1)]))
    assert damaged.store.hashes()[Key("家", "liar")] == "mended"
    assert Key("家", "liar") in keys(damaged.store.query(unit(1), reading_as("家"), 100))
    damaged.store.delete([key for key in damaged.store.hashes() if key != Key("public", "sound")])
    assert set(damaged.store.hashes()) == {Key("public", "sound")}


@pytest.mark.parametrize("scope", ["", "a/b", "/"])
def test_a_key_without_a_scope_cannot_be_written(bench: Bench, scope: str) -> None:
    with pytest.raises(ValueError, match="no key"):
        bench.store.upsert([record(scope, "m-1/x")], np.array([unit(1)]))


@pytest.mark.parametrize("asked", [ScopeFilter(({"$ne": "x"},)), {"$ne": "x"}, "家", None])  # type: ignore[arg-type]
def test_only_a_filter_of_validated_scopes_may_ask(bench: Bench, asked: object) -> None:
    with pytest.raises(TypeError):
        bench.store.query(unit(1), asked, 5)  # type: ignore[arg-type]
