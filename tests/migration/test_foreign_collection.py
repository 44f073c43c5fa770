"""What a walk asks of somebody else's collection: the fake and a server answer alike."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.index.chroma.vector_store import ChromaConnection
from astrbot_plugin_scoped_memory.llm_memory.migration.legacy_collection import LegacyCollection
from astrbot_plugin_scoped_memory.llm_memory.migration.ports import ForeignCollection, ForeignRecord
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC, Scope, ScopeFilter
from astrbot_plugin_scoped_memory.tests.fakes.foreign_collection import InMemoryForeign
from astrbot_plugin_scoped_memory.tests.support.servers.chroma_server import ServerProcess

pytestmark = [pytest.mark.process, pytest.mark.contract]

MIGRATING = ScopeFilter((PUBLIC,), migrating=True)
_numbers = itertools.count()

type Put = Callable[[str, str | None, Mapping[str, Any] | None], None]


def at_server(url: str, name: str) -> LegacyCollection:
    return LegacyCollection(lambda: ChromaConnection.at_server(url, {}), name)


@pytest.fixture(params=["memory", "server"])
def place(request: pytest.FixtureRequest) -> Iterator[tuple[ForeignCollection, Put]]:
    """An open collection, and the hand of its owner."""
    name = f"old-{next(_numbers)}"
    if request.param == "memory":
        fake = InMemoryForeign(name)
        fake.open()
        yield fake, fake.put
        return
    import chromadb

    server: ServerProcess = request.getfixturevalue("server")
    settings = chromadb.Settings(anonymized_telemetry=False)
    client = chromadb.HttpClient("127.0.0.1", server.port, settings=settings)
    theirs = client.create_collection(name, embedding_function=None)
    made = at_server(server.url, name)

    def put(record_id: str, document: str | None, metadata: Mapping[str, Any] | None) -> None:
        about = [dict(metadata)] if metadata else None
        texts = None if document is None else [document]
        theirs.add(ids=[record_id], embeddings=[[1.0, 0.5]], documents=texts, metadatas=about)

    made.open()
    yield made, put
    made.close()
    client.delete_collection(name)
    client.close()


def test_records_come_as_they_are_in_pages_and_by_name(
    place: tuple[ForeignCollection, Put],
) -> None:
    collection, put = place
    put("a", "小明喜欢花生,  口味", {"judgment": "小明喜欢花生", "strength": "80", "n": 1.5})
    put("b", None, {"judgment": "没有文本", "memory_scope": "家"})
    put("c", "没有元数据", None)
    expected = [
        ForeignRecord(
            "a", "小明喜欢花生,  口味", {"judgment": "小明喜欢花生", "strength": "80", "n": 1.5}
        ),
        ForeignRecord("b", None, {"judgment": "没有文本", "memory_scope": "家"}),
        ForeignRecord("c", "没有元数据", None),
    ]
    assert collection.count() == 3
    assert [*collection.page(0, 2), *collection.page(2, 2)] == expected
    assert list(collection.page(3, 2)) == []
    assert sorted(collection.read(["c", "x", "a"]), key=lambda r: r.record_id) == [
        expected[0],
        expected[2],
    ]
    assert list(collection.read([])) == []


def test_a_change_is_merged_into_what_is_there_at_that_moment_and_none_removes_a_key(
    place: tuple[ForeignCollection, Put],
) -> None:
    collection, put = place
    put("a", "一", {"judgment": "一", "strength": 5})
    put("b", "二", None)
    seen: list[ForeignRecord] = []

    def decide(records: Any) -> Any:
        seen.extend(records)
        return {one.record_id: {"memory_scope": "public"} for one in records}

    collection.change(["a", "b", "gone"], decide)
    assert sorted(one.record_id for one in seen) == ["a", "b"]
    after = {one.record_id: one.metadata for one in collection.read(["a", "b"])}
    assert after == {
        "a": {"judgment": "一", "strength": 5, "memory_scope": "public"},
        "b": {"memory_scope": "public"},
    }
    collection.change(
        ["a", "b"], lambda found: {one.record_id: {"memory_scope": None} for one in found}
    )
    before = {one.record_id: one.metadata for one in collection.read(["a", "b"])}
    assert before == {"a": {"judgment": "一", "strength": 5}, "b": None}
    assert [one.document for one in collection.read(["a"])] == ["一"]


def test_nothing_is_written_where_nothing_is_decided_or_the_decision_fails(
    place: tuple[ForeignCollection, Put],
) -> None:
    collection, put = place
    put("a", "一", {"judgment": "一"})

    def refuse(_: Any) -> Any:
        raise OSError("no room for notes")

    with pytest.raises(OSError, match="no room"):
        collection.change(["a"], refuse)
    collection.change(["a"], lambda _: {})
    collection.change(["a"], lambda _: {"a": {}})
    assert [one.metadata for one in collection.read(["a"])] == [{"judgment": "一"}]


def test_a_search_finds_any_of_the_words_whatever_they_are_made_of(
    place: tuple[ForeignCollection, Put],
) -> None:
    collection, put = place
    put("a", "小明喜欢花生", {"judgment": "x"})
    put("b", "C++ (2026) 很难", {"judgment": "x", "memory_scope": ""})
    put("c", "奶奶喝红茶", {"judgment": "x", "memory_scope": "家"})
    put("d", "花生是私人的", {"judgment": "x", "memory_scope": 7})

    def found(*words: str, limit: int = 10) -> set[str]:
        return {one.record_id for one in collection.search(words, MIGRATING, limit)}

    assert "a" in found("花生", "没有")
    assert found("c++ (") == {"b"}
    assert found(".*") == set()
    assert found() == set()
    assert len(found("花生", "红茶", "很难", limit=2)) == 2
    family = ScopeFilter.reading_as(Scope.parse("家"))
    assert "c" in {one.record_id for one in collection.search(["红茶"], family, 10)}


def test_a_collection_that_is_not_there_has_no_id(
    place: tuple[ForeignCollection, Put], request: pytest.FixtureRequest
) -> None:
    collection, _ = place
    assert collection.open()
    missing: ForeignCollection
    if isinstance(collection, LegacyCollection):
        url = request.getfixturevalue("server").url
        missing = at_server(url, "not-there")
        ours = at_server(url, "memories-abc-8-0")
        assert ours.open() == ""
        ours.close()
    else:
        missing = InMemoryForeign("")
    assert missing.open() == ""
    with pytest.raises(IndexUnavailable):
        missing.count()
    missing.close()


def test_a_server_that_is_down_says_so_and_may_come_back(server: ServerProcess) -> None:
    made = at_server(server.url, "old")
    server.kill()
    try:
        with pytest.raises(IndexUnavailable) as raised:
            made.open()
        assert raised.value.code == "server"
    finally:
        server.start()
    assert made.open() == ""
    made.close()
