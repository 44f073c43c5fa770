"""The MCP server over the SDK, whose lines 1.x and 2.x differ here and nowhere else."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
from collections.abc import Callable
from importlib import metadata
from typing import Any, Final, cast

from .tools import MemoryTools

NAME: Final = "scoped-memory"
LEAST: Final = (1, 23)
"""Since then a loopback server refuses foreign hosts by itself."""
INSTRUCTIONS: Final = (
    "Long-term memory across sessions. Call memory_primer at the start, memory_search before you "
    "answer about earlier decisions or preferences, memory_log for lasting facts, "
    "memory_session_end at the end."
)
_READS: Final = {"memory_primer", "memory_search", "memory_read"}


class NoSdk(Exception):
    """The package ``mcp`` is missing, or too old; the text says which."""


def check_sdk() -> None:
    """Raises NoSdk."""
    try:
        version = metadata.version("mcp")
    except metadata.PackageNotFoundError:
        raise NoSdk(
            "没有 mcp 包 / the package mcp is missing: pip install 'mcp>=1.23,<3'"
        ) from None
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    if numbers < LEAST:
        raise NoSdk(
            f"mcp {version} 太旧 / the package mcp {version} is too old: pip install 'mcp>=1.23,<3'"
        )


def make_server(
    tools: MemoryTools, version: str, *, begun: Callable[[], None] = lambda: None, **options: Any
) -> Any:
    """Returns a server that offers the tools. ``begun`` is called when a client has been answered
    who it speaks to; ``options`` are the SDK's own."""
    from mcp.types import CallToolResult, ToolAnnotations

    base, takes_version = _server_class()

    class Server(base):  # type: ignore[misc, valid-type]
        async def list_tools(self) -> Any:
            begun()
            return await super().list_tools()

        async def call_tool(
            self, name: str, arguments: dict[str, Any] | None, *context: Any
        ) -> CallToolResult:
            """Arguments are checked by us, in our words, and nothing is raised."""
            caller = context[0] if context and context[0] is not None else self.get_context()
            answer = await tools.call(name, arguments, _client_name(caller))
            content = [{"type": "text", "text": answer.text}]
            return CallToolResult.model_validate({"content": content, "isError": answer.failed})

    more = {"version": version} if takes_version else {}
    server = Server(NAME, instructions=INSTRUCTIONS, log_level="WARNING", **more, **options)
    reads = ToolAnnotations(readOnlyHint=True, openWorldHint=False)
    writes = ToolAnnotations(
        readOnlyHint=False, destructiveHint=False, idempotentHint=True, openWorldHint=False
    )
    for name, function in tools.offered.items():
        server.add_tool(
            function,
            name,
            description=" ".join((function.__doc__ or "").split()),
            annotations=reads if name in _READS else writes,
            structured_output=False,
        )

    @server.resource("memory://primer", name="primer", mime_type="text/markdown")  # type: ignore[untyped-decorator]
    async def primer() -> str:
        return (await tools.call("memory_primer", {})).text

    return server


def _client_name(context: Any) -> str:
    """Returns the name that the calling program gave itself, as far as it did."""
    with contextlib.suppress(Exception):
        said = context.session.client_params
        info = said.clientInfo if hasattr(said, "clientInfo") else said.client_info
        return str(info.name)
    return ""


def _server_class() -> tuple[Any, bool]:
    """Returns the SDK's class, and whether it takes our version."""
    try:
        from mcp.server.fastmcp import FastMCP
    except ModuleNotFoundError:
        # The line 2.x, which the type checker does not see.
        return importlib.import_module("mcp.server.mcpserver").MCPServer, True
    return FastMCP, False


async def run_stdio(server: Any) -> None:
    """Serve over stdin and stdout until stdin ends. The line 1.x raises where that ends in the
    middle of a line, or where nobody reads stdout any more: it wants to tell the client."""
    import anyio

    gone = (anyio.ClosedResourceError, anyio.BrokenResourceError, BrokenPipeError)
    with contextlib.suppress(*gone):  # of a group, too
        await server.run_stdio_async()


def keep_stdout_for_the_protocol() -> None:
    """Whatever prints, prints to stderr from now on; the SDK's stdio server alone finds the real
    stdout, as the buffer of ``sys.stdout``. The line 2.x does so by itself, too."""
    wire = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = cast("Any", _StderrBeforeTheWire(sys.stderr.buffer, wire))


class _StderrBeforeTheWire(io.TextIOWrapper):
    def __init__(self, stderr: Any, wire: Any) -> None:
        super().__init__(
            io.FileIO(os.dup(stderr.fileno()), "w"), "utf-8", "replace", line_buffering=True
        )
        self._wire = wire

    @property
    def buffer(self) -> Any:
        return self._wire
