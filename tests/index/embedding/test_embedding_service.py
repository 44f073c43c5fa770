"""An embedding service over HTTP, in all the states it can be in: a real server on loopback."""

from __future__ import annotations

import asyncio
import base64
import struct
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any

import numpy as np
import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import EmbeddingFailed
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.checked import CheckedEmbedder
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Embedder
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.provider import ProviderEmbedder
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.service.embedding_service import (
    EmbeddingService,
)
from astrbot_plugin_scoped_memory.llm_memory.models.settings import EngineSettings
from astrbot_plugin_scoped_memory.llm_memory.service.indexes import provider_embedder
from astrbot_plugin_scoped_memory.tests.support.servers.embedding_server import (
    CANARY,
    TEXTS,
    Act,
    Asked,
    EmbeddingServer,
    answer,
    says,
    serving,
)

pytestmark = pytest.mark.unit


def raw(server: EmbeddingServer, seconds: float = 10.0) -> EmbeddingService:
    return EmbeddingService(server.url, "small", key=CANARY, seconds=seconds)


def whole(server: EmbeddingServer, model: str = "small") -> Embedder:
    inner = EmbeddingService(server.url, model, key=CANARY)
    return provider_embedder(inner, EngineSettings())


async def test_texts_become_the_vectors_of_the_service(server: EmbeddingServer) -> None:
    embedder = whole(server)
    fingerprint = await embedder.prepare()
    assert (fingerprint.model, fingerprint.dim) == (f"service:127.0.0.1:{server.port}/small", 64)
    assert embedder.label == f"service:127.0.0.1:{server.port}"
    vectors = await embedder.embed_documents(TEXTS)
    for row, text in zip(vectors, TEXTS, strict=True):
        expected = np.array(server.vector(text))
        assert np.allclose(row, expected / np.linalg.norm(expected), atol=1e-6)
    asked = server.asked[-1]
    assert asked.body == {"model": "small", "input": TEXTS}
    assert asked.headers["Authorization"] == f"Bearer {CANARY}"
    assert asked.headers["Content-Type"] == "application/json"


async def test_without_a_key_none_is_shown(server: EmbeddingServer) -> None:
    await EmbeddingService(server.url, "small").embed(TEXTS)
    assert "Authorization" not in server.asked[-1].headers


async def test_other_models_and_other_hosts_have_other_fingerprints(
    server: EmbeddingServer,
) -> None:
    with serving() as other:
        found = [
            await embedder.prepare()
            for embedder in (whole(server), whole(server, "large"), whole(other))
        ]
    assert len(set(found)) == 3


def rows_of(server: EmbeddingServer, change: Callable[[list[Any]], Any]) -> Act:
    """A good answer, changed."""
    return lambda handler, asked: answer(handler, 200, {"data": change(server.rows(asked.texts))})


def encoded(row: dict[str, Any]) -> dict[str, Any]:
    packed = struct.pack(f"<{len(row['embedding'])}f", *row["embedding"])
    return row | {"embedding": base64.b64encode(packed).decode()}


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows[::-1],
        lambda rows: [encoded(row) for row in rows[::-1]],
        lambda rows: [{"embedding": row["embedding"]} for row in rows],
        lambda rows: [row | {"embedding": [*map(int, row["embedding"])] or 1} for row in rows],
    ],
    ids=["another order", "base64", "no index", "whole numbers"],
)
async def test_other_ways_to_say_it_are_understood(
    server: EmbeddingServer, change: Callable[[list[Any]], Any]
) -> None:
    server.always = rows_of(server, change)
    vectors = np.array(await raw(server).embed(TEXTS))
    expected = np.array([server.vector(text) for text in TEXTS])
    assert np.allclose(vectors, expected, atol=0.02)


def drop(handler: BaseHTTPRequestHandler, _: Asked) -> None:
    handler.close_connection = True


