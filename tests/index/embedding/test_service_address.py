"""An owner's way to write an address, where a key comes from, and that it goes to its service and
into nothing else: a real server on loopback."""

from __future__ import annotations

import io
import logging
import os
import pickle
import socket
import traceback
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.errors import EmbeddingFailed, InvalidService
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.service.address import (
    endpoint,
    is_loopback,
    is_same_service,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.service.api_key import (
    ApiKey,
    key_from,
)
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


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("http://localhost:11434", "http://localhost:11434/v1/embeddings"),
        ("http://localhost:11434/", "http://localhost:11434/v1/embeddings"),
        (" http://localhost:11434/v1\n", "http://localhost:11434/v1/embeddings"),
        ("https://api.openai.com/v1/", "https://api.openai.com/v1/embeddings"),
        ("https://api.openai.com/v1/embeddings", "https://api.openai.com/v1/embeddings"),
        ("https://api.openai.com/v1/embeddings/", "https://api.openai.com/v1/embeddings"),
        ("https://ark.example.com/api/v3", "https://ark.example.com/api/v3/embeddings"),
        ("https://a.example.com/compatible-mode/v1", "https://a.example.com/compatible-mode/v1/embeddings"),
        ("HTTPS://API.example.com", "https://API.example.com/v1/embeddings"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1/embeddings"),
        ("https://x.example.com/v1?api-version=1#top", "https://x.example.com/v1/embeddings?api-version=1"),
    ],
)  # fmt: skip
def test_an_address_is_understood_with_and_without_its_end(base: str, url: str) -> None:
    assert endpoint(base).url == url
    assert endpoint(url).url == url


@pytest.mark.parametrize(
    "base",
    ["", "localhost:11434", "api.example.com/v1", "ftp://example.com", "file:///etc/passwd",
     "http://", "http:///v1", "http://user:secret@example.com/v1", "http://user@example.com",
     "http://[::1/v1", "http://example.com:port/v1", "http://exa mple.com/v1",
     "http://example.com/v1\r\nX: y", "http://example.com/嵌入"],
)  # fmt: skip
def test_what_is_no_address_is_refused(base: str) -> None:
    with pytest.raises(InvalidService, match="embedding service's address") as caught:
        endpoint(base)
    assert "secret" not in str(caught.value)


@given(st.text(max_size=40))
def test_any_text_is_an_address_or_refused(text: str) -> None:
    for base in (text, f"http://{text}", f"https://example.com/{text}"):
        try:
            found = endpoint(base)
        except InvalidService:
            continue
        assert found.url.startswith(("http://", "https://"))
        assert endpoint(found.url) == found


@pytest.mark.parametrize(
    ("url", "other", "same"),
    [
        ("https://a.example.com/v1", "https://a.example.com/v2/", True),
        ("https://a.example.com/v1", "https://A.example.com:443/v1", True),
        ("http://a.example.com/v1", "https://a.example.com/v1", True),
        ("https://a.example.com/v1", "http://a.example.com/v1", False),
        ("https://a.example.com/v1", "https://b.example.com/v1", False),
        ("https://a.example.com/v1", "https://a.example.com.evil.com/v1", False),
        ("https://a.example.com/v1", "https://a.example.com@evil.com/v1", False),
        ("https://a.example.com/v1", "https://a.example.com:8443/v1", False),
        ("http://a.example.com:8080/v1", "https://a.example.com/v1", False),
        ("https://a.example.com/v1", "file:///etc/passwd", False),
        ("https://a.example.com/v1", "https://a.example.com:x/v1", False),
    ],
)
def test_a_key_goes_to_its_own_service_alone(url: str, other: str, same: bool) -> None:
    assert is_same_service(url, other) is same


def test_this_machine_is_known_by_its_names() -> None:
    here = ("localhost", "127.0.0.1", "127.8.8.8", "[::1]", "ollama.localhost")
    assert all(is_loopback(f"http://{name}:1/v1") for name in here)
    assert not any(is_loopback(f"http://{name}/v1") for name in ("10.0.0.1", "localhost.com"))


def test_a_key_comes_from_the_file_that_is_named_else_from_the_variable(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(f"\ufeff{CANARY}\n", encoding="utf-8")
    file.chmod(0o600)
    assert key_from({"KEY": "sk-1"}, "KEY", file) == CANARY
    assert key_from({}, "", file) == CANARY
    assert key_from({"KEY": " sk-1\n"}, "KEY", None) == "sk-1"
    assert key_from({"": "odd"}, "", None) == ""
    assert key_from({}, "KEY", None) == ""


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o660, 0o601, 0o777])
def test_a_file_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "key"
    file.write_text(CANARY, encoding="utf-8")
    file.chmod(mode)
    with pytest.raises(InvalidService, match="chmod 600") as caught:
        key_from({"KEY": "sk-1"}, "KEY", file)
    assert str(file) in str(caught.value)
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [b"", b" \n", b"one two", b"a\nb", b"\xff\xfe", f"{CANARY}\xe9".encode("latin-1"), b"x" * 5000],
    ids=range(7),  # a later test looks for the key in tracebacks, which show ids
)
def test_a_file_with_anything_but_a_key_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "key"
    file.write_bytes(content)
    file.chmod(0o600)
    with pytest.raises(InvalidService, match="nothing else") as caught:
        key_from({}, "KEY", file)
    assert caught.value.__context__ is None, "a decoding error quotes what was read"


