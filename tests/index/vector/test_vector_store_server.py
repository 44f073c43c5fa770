"""What only a server can do: belong to others, too, be down, slow, strange, behind a door."""

from __future__ import annotations

import shutil
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler
from typing import Any

import numpy as np
import pytest

from astrbot_plugin_scoped_memory.harness.waiting import free_port
from astrbot_plugin_scoped_memory.llm_memory.errors import IndexUnavailable, StateUnavailable
from astrbot_plugin_scoped_memory.llm_memory.index.vector.server import ChromaServer
from astrbot_plugin_scoped_memory.llm_memory.index.vector.vector_store import ChromaVectorStore
from astrbot_plugin_scoped_memory.llm_memory.index.vector.write_pace import WritePace
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.tests.index.vector.vector_bench import (
    DIM,
    SPACE,
    keys,
    reading_as,
    record,
    records,
    unit,
    vectors,
)
from astrbot_plugin_scoped_memory.tests.support.servers.chroma_server import (
    Reply,
    ServerProcess,
    pretending,
    standing_before,
)

pytestmark = [pytest.mark.process, pytest.mark.contract]

SECRET = "geheim-4711"


def store_at(
    url: str,
    headers: Mapping[str, str] | None = None,
    *,
    owner: str = "",
    seconds: float = 30.0,
) -> ChromaVectorStore:
    """A store of an installation of its own, unless one is named."""
    name = owner or uuid.uuid4().hex
    connection = ChromaServer(url, headers or {}, lambda: name, seconds=seconds)
    return ChromaVectorStore(connection, pace=WritePace(long=1.0, sleep=lambda _: None))


def with_records(store: ChromaVectorStore, count: int = 3) -> str:
    """Open it, write some, and say what the collection is called."""
    store.open()
    name = store.name_for(SPACE)
    store.use(name)
    store.upsert(records(count), vectors(count))
    return name


def code_of(call: Callable[[], object]) -> str:
    """The code that a call fails with, once it is sure that no secret stands in the text."""
    with pytest.raises(IndexUnavailable) as raised:
        call()
    assert SECRET not in str(raised.value)
    return raised.value.code


@pytest.fixture
def client(server: ServerProcess) -> Iterator[Any]:
    """Somebody else's client."""
    import chromadb

    settings = chromadb.Settings(anonymized_telemetry=False)
    made = chromadb.HttpClient("127.0.0.1", server.port, settings=settings)
    yield made
    made.close()


def test_two_installations_on_one_server_never_meet(server: ServerProcess) -> None:
    one, two = store_at(server.url), store_at(server.url)
    mine, theirs = with_records(one, 3), with_records(two, 5)
    assert mine != theirs
    assert (one.count(), two.count()) == (3, 5)
    assert one.collections() == (mine,)
    one.delete([Key("家", "m-0")])
    one.drop(theirs)
    with pytest.raises(ValueError, match="no collection of ours"):
        one.use(theirs)
    one.discard("worn")
    assert one.open() == "worn"
    assert one.collections() == ()
    assert set(two.hashes()) == {Key("家", f"m-{number}") for number in range(5)}
    one.close()
    two.close()


