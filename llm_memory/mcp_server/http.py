"""The MCP server over HTTP: a bearer token, and the SDK's guard against DNS rebinding."""

from __future__ import annotations

import contextlib
import hmac
import socket
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from typing import Any, Final

from .sdk import make_server
from .tools import MemoryTools

PATH: Final = "/mcp"
_GRACE_SECONDS: Final = 1

_Scope = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
_Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_App = Callable[[_Scope, _Receive, _Send], Awaitable[None]]


async def run_http(
    tools: MemoryTools, version: str, host: str, listening: socket.socket, token: str
) -> None:
    """Serve at ``http://host:port/mcp`` until cancelled; the port is that of ``listening``."""
    import uvicorn

    class Server(uvicorn.Server):
        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            """The command has its own handlers."""
            yield

    app = _app(tools, version, host, listening.getsockname()[1])
    config = uvicorn.Config(
        _guarded(app, token),
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    await Server(config).serve(sockets=[listening])


def _app(tools: MemoryTools, version: str, host: str, port: int) -> _App:
    from mcp.server.transport_security import TransportSecuritySettings

    named = [f"{name}:{port}" for name in (host, "127.0.0.1", "localhost", "[::1]")]
    guard = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=named,
        allowed_origins=[f"http://{one}" for one in named],
    )
    try:
        server = make_server(tools, version, transport_security=guard)
        app: _App = server.streamable_http_app()
    except TypeError:  # the line 2.x takes it here
        server = make_server(tools, version)
        app = server.streamable_http_app(transport_security=guard)
    return app


def _guarded(app: _App, token: str) -> _App:
    """Refuses every request without the token."""
    wanted = f"Bearer {token}".encode()

    async def guarded(scope: _Scope, receive: _Receive, send: _Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        shown = dict(scope["headers"]).get(b"authorization", b"")
        if hmac.compare_digest(shown, wanted):
            await app(scope, receive, send)
            return
        headers = [(b"www-authenticate", b"Bearer"), (b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    return guarded
