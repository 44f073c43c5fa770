"""The MCP server over the SDK, whose lines 1.x and 2.x differ here and nowhere else."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
from collections.abc import Callable
from importlib import metadata
from typing import Any, Final

from ..errors import HomeError
from .tools import MemoryTools

NAME: Final = "scoped-memory"
LEAST: Final = (1, 23)
"""Since then a loopback server refuses foreign hosts by itself."""
_INSTALL: Final = "pip install 'mcp>=1.23,<3'"
INSTRUCTIONS: Final = (
    "Long-term memory across sessions. Call memory_primer at the start, memory_search before you "
    "answer about earlier decisions or preferences, memory_log for lasting facts, "
    "memory_session_end at the end."
)
_READS: Final = {"memory_primer", "memory_search", "memory_read"}


def check_sdk() -> None:
    """Raises HomeError where the package ``mcp`` is missing, or too old."""
    try:
        version = metadata.version("mcp")
    except metadata.PackageNotFoundError:
        raise HomeError("home.no_mcp", install=_INSTALL) from None
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    if numbers < LEAST:
        raise HomeError("home.old_mcp", version=version, install=_INSTALL)


def make_server(
    tools: MemoryTools, version: str, *, begun: Callable[[], None] = lambda: None, **options: Any
) -> Any:
    """Returns a server that offers the tools. ``begun`` is called when a client has been answered
    who it speaks to; ``options`` are the SDK's own."""
    from mcp.types import CallToolResult, ToolAnnotations

    try:
        base = importlib.import_module("mcp.server.fastmcp").FastMCP
    except ModuleNotFoundError:  # the line 2.x
        base = importlib.import_module("mcp.server.mcpserver").MCPServer
        options["version"] = version

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

    server = Server(NAME, instructions=INSTRUCTIONS, log_level="WARNING", **options)
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
        return str((said.clientInfo if hasattr(said, "clientInfo") else said.client_info).name)
    return ""


async def run_stdio(server: Any) -> None:
    """Serve over stdin and stdout until stdin ends. The line 1.x raises where that ends in the
    middle of a line, or where nobody reads stdout any more: it wants to tell the client."""
    import anyio

    gone = (anyio.ClosedResourceError, anyio.BrokenResourceError, BrokenPipeError)
    with contextlib.suppress(*gone):  # of a group, too
        await server.run_stdio_async()


class _Stderr(io.TextIOWrapper):
    """Prints to stderr; whoever asks for the bytes below gets another stream."""

    buffer: Any = None


def keep_stdout_for_the_protocol() -> None:
    """Whatever prints, prints to stderr from now on; the SDK's stdio server alone finds the real
    stdout, as the buffer of ``sys.stdout``. The line 2.x does so by itself, too."""
    wire = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    stderr = io.FileIO(os.dup(sys.stderr.fileno()), "w")
    sys.stdout = printed = _Stderr(stderr, "utf-8", "replace", line_buffering=True)
    printed.buffer = wire
