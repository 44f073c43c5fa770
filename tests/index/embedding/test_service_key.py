"""A service's key goes to the service, and into nothing else: a real server on loopback."""

from __future__ import annotations

import io
import logging
import socket
import traceback
from http.server import BaseHTTPRequestHandler

import pytest

from astrbot_plugin_scoped_memory.llm_memory.composition.indexes import service_embedder
from astrbot_plugin_scoped_memory.llm_memory.errors import EmbeddingFailed, InvalidService
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.service.embedding_service import (
    EmbeddingService,
)
from astrbot_plugin_scoped_memory.llm_memory.models.settings import EngineSettings
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
            service_embedder(server.url, "small", EngineSettings(), key=CANARY).prepare(),
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