FOREIGN: dict[str, Callable[[str, str], dict[str, Any]]] = {
    "no metadata": lambda owner, name: {},
    "another owner": lambda owner, name: {"metadata": {"owner": "x" + owner, "dim": DIM}},
    "half an owner": lambda owner, name: {"metadata": {"owner": owner[:12], "dim": DIM}},
    "another dimension": lambda owner, name: {"metadata": {"owner": owner, "dim": DIM + 1}},
    "another space": lambda owner, name: {
        "metadata": {"owner": owner, "dim": DIM},
        "configuration": {"hnsw": {"space": "l2"}},
    },
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_somebody_elses_collection_under_our_name_is_not_touched(
    server: ServerProcess, client: Any, kind: str
) -> None:
    owner = uuid.uuid4().hex
    store = store_at(server.url, owner=owner)
    name = store.name_for(SPACE)
    about = {"configuration": {"hnsw": {"space": "cosine"}}, **FOREIGN[kind](owner, name)}
    theirs = client.create_collection(name, embedding_function=None, **about)
    theirs.add(ids=["x"], embeddings=[[1.0] * 3], documents=["theirs"])
    store.open()
    assert code_of(lambda: store.use(name)) == "foreign_collection"
    assert code_of(store.count) == "closed"  # nothing is in use
    assert store.collections() == ()
    store.drop(name)
    store.discard("faulty")
    store.open()
    assert theirs.get()["documents"] == ["theirs"]
    (found,) = [one for one in client.list_collections() if one.name == name]
    assert found.metadata == about.get("metadata")
    client.delete_collection(name)
    store.close()


def test_hundreds_of_other_collections_hide_none_of_ours(
    server: ServerProcess, client: Any
) -> None:
    crowd = uuid.uuid4().hex[:8]
    for number in range(120):
        client.create_collection(f"a-{crowd}-{number}", embedding_function=None)
    store = store_at(server.url)
    name = with_records(store)
    assert store.collections() == (name,)
    assert store.use(name)
    for number in range(120):
        client.delete_collection(f"a-{crowd}-{number}")
    store.close()


def test_a_server_that_went_and_came_back_has_what_it_had(server: ServerProcess) -> None:
    store = store_at(server.url)
    name = with_records(store)
    server.kill()
    try:
        assert code_of(store.count) == "server_down"
        assert code_of(lambda: store.query(unit(1), reading_as("家"), 3)) == "server_down"
        assert code_of(lambda: store.upsert([record("家", "m-9")], vectors(1))) == "server_down"
        store.reset()
        assert code_of(store.open) == "server_down"
    finally:
        server.start()
    store.open()
    assert store.use(name)
    assert set(store.hashes()) == {Key("家", f"m-{number}") for number in range(3)}
    store.close()


def test_a_server_that_came_back_without_its_data_is_begun_anew(server: ServerProcess) -> None:
    store = store_at(server.url)
    name = with_records(store)
    server.kill()
    shutil.rmtree(server.folder)
    server.start()
    assert code_of(lambda: store.query(unit(1), reading_as("家"), 3)) == "fault"
    store.reset()
    store.open()
    assert not store.use(name)
    store.upsert([record("家", "m-1")], np.array([unit(1)]))
    assert keys(store.query(unit(1), reading_as("家"), 3)) == [Key("家", "m-1")]
    store.close()


def test_an_answer_that_comes_a_byte_at_a_time_is_not_waited_for() -> None:
    endless = Reply(200, b'"1.0.0"' + b" " * 100_000, drip=0.01)
    with pretending(endless) as url:
        store = store_at(url, seconds=0.1)
        assert code_of(store.open) == "server_slow"
        store.close()


STRANGE = {
    "an old Chroma": Reply(404, b'{"detail":"Not Found"}'),
    "another program": Reply(404, b"<h1>Not Found</h1>", "text/html"),
    "a page that calls itself JSON": Reply(200, b"<!doctype html><p>Welcome"),
    "a way elsewhere": Reply(302, b"", "text/html"),
    "version 0": Reply(200, b'"0.6.3"'),
    "version 2": Reply(200, b'"2.0.0"'),
    "nothing": Reply(204, b"", "text/plain"),
}


@pytest.mark.parametrize("kind", STRANGE)
def test_what_is_no_chroma_of_our_time_is_called_so(kind: str) -> None:
    with pretending(STRANGE[kind]) as url:
        store = store_at(url)
        assert code_of(store.open) == "server_version"
        assert code_of(store.collections) == "closed"  # nothing is open
        store.close()


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (401, "server_denied"),
        (403, "server_denied"),
        (502, "server_down"),
        (504, "server_slow"),
        (429, "server_slow"),
        (500, "fault"),
    ],
)
def test_the_door_before_a_server_speaks_for_itself(
    server: ServerProcess, status: int, code: str
) -> None:
    shut = threading.Event()
    with standing_before(
        server.port, lambda _: Reply(status, b"<h1>no</h1>", "text/html") if shut.is_set() else None
    ) as url:
        store = store_at(url)
        with_records(store)
        shut.set()
        assert code_of(store.count) == code
        store.reset()
        assert code_of(store.open) == code
        store.close()


def asks_for_the_header(request: BaseHTTPRequestHandler) -> Reply | None:
    """A proxy that lets through who knows the secret, and tells everybody what they sent."""
    if request.headers.get("Authorization") == f"Bearer {SECRET}":
        return None
    return Reply(401, str(request.headers).encode(), "text/plain")


def test_headers_open_the_door_of_a_proxy(server: ServerProcess) -> None:
    with standing_before(server.port, asks_for_the_header) as url:
        store = store_at(url, {"Authorization": f"Bearer {SECRET}"})
        with_records(store)
        assert store.count() == 3
        store.close()
        for headers in ({}, {"Authorization": SECRET}, {"X-Key": f"Bearer {SECRET}"}):
            stranger = store_at(url, headers)
            assert code_of(stranger.open) == "server_denied"
            stranger.close()


@pytest.mark.parametrize("status", [200, 400, 404, 500])
def test_a_secret_that_comes_back_in_an_answer_stays_out_of_every_text(
    server: ServerProcess, status: int
) -> None:
    speaking = threading.Event()

    def door(request: BaseHTTPRequestHandler) -> Reply | None:
        key = request.headers.get("X-Key")
        said = f'{{"error":"NotFoundError","message":"you sent {key}"}}'
        return Reply(status, said.encode()) if speaking.is_set() else None

    with standing_before(server.port, door) as url:
        store = store_at(url, {"X-Key": SECRET})
        with_records(store)
        speaking.set()
        assert code_of(store.count)  # looks into the text, too
        store.reset()
        assert code_of(store.open)
        store.close()


def test_the_environment_puts_no_proxy_and_no_setting_between_us(
    server: ServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = f"http://127.0.0.1:{free_port()}"
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, nowhere)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CHROMA_SERVER_HOST", "127.0.0.2")
    monkeypatch.setenv("CHROMA_SERVER_SSL_ENABLED", "true")
    monkeypatch.setenv("CHROMA_SERVER_API_DEFAULT_PATH", "/api/v1")
    store = store_at(server.url)
    with_records(store)
    assert store.count() == 3
    store.close()


def test_without_an_address_or_an_owner_nothing_is_opened(server: ServerProcess) -> None:
    assert code_of(store_at("").open) == "server_address"

    def unknown() -> str:
        raise StateUnavailable("locked")

    store = ChromaVectorStore(ChromaServer(server.url, {}, unknown))
    assert code_of(store.open) == "no_owner"


def test_opening_again_and_again_leaves_nothing_in_the_process(server: ServerProcess) -> None:
    from chromadb.api.shared_system_client import SharedSystemClient

    kept = SharedSystemClient._identifier_to_system
    before = threading.active_count(), set(kept)
    for _ in range(5):
        store = store_at(server.url)
        store.open()
        store.close()
    assert threading.active_count() <= before[0]
    assert set(kept) <= before[1]