def test_a_key_shows_itself_in_a_request_alone() -> None:
    key = ApiKey(CANARY)
    assert CANARY not in f"{key} {key!r} {[key]}"
    assert key.bearer() == f"Bearer {CANARY}"
    with pytest.raises(TypeError):
        pickle.dumps(key)
    assert ApiKey(CANARY)
    assert not ApiKey("")


def raw(server: EmbeddingServer) -> EmbeddingService:
    return EmbeddingService(server.url, "small", key=CANARY, seconds=10.0)


async def test_a_redirect_to_another_host_is_not_followed(server: EmbeddingServer) -> None:
    with serving() as thief:
        for status in (301, 302, 303, 307, 308):
            server.always = says(status, headers={"Location": f"{thief.url}/embeddings"})
            with pytest.raises(EmbeddingFailed, match="redirected"):
                await raw(server).embed(TEXTS)
        server.always = says(302, headers={"Location": f"http://localhost:{server.port}/x"})
        with pytest.raises(EmbeddingFailed, match="redirected"):
            await raw(server).embed(TEXTS)
        assert thief.asked == []


async def test_a_redirect_within_the_service_is_followed(server: EmbeddingServer) -> None:
    for status in (301, 302, 303, 307, 308):
        server.next = [says(status, headers={"Location": "/v1/embeddings"})]
        moved = EmbeddingService(server.url + "/old", "small", key=CANARY)
        assert len(await moved.embed(TEXTS)) == 3
    assert {asked.path for asked in server.asked} == {"/v1/old/embeddings", "/v1/embeddings"}
    assert all(asked.headers["Authorization"] == f"Bearer {CANARY}" for asked in server.asked)
    server.always = says(307, headers={"Location": "/v1/embeddings"})
    with pytest.raises(EmbeddingFailed, match="redirected"):  # in a circle
        await raw(server).embed(TEXTS)


def nobody(*_: object, **__: object) -> None:
    raise socket.gaierror


async def test_a_proxy_is_used_but_not_to_this_machine(
    server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving() as proxy:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        await raw(server).embed(TEXTS)
        assert proxy.asked == []
        far = EmbeddingService("http://embeddings.invalid/v1", "small", key=CANARY)
        with pytest.raises(EmbeddingFailed, match="not_found"):  # no path of the proxy's own
            await far.embed(TEXTS)
        assert proxy.asked[-1].path == "http://embeddings.invalid/v1/embeddings"
        monkeypatch.setenv("no_proxy", "embeddings.invalid")
        monkeypatch.setattr(socket, "getaddrinfo", nobody)  # no test asks a name server
        proxy.asked.clear()
        with pytest.raises(EmbeddingFailed, match=r"unreachable: embeddings\.invalid"):
            await EmbeddingService("http://embeddings.invalid/v1", "small").embed(TEXTS)
        assert proxy.asked == []


def echo(handler: BaseHTTPRequestHandler, asked: Asked) -> None:
    """As badly kept gateways do: the request's headers in the error."""
    headers = {"X-Echo": asked.headers["Authorization"], "Location": f"http://{CANARY}.invalid/"}
    answer(handler, 401, {"error": asked.headers}, headers=headers)


def echo_as_vectors(handler: BaseHTTPRequestHandler, asked: Asked) -> None:
    answer(handler, 200, {"data": [{"embedding": asked.headers["Authorization"]}] * 3})


def echo_in_status(handler: BaseHTTPRequestHandler, asked: Asked) -> None:
    handler.wfile.write(f"{asked.headers['Authorization']} is no status line\r\n\r\n".encode())
    handler.close_connection = True


def echo_in_json(handler: BaseHTTPRequestHandler, asked: Asked) -> None:
    answer(handler, 200, f"{{{asked.headers['Authorization']}".encode())


def echo_in_redirect(handler: BaseHTTPRequestHandler, asked: Asked) -> None:
    answer(handler, 307, {}, headers={"Location": f"http://x.invalid/{CANARY}"})


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
    server.always = act
    if act is None:
        server.stop()
    try:
        for call in (
            service.embed(TEXTS),
            provider_embedder(service, EngineSettings()).prepare(),
        ):
            with pytest.raises(EmbeddingFailed) as caught:
                await call
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


def test_a_key_that_no_request_can_carry_is_refused_and_not_told() -> None:
    for key in (f"{CANARY}\r\nX: y", f"{CANARY} {CANARY}", f"{CANARY}钥", f"{CANARY}\0"):
        with pytest.raises(InvalidService, match="the key holds") as caught:
            EmbeddingService("http://localhost/v1", "small", key=key)
        assert CANARY not in "".join(traceback.format_exception(caught.value))
