"""An embedding service over HTTP in all the states it can be in, and its key, which goes to it and
into nothing else: a real server on loopback."""

from __future__ import annotations

import io
import logging
import os
import pickle
import socket
import traceback
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import EmbeddingFailed, InvalidService
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Embedder
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


async def whole(server: EmbeddingServer, model: str = "small") -> Embedder:
    """As a home has it, prepared."""
    inner = EmbeddingService(server.url, model, key=CANARY)
    embedder = provider_embedder(inner, RESTLESS)
    await embedder.prepare()
    server.asked.clear()
    return embedder


async def test_texts_become_the_vectors_of_the_service(server: EmbeddingServer) -> None:
    embedder = await whole(server)
    fingerprint = await embedder.prepare()
    assert (fingerprint.model, fingerprint.dim) == (f"service:127.0.0.1:{server.port}/small", 64)
    assert embedder.label == f"service:127.0.0.1:{server.port}"
    for row, text in zip(await embedder.embed_documents(TEXTS), TEXTS, strict=True):
        expected = np.array(server.vector(text))
        assert row is not None
        assert np.allclose(row, expected / np.linalg.norm(expected), atol=1e-6)
    asked = server.asked[-1]
    assert asked.body == {"model": "small", "input": TEXTS}
    assert {k.lower(): v for k, v in asked.headers.items()}["authorization"] == f"Bearer {CANARY}"
    await EmbeddingService(server.url, "small").embed(TEXTS)
    assert "authorization" not in {name.lower() for name in server.asked[-1].headers}
    with serving() as other:
        others = [await (await whole(*o)).prepare() for o in ((server, "large"), (other,))]
    assert len({fingerprint, *others}) == 3


def rows_of(server: EmbeddingServer, change: Callable[[list[Any]], Any]) -> Act:
    """A good answer, changed."""
    return lambda handler, asked: answer(handler, 200, {"data": change(server.rows(asked.texts))})


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows[::-1],
        lambda rows: [{"embedding": row["embedding"]} for row in rows],
        lambda rows: [row | {"embedding": [*map(int, row["embedding"])] or 1} for row in rows],
    ],
    ids=["another order", "no index", "whole numbers"],
)
async def test_other_ways_to_say_it_are_understood(
    server: EmbeddingServer, change: Callable[[list[Any]], Any]
) -> None:
    server.always = rows_of(server, change)
    vectors = np.array(await raw(server).embed(TEXTS))
    assert np.allclose(vectors, np.array([server.vector(text) for text in TEXTS]), atol=0.02)


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: [*rows[:-1], rows[0]],
        lambda rows: [*rows[:-1], rows[-1] | {"index": "a"}],
        lambda rows: [*rows[:-1], rows[-1] | {"embedding": ["1"] * 64}],
        lambda rows: [*rows[:-1], rows[-1] | {"embedding": []}],
        lambda rows: [*rows[:-1], {"index": 2}],
        lambda rows: [*rows[:-1], rows[-1] | {"embedding": rows[0]["embedding"][1:]}],
        lambda rows: rows[:2],
    ],
    ids=["one twice", "odd place", "texts", "empty", "none", "short", "left out"],
)
async def test_a_text_without_a_vector_costs_that_text_alone(
    server: EmbeddingServer, change: Callable[[list[Any]], Any]
) -> None:
    embedder = await whole(server)
    server.next = [rows_of(server, change)]
    first, second, third = await embedder.embed_documents(TEXTS)
    assert first is not None and second is not None
    assert third is None


FAULTS: dict[str, tuple[Act, str]] = {
    "an error with 200": (says(200, {"error": CANARY}), "not_an_answer"),
    "a page": (says(200, b"<h1>Welcome</h1>"), "not_an_answer"),
    "deep JSON": (says(200, b"[" * 100_000), "not_an_answer"),
    "cut off": (says(200, b'{"data": []}     ', cut=5), "unreachable"),
    "400": (says(400), "rejected: HTTP 400"),
    "401": (says(401), "denied: HTTP 401"),
    "404": (says(404), "not_found: HTTP 404, http://127.*/v1/embeddings"),
    "429": (says(429, headers={"Retry-After": "1"}), "busy: HTTP 429"),
    "no money": (says(429, {"error": {"code": "insufficient_quota"}}), "quota: HTTP 429"),
    "500": (says(500), "error: HTTP 500"),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_faulty_service_fails_each_call_and_recovers(
    server: EmbeddingServer, fault: str
) -> None:
    embedder = await whole(server)
    server.always, reason = FAULTS[fault]
    with pytest.raises(EmbeddingFailed, match=reason):
        await embedder.embed_documents(TEXTS)
    server.always = None
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


async def test_a_service_that_takes_fewer_texts_gets_fewer(server: EmbeddingServer) -> None:
    def at_most_ten(handler: BaseHTTPRequestHandler, asked: Asked) -> None:
        if len(asked.texts) > 10:
            answer(handler, 400, {"error": "batch size is invalid"})
        else:
            answer(handler, 200, {"data": server.rows(asked.texts)})

    embedder = await whole(server)
    server.always = at_most_ten
    texts = [f"memory number {n} {'花' * 10_000}" for n in range(70)]
    assert all(row is not None for row in await embedder.embed_documents(texts))
    assert {len(text) for asked in server.asked[1:] for text in asked.texts} <= {6_000, 8}
    server.asked.clear()
    assert all(row is not None for row in await embedder.embed_documents(texts))
    assert all(len(asked.texts) <= 10 for asked in server.asked)
    assert len(server.asked) <= 10


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("http://localhost:11434", "http://localhost:11434/v1/embeddings"),
        (" http://localhost:11434/v1\n", "http://localhost:11434/v1/embeddings"),
        ("https://api.openai.com/v1/", "https://api.openai.com/v1/embeddings"),
        ("https://api.openai.com/v1/embeddings/", "https://api.openai.com/v1/embeddings"),
        ("https://ark.example.com/api/v3", "https://ark.example.com/api/v3/embeddings"),
        ("HTTPS://API.example.com", "https://API.example.com/v1/embeddings"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1/embeddings"),
        ("https://x.example.com/v1?api-version=1#top", "https://x.example.com/v1/embeddings?api-version=1"),
    ],
)  # fmt: skip
def test_an_address_is_understood_with_and_without_its_end(base: str, url: str) -> None:
    assert endpoint(base) == endpoint(url) == url