FAULTS: dict[str, tuple[Callable[[EmbeddingServer], Act], str]] = {
    "too few": (lambda s: rows_of(s, lambda rows: rows[1:]), "wrong_count"),
    "twice the same place": (
        lambda s: rows_of(s, lambda rows: [row | {"index": 0} for row in rows]),
        "wrong_index",
    ),
    "places that are none": (
        lambda s: rows_of(s, lambda rows: [row | {"index": "a"} for row in rows]),
        "wrong_index",
    ),
    "texts for numbers": (
        lambda s: rows_of(s, lambda rows: [row | {"embedding": ["1"] * 64} for row in rows]),
        "not_numeric",
    ),
    "no base64": (
        lambda s: rows_of(s, lambda rows: [row | {"embedding": "!"} for row in rows]),
        "not_numeric",
    ),
    "no vector": (lambda s: rows_of(s, lambda rows: [{} for _ in rows]), "not_numeric"),
    "no list": (lambda s: rows_of(s, lambda rows: None), "not_an_answer"),
    "an error with 200": (lambda s: says(200, {"error": CANARY}), "not_an_answer"),
    "a page": (lambda s: says(200, b"<h1>Welcome</h1>"), "not_an_answer"),
    "deep JSON": (lambda s: says(200, b"[" * 100_000), "not_an_answer"),
    "cut off": (lambda s: says(200, b'{"data": []}     ', cut=5), "cut_off"),
    "hung up": (lambda s: drop, "cut_off"),
    "400": (lambda s: says(400), "rejected: HTTP 400"),
    "401": (lambda s: says(401), "denied: HTTP 401"),
    "404": (lambda s: says(404), "not_found: HTTP 404, http://127.*/v1/embeddings"),
    "429": (lambda s: says(429, headers={"Retry-After": "1"}), "busy: HTTP 429"),
    "500": (lambda s: says(500), "unavailable: HTTP 500"),
    "204": (lambda s: says(204, b""), "unavailable: HTTP 204"),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_faulty_service_fails_each_call_and_recovers(
    server: EmbeddingServer, fault: str
) -> None:
    embedder = whole(server)
    await embedder.prepare()
    act, reason = FAULTS[fault]
    server.always = act(server)
    with pytest.raises(EmbeddingFailed, match=reason):
        await embedder.embed_documents(TEXTS)
    server.always = None
    assert (await embedder.embed_documents(TEXTS)).shape == (3, 64)


@pytest.mark.parametrize("dripping", [False, True])
async def test_a_slow_service_is_given_up(server: EmbeddingServer, dripping: bool) -> None:
    over = threading.Event()

    def slow(handler: BaseHTTPRequestHandler, _: Asked) -> None:
        if dripping:  # a byte now and then: no single one is late
            handler.send_response(200)
            handler.send_header("Content-Length", "100000")
            handler.end_headers()
        while not over.wait(0.02):
            if dripping:
                handler.wfile.write(b" ")

    server.always = slow
    async with asyncio.timeout(60):
        with pytest.raises(EmbeddingFailed, match=r"timeout: 0\.3 s"):
            await raw(server, seconds=0.3).embed(TEXTS)
    over.set()


async def test_an_answer_without_an_end_is_given_up(
    server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from astrbot_plugin_scoped_memory.llm_memory.index.embedding.service import http_client

    monkeypatch.setattr(http_client, "_LONGEST", 1 << 20)

    def endless(handler: BaseHTTPRequestHandler, _: Asked) -> None:
        handler.send_response(200)
        handler.end_headers()
        while True:
            handler.wfile.write(b" " * 65536)

    server.always = endless
    with pytest.raises(EmbeddingFailed, match="without an end"):
        await raw(server).embed(TEXTS)


async def test_a_request_holds_64_texts_and_no_more_characters_than_it_may(
    server: EmbeddingServer,
) -> None:
    texts = [f"memory number {n}" for n in range(150)]
    vectors = await raw(server).embed(texts)
    assert [len(asked.texts) for asked in server.asked] == [64, 64, 22]
    assert vectors == [server.vector(text) for text in texts]
    server.asked.clear()
    await raw(server).embed(["花" * 200_000] * 40)
    sizes = [sum(map(len, asked.texts)) for asked in server.asked]
    assert max(sizes) <= 100_000
    assert {len(text) for asked in server.asked for text in asked.texts} == {6_000}
    assert sum(len(asked.texts) for asked in server.asked) == 40


async def test_a_service_that_takes_fewer_texts_gets_fewer(server: EmbeddingServer) -> None:
    def at_most_ten(handler: BaseHTTPRequestHandler, asked: Asked) -> None:
        if len(asked.texts) > 10:
            answer(handler, 400, {"error": "batch size is invalid"})
        else:
            answer(handler, 200, {"data": server.rows(asked.texts)})

    server.always = at_most_ten
    service = raw(server)
    texts = [f"memory number {n}" for n in range(70)]
    assert await service.embed(texts) == [server.vector(text) for text in texts]
    server.asked.clear()
    assert await service.embed(texts) == [server.vector(text) for text in texts]
    assert all(len(asked.texts) <= 10 for asked in server.asked)
    assert len(server.asked) <= 10


async def test_one_text_that_is_refused_does_not_make_the_batches_smaller(
    server: EmbeddingServer,
) -> None:
    def choosy(handler: BaseHTTPRequestHandler, asked: Asked) -> None:
        refused = any("too long" in text for text in asked.texts)
        answer(handler, *((413, {}) if refused else (200, {"data": server.rows(asked.texts)})))

    server.always = choosy
    service = raw(server)
    with pytest.raises(EmbeddingFailed, match="rejected: HTTP 413"):
        await service.embed([*TEXTS, "too long"])
    server.asked.clear()
    await service.embed(TEXTS * 20)
    assert [len(asked.texts) for asked in server.asked] == [60]


async def test_no_text_is_blank_when_it_is_sent(server: EmbeddingServer) -> None:
    embedder = ProviderEmbedder(raw(server))
    await embedder.prepare()
    await embedder.embed_documents(["", " \n", " " * 10_000 + "花生", "half \ud83d"])
    assert server.asked[-1].texts == [".", ".", "花生", "half ?"]


async def test_a_service_that_hangs_holds_few_threads(server: EmbeddingServer) -> None:
    over = threading.Event()
    server.always = lambda *_: bool(over.wait(10)) or None
    embedder = CheckedEmbedder(
        ProviderEmbedder(raw(server)), query_seconds=0.5, write_seconds=0.5, prepare_seconds=5
    )
    server.always = None
    await embedder.prepare()
    server.always = lambda *_: bool(over.wait(10)) or None
    calls = [embedder.embed_query(f"question {n}") for n in range(30)]
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert {str(result) for result in results} == {"timeout: 0.5 s"}
    ours = [t for t in threading.enumerate() if t.name == "scoped-memory-service"]
    assert 1 <= len(ours) <= 4
    assert all(thread.daemon for thread in ours)
    over.set()
    server.always = None
    async with asyncio.timeout(20):
        while any(t.name == "scoped-memory-service" for t in threading.enumerate()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert (await embedder.embed_query("question")).shape == (64,)
