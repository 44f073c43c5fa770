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
from astrbot_plugin_scoped_memory.llm_memory.index.chroma.records import collection_name
from astrbot_plugin_scoped_memory.llm_memory.index.chroma.vector_store import (
    ChromaConnection,
    ChromaStore,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Fingerprint
from astrbot_plugin_scoped_memory.llm_memory.index.ports import BROKEN, IndexRecord
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.tests.support.servers.chroma_server import (
    Reply,
    ServerProcess,
    pretending,
    standing_before,
)

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]

SPACE = Fingerprint("test", 3, "7")
SECRET = "geheim-4711"
type StoreAt = Callable[..., ChromaStore]


@pytest.fixture
def store_at() -> Iterator[StoreAt]:
    """Stores of installations of their own, unless one is named."""
    made: list[ChromaStore] = []

    def make(
        url: str, headers: Mapping[str, str] | None = None, owner: str = "", seconds: float = 20.0
    ) -> ChromaStore:
        name = owner or uuid.uuid4().hex
        chroma = ChromaConnection.at_server(url, headers or {}, seconds)
        made.append(ChromaStore(chroma, lambda: name))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def client(server: ServerProcess) -> Iterator[Any]:
    """Somebody else's client."""
    import chromadb

    settings = chromadb.Settings(anonymized_telemetry=False)
    made = chromadb.HttpClient("127.0.0.1", server.port, settings=settings)
    yield made
    made.close()


def write(store: ChromaStore, count: int) -> None:
    rows = np.eye(count, SPACE.dim, dtype=np.float32)
    store.write([IndexRecord(Key("家", f"m-{n}"), "h") for n in range(count)], rows)


def count(store: ChromaStore) -> int:
    return sum(len(records) for records, _ in store.load(SPACE, 1_000))


def refused(call: Callable[[], object], code: str = "server") -> None:
    with pytest.raises(IndexUnavailable) as raised:
        call()
    assert raised.value.code == code
    assert SECRET not in str(raised.value)


def test_two_installations_on_one_server_never_meet(
    server: ServerProcess, store_at: StoreAt
) -> None:
    one, two = store_at(server.url), store_at(server.url)
    assert (count(one), count(two)) == (0, 0)
    write(one, 2)
    write(two, 3)
    one.drop([Key("家", "m-0")])
    assert (count(one), count(two)) == (1, 3)
    one.drop(None)
    assert (count(one), count(two)) == (0, 3)


FOREIGN: dict[str, Callable[[str], dict[str, Any] | None]] = {
    "no metadata": lambda _: None,
    "another owner": lambda owner: {"owner": "x" + owner},
    "half an owner": lambda owner: {"owner": owner[:12]},
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_somebody_elses_collection_under_our_name_is_not_touched(
    server: ServerProcess, client: Any, store_at: StoreAt, kind: str
) -> None:
    owner = uuid.uuid4().hex
    store, name = store_at(server.url, owner=owner), collection_name(SPACE, owner)
    about = FOREIGN[kind](owner)
    theirs = client.create_collection(name, embedding_function=None, metadata=about)
    theirs.add(ids=["家/x"], embeddings=[[1.0] * 3], documents=["theirs"])
    refused(lambda: count(store))
    refused(lambda: write(store, 1))
    store.drop([Key("家", "x")])
    store.drop(None)
    assert theirs.get()["documents"] == ["theirs"]
    (found,) = [one for one in client.list_collections() if one.name == name]
    assert found.metadata == about
    client.delete_collection(name)


def test_a_server_that_went_and_came_back_has_what_it_had(
    server: ServerProcess, client: Any, store_at: StoreAt
) -> None:
    for number in range(120):  # more than a page of others' collections
        client.get_or_create_collection(f"crowd-{number}", embedding_function=None)
    store = store_at(server.url)
    assert count(store) == 0
    write(store, 3)
    server.kill()
    try:
        refused(lambda: write(store, 1))
        refused(lambda: count(store))
        refused(lambda: store.drop(None))
    finally:
        server.start()
    assert count(store) == 3
    server.kill()
    shutil.rmtree(server.folder)
    server.start()
    refused(lambda: write(store, 1), BROKEN)
    store.drop(None)
    assert count(store) == 0
    write(store, 2)
    assert count(store) == 2


STRANGE = {
    "a byte at a time": Reply(200, b"[" + b" " * 100_000, drip=0.01),
    "an old Chroma": Reply(404, b'{"detail":"Not Found"}'),
    "another program": Reply(404, b"<h1>Not Found</h1>", "text/html"),
    "a page that calls itself JSON": Reply(200, b"<!doctype html><p>Welcome"),
    "a way elsewhere": Reply(302, b"", "text/html"),
    "nothing": Reply(204, b"", "text/plain"),
    **{f"HTTP {n}": Reply(n, b"<h1>no</h1>", "text/html") for n in (401, 403, 429, 500, 502, 504)},
}


@pytest.mark.parametrize("kind", STRANGE)
def test_what_is_no_chroma_of_our_time_is_done_without(store_at: StoreAt, kind: str) -> None:
    with pretending(STRANGE[kind]) as url:
        store = store_at(url, {"X-Key": SECRET}, seconds=8.0)
        refused(lambda: count(store))


def asks_for_the_header(request: BaseHTTPRequestHandler) -> Reply | None:
    """A proxy that lets through who knows the secret, and tells everybody what they sent."""
    if request.headers.get("Authorization") == f"Bearer {SECRET}":
        return None
    return Reply(401, str(request.headers).encode(), "text/plain")


def test_headers_open_the_door_of_a_proxy_and_stay_out_of_every_text(
    server: ServerProcess, store_at: StoreAt
) -> None:
    speaking = threading.Event()

    def door(request: BaseHTTPRequestHandler) -> Reply | None:
        key = request.headers.get("Authorization")
        said = f'{{"error":"NotFoundError","message":"you sent {key}"}}'.encode()
        return Reply(404, said) if speaking.is_set() else asks_for_the_header(request)

    with standing_before(server.port, door) as url:
        store = store_at(url, {"Authorization": f"Bearer {SECRET}"})
        assert count(store) == 0
        write(store, 3)
        for headers in ({}, {"Authorization": SECRET}, {"X-Key": f"Bearer {SECRET}"}):
            refused(lambda headers=headers: count(store_at(url, headers)))  # type: ignore[misc]
        speaking.set()
        refused(lambda: write(store, 1), BROKEN)
        refused(lambda: count(store))


def test_the_environment_puts_no_proxy_and_no_setting_between_us(
    server: ServerProcess, store_at: StoreAt, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = f"http://127.0.0.1:{free_port()}"
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, nowhere)
    monkeypatch.setenv("CHROMA_SERVER_HOST", "127.0.0.2")
    monkeypatch.setenv("CHROMA_SERVER_SSL_ENABLED", "true")
    monkeypatch.setenv("CHROMA_SERVER_API_DEFAULT_PATH", "/api/v1")
    assert count(store_at(server.url)) == 0


def test_without_an_address_or_an_owner_nothing_is_asked(
    server: ServerProcess, store_at: StoreAt
) -> None:
    def unknown() -> str:
        raise StateUnavailable("locked")

    refused(lambda: count(store_at("")))
    nobody = ChromaStore(ChromaConnection.at_server(server.url, {}), unknown)
    refused(lambda: count(nobody))
    nobody.close()
