"""The MCP server over HTTP: a bearer token, and the SDK's guard against DNS rebinding."""

from __future__ import annotations

import contextlib
import hmac
import socket
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final

from .sdk import make_server
from .tools import MemoryTools

PATH: Final = "/mcp"

type _App = Callable[[Any, Any, Any], Awaitable[None]]


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
        ws="none",
        timeout_graceful_shutdown=1,
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
        app: _App = make_server(tools, version, transport_security=guard).streamable_http_app()
    except TypeError:  # the line 2.x takes it here
        app = make_server(tools, version).streamable_http_app(transport_security=guard)
    return app


def _guarded(app: _App, token: str) -> _App:
    """Refuses every request without the token."""
    wanted = f"Bearer {token}".encode()
    headers = [(b"www-authenticate", b"Bearer"), (b"content-length", b"0")]

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        shown = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] == "lifespan" or hmac.compare_digest(shown, wanted):
            await app(scope, receive, send)
        else:
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": b""})

    return guarded
