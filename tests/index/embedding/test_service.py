"""An embedding service over HTTP in all the states it can be in, and its key, which goes to it and
into nothing else: a real server on loopback."""

from __future__ import annotations

import gzip
import io
import json
import logging
import os
import pickle
import traceback
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import EmbeddingFailed, InvalidService
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Embedder, unit
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.service.address import (
    bearer,
    endpoint,
    is_loopback,
    key_from,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.service.embedding_service import (
    EmbeddingService,
)
from astrbot_plugin_scoped_memory.llm_memory.models.settings import EngineSettings, Pace
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


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    """A new one, which answers well until a test says otherwise."""
    with serving() as running:
        yield running


RESTLESS = EngineSettings(pace=Pace(retry_seconds=(0.0,)))


def raw(server: EmbeddingServer) -> EmbeddingService:
    return EmbeddingService(server.url, "small", key=CANARY)


async def whole(server: EmbeddingServer) -> Embedder:
    """As a home has it, prepared."""
    embedder = provider_embedder(raw(server), RESTLESS)
    await embedder.prepare()
    server.asked.clear()
    return embedder


async def test_texts_become_the_vectors_of_the_service(server: EmbeddingServer) -> None:
    embedder = await whole(server)
    fingerprint = await embedder.prepare()
    assert (fingerprint.model, fingerprint.dim) == (f"service:127.0.0.1:{server.port}/small", 64)
    assert embedder.label == f"service:127.0.0.1:{server.port}"
    for row, text in zip(await embedder.embed_documents(TEXTS), TEXTS, strict=True):
        assert row is not None and np.allclose(row, unit(server.vector(text), 64), atol=1e-6)
    asked = server.asked[-1]
    assert asked.body == {"model": "small", "input": TEXTS}
    assert {k.lower(): v for k, v in asked.headers.items()}["authorization"] == f"Bearer {CANARY}"


@pytest.mark.parametrize(
    ("change", "costs_one"),
    [
        (lambda rows: rows[::-1], False),
        (lambda rows: [{"embedding": row["embedding"]} for row in rows], False),
        (lambda rows: [row | {"embedding": [*map(int, row["embedding"])]} for row in rows], False),
        (lambda rows: [*rows[:-1], rows[0]], True),
        (lambda rows: [*rows[:-1], rows[-1] | {"index": "a"}], True),
        (lambda rows: [*rows[:-1], rows[-1] | {"embedding": ["1"] * 64}], True),
        (lambda rows: [*rows[:-1], rows[-1] | {"embedding": []}], True),
        (lambda rows: [*rows[:-1], {"index": 2}], True),
        (lambda rows: rows[:2], True),
    ],
)
async def test_rows_are_read_by_their_place_and_one_that_is_none_costs_its_text_alone(
    server: EmbeddingServer, change: Callable[[list[Any]], Any], costs_one: bool
) -> None:
    embedder = await whole(server)
    server.next = [
        lambda handler, asked: answer(handler, 200, {"data": change(server.rows(asked.texts))})
    ]
    found = await embedder.embed_documents(TEXTS)
    assert [row is None for row in found] == [False, False, costs_one]
    for row, text in zip(found, TEXTS, strict=True):
        assert row is None or np.allclose(row, unit(server.vector(text), 64), atol=0.02)


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        (says(200, {"error": CANARY}), "not_an_answer"),
        (says(200, b"<h1>Welcome</h1>"), "not_an_answer"),
        (says(200, b"[" * 100_000), "not_an_answer"),
        (says(200, b'{"data": []}     ', cut=5), "unreachable"),
        (says(400), "rejected: HTTP 400"),
        (says(401), "denied: HTTP 401"),
        (says(404), "not_found: HTTP 404, http://127.*/v1/embeddings"),
        (says(429, headers={"Retry-After": "1"}), "busy: HTTP 429"),
        (says(429, {"error": {"code": "insufficient_quota"}}), "quota: HTTP 429"),
        (says(500), "error: HTTP 500"),
    ],
)
async def test_a_faulty_service_fails_each_call_and_recovers(
    server: EmbeddingServer, act: Act, reason: str
) -> None:
    embedder = await whole(server)
    server.always = act
    with pytest.raises(EmbeddingFailed, match=reason):
        await embedder.embed_documents(TEXTS)
    packed = gzip.compress(json.dumps({"data": server.rows(TEXTS)}).encode())
    for recovered in (None, says(200, packed, headers={"Content-Encoding": "gzip"})):
        server.always = recovered
        assert all(row is not None for row in await embedder.embed_documents(TEXTS))


async def test_an_answer_without_an_end_is_read_up_to_its_limit(server: EmbeddingServer) -> None:
    sent: list[int] = []

    def endless(handler: BaseHTTPRequestHandler, _: Asked) -> None:
        handler.send_response(200)
        handler.end_headers()
        for _ in range(200):
            handler.wfile.write(b" " * (1 << 20))
            sent.append(1)
        handler.close_connection = True

    server.always = endless
    with pytest.raises(EmbeddingFailed, match="not_an_answer: it is larger than 64 MB"):
        await raw(server).embed(TEXTS)
    assert 64 <= len(sent) < 200