@pytest.mark.parametrize(
    "base",
    ["", "localhost:11434", "api.example.com/v1", "file:///etc/passwd", "http:///v1",
     "http://user:secret@example.com/v1", "http://[::1/v1", "http://example.com:port/v1",
     "http://exa mple.com/v1", "http://example.com/v1\r\nX: y"],
)  # fmt: skip
def test_what_is_no_address_is_refused(base: str) -> None:
    with pytest.raises(InvalidService, match="embedding service's address") as caught:
        endpoint(base)
    assert "secret" not in str(caught.value)


def test_this_machine_is_known_by_its_names() -> None:
    here = ("localhost", "127.0.0.1", "127.8.8.8", "[::1]", "ollama.localhost")
    assert all(is_loopback(f"http://{name}:1/v1") for name in here)
    assert not any(is_loopback(f"http://{name}/v1") for name in ("10.0.0.1", "localhost.com"))


async def test_no_redirect_is_followed(server: EmbeddingServer) -> None:
    with serving() as thief:
        for status in (301, 302, 303, 307, 308):
            for target in (f"{thief.url}/embeddings", "/v1/embeddings"):
                server.next = [says(status, headers={"Location": target})]
                with pytest.raises(EmbeddingFailed, match="redirected"):
                    await raw(server).embed(TEXTS)
        assert thief.asked == []
    assert len(server.asked) == 10


def nobody(*_: object, **__: object) -> None:
    raise socket.gaierror


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
        monkeypatch.setenv("no_proxy", "embeddings.invalid")
        monkeypatch.setattr(socket, "getaddrinfo", nobody)  # no test asks a name server
        proxy.asked.clear()
        with pytest.raises(
            EmbeddingFailed, match=r"unreachable: embeddings\.invalid \(ConnectError"
        ):
            await EmbeddingService(far, "small").embed(TEXTS)
        assert proxy.asked == []


def key_file(folder: Path, content: bytes, mode: int = 0o600) -> Path:
    file = folder / "key"
    file.write_bytes(content)
    file.chmod(mode)
    return file


def test_a_key_comes_from_the_file_that_is_named_else_from_the_variable(tmp_path: Path) -> None:
    file = key_file(tmp_path, f"\ufeff{CANARY}\n".encode())
    assert key_from({"KEY": "sk-1"}, "KEY", file) == key_from({}, "", file) == CANARY
    assert key_from({"KEY": " sk-1\n"}, "KEY", None) == "sk-1"
    assert key_from({"": "odd"}, "", None) == key_from({}, "KEY", None) == ""


LATIN = f"{CANARY}\xe9".encode("latin-1")


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
@pytest.mark.parametrize(
    ("content", "mode", "said"),
    [
        *((CANARY.encode(), mode, "chmod 600") for mode in (0o640, 0o604, 0o620, 0o601)),
        *((bad, 0o600, "nothing else") for bad in (b" \n", b"one two", b"\xff\xfe", LATIN)),
        (b"x" * 5000, 0o600, "nothing else"),
    ],
    ids=range(9),  # a later test looks for the key in tracebacks, which show ids
)
def test_a_file_that_others_can_read_or_that_holds_more_than_a_key_is_refused(
    tmp_path: Path, content: bytes, mode: int, said: str
) -> None:
    with pytest.raises(InvalidService, match=said) as caught:
        key_from({"KEY": "sk-1"}, "KEY", key_file(tmp_path, content, mode))
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


def key_of(asked: Asked) -> str:
    return {name.lower(): value for name, value in asked.headers.items()}["authorization"]


def echo(handler: BaseHTTPRequestHandler, asked: Asked) -> None:
    """As badly kept gateways do: the request's headers in the error."""
    headers = {"X-Echo": key_of(asked), "Location": f"http://{CANARY}.invalid/"}
    answer(handler, 401, {"error": asked.headers}, headers=headers)


def echo_as_vectors(handler: BaseHTTPRequestHandler, asked: Asked) -> None:
    answer(handler, 200, {"data": [{"embedding": key_of(asked)}] * 3})


def echo_in_status(handler: BaseHTTPRequestHandler, asked: Asked) -> None:
    handler.wfile.write(f"{key_of(asked)} is no status line\r\n\r\n".encode())
    handler.close_connection = True


def echo_in_json(handler: BaseHTTPRequestHandler, asked: Asked) -> None:
    answer(handler, 200, f"{{{key_of(asked)}".encode())


def echo_in_redirect(handler: BaseHTTPRequestHandler, asked: Asked) -> None:
    answer(handler, 307, {}, headers={"Location": f"http://x.invalid/{key_of(asked)}"})


ECHOES = [echo, echo_as_vectors, echo_in_status, echo_in_json, echo_in_redirect, None]


@pytest.mark.parametrize("act", ECHOES)
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