def test_an_address_is_understood_with_and_without_its_end_or_refused() -> None:
    for base, url in {
        "http://localhost:11434": "http://localhost:11434/v1/embeddings",
        " http://localhost:11434/v1\n": "http://localhost:11434/v1/embeddings",
        "https://api.openai.com/v1/embeddings/": "https://api.openai.com/v1/embeddings",
        "https://ark.example.com/api/v3/": "https://ark.example.com/api/v3/embeddings",
        "HTTPS://API.example.com": "https://API.example.com/v1/embeddings",
        "http://[::1]:8080/v1": "http://[::1]:8080/v1/embeddings",
        "https://x.org/v1?api-version=1#top": "https://x.org/v1/embeddings?api-version=1",
    }.items():
        assert endpoint(base) == endpoint(url) == url
    for base in (
        *("", "localhost:11434", "api.example.com/v1", "file:///etc/passwd", "http:///v1"),
        *("http://user:secret@example.com/v1", "http://[::1/v1", "http://example.com:port/v1"),
        *("http://exa mple.com/v1", "http://example.com/v1\r\nX: y"),
    ):
        with pytest.raises(InvalidService, match="embedding service's address") as caught:
            endpoint(base)
        assert "secret" not in str(caught.value)
    here = ("localhost", "127.0.0.1", "127.8.8.8", "[::1]", "ollama.localhost")
    assert all(is_loopback(f"http://{name}:1/v1") for name in here)
    assert not any(is_loopback(f"http://{name}/v1") for name in ("10.0.0.1", "localhost.com"))


async def test_no_redirect_is_followed(server: EmbeddingServer) -> None:
    with serving() as thief:
        for status in (301, 302, 303, 307, 308):
            server.next = [says(status, headers={"Location": f"{thief.url}/embeddings"})]
            with pytest.raises(EmbeddingFailed, match="redirected"):
                await raw(server).embed(TEXTS)
        assert (thief.asked, len(server.asked)) == ([], 5)


async def test_a_proxy_is_used_but_not_to_this_machine(
    server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with serving() as proxy:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        await raw(server).embed(TEXTS)
        assert proxy.asked == []
        far = "http://embeddings.invalid/v1"
        with pytest.raises(EmbeddingFailed, match="not_found"):  # no path of the proxy's own
            await EmbeddingService(far, "small", key=CANARY).embed(TEXTS)
        assert proxy.asked[-1].path == f"{far}/embeddings"


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_a_key_comes_from_a_file_that_holds_it_alone_for_its_owner_else_from_the_variable(
    tmp_path: Path,
) -> None:
    file = tmp_path / "key"

    def found(content: bytes, mode: int) -> str:
        file.write_bytes(content)
        file.chmod(mode)
        return key_from({"KEY": "sk-1"}, "KEY", file)

    assert found(f"\ufeff{CANARY}\n".encode(), 0o600) == key_from({}, "", file) == CANARY
    assert key_from({"KEY": " sk-1\n"}, "KEY", None) == "sk-1"
    assert key_from({"": "odd"}, "", None) == key_from({}, "KEY", None) == ""
    latin = f"{CANARY}\xe9".encode("latin-1")
    for content, mode, said in (
        *((CANARY.encode(), mode, "chmod 600") for mode in (0o640, 0o604, 0o620, 0o601)),
        *((bad, 0o600, "nothing else") for bad in (b" \n", b"one two", b"\xff\xfe", latin)),
        (b"x" * 5000, 0o600, "nothing else"),
    ):
        with pytest.raises(InvalidService, match=said) as caught:
            found(content, mode)
        assert CANARY not in str(caught.value)
        assert caught.value.__context__ is None, "a decoding error quotes what was read"


def test_a_key_shows_itself_in_a_request_alone() -> None:
    key = bearer(CANARY)
    assert CANARY not in f"{key} {key!r} {vars(key)}"
    with pytest.raises((AttributeError, pickle.PicklingError)):
        pickle.dumps(key)
    assert (key(), bearer("")()) == ({"Authorization": f"Bearer {CANARY}"}, {})
    for odd in (f"{CANARY}\r\nX: y", f"{CANARY} {CANARY}", f"{CANARY}钥", f"{CANARY}\0"):
        with pytest.raises(InvalidService, match="the key holds") as caught:
            EmbeddingService("http://localhost/v1", "small", key=odd)
        assert CANARY not in "".join(traceback.format_exception(caught.value))


def no_status_line(handler: BaseHTTPRequestHandler, _: Asked) -> None:
    handler.wfile.write(f"Bearer {CANARY} is no status line\r\n\r\n".encode())
    handler.close_connection = True


ECHOES = [
    # As badly kept gateways do: the request's headers in the error.
    says(401, {"error": CANARY}, headers={"X-Echo": CANARY, "Location": f"http://{CANARY}.x/"}),
    says(200, {"data": [{"embedding": CANARY}] * 3}),
    says(200, f"{{{CANARY}".encode()),
    says(307, {}, headers={"Location": f"http://x.invalid/{CANARY}"}),
    no_status_line,
    None,
]


@pytest.mark.parametrize("act", ECHOES, ids=range(len(ECHOES)))
async def test_the_key_is_in_no_error_representation_or_log(
    server: EmbeddingServer, act: Act | None, caplog: pytest.LogCaptureFixture
) -> None:
    from loguru import logger

    sink = io.StringIO()
    handle = logger.add(sink, level=0, backtrace=True, diagnose=True)
    caplog.set_level(logging.DEBUG)
    service = raw(server)
    embedder = provider_embedder(service, RESTLESS)
    server.always = act
    if act is None:
        server.stop()
    try:
        with pytest.raises(EmbeddingFailed) as caught:
            await embedder.prepare()
        logger.opt(exception=caught.value).error("it failed")
        error: BaseException | None = caught.value
        while error is not None:
            sink.write(f"{error!r} {error.args} {vars(error)}")
            sink.write("".join(traceback.format_exception(error)))
            error = error.__cause__ or error.__context__
    finally:
        logger.remove(handle)
    for part in (service, *vars(service).values()):
        sink.write(f"{part!r} {getattr(part, '__dict__', '')}")
    assert "it failed" in sink.getvalue()
    assert CANARY not in sink.getvalue() + caplog.text
