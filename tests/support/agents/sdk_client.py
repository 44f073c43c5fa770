"""A client over the MCP SDK's own classes, for both its lines, that says as JSON what it was told.

    python sdk_client.py JSON

It imports nothing of ours: it runs where the engine is an installed wheel, too.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import os
import sys
from collections.abc import AsyncIterator
from typing import Any

MANY = 50
CALLS = [
    ("memory_primer", {}),
    ("memory_log", {"content": "We decided to deploy the shop on Thursdays", "type": "decision"}),
    ("memory_search", {"query": "when is the shop deployed", "max_tokens": 400}),
    ("memory_search", {"query": "deployed", "scope": "家人"}),
    ("memory_update_tasks", {"tasks_json": '[{"title":"Write the release notes"}]'}),
    ("memory_update_tasks", {"tasks_json": "{bad"}),
    ("memory_session_end", {"summary": "We planned the deployment of the shop"}),
    ("memory_read", {"path": "project/decisions.md"}),
    ("memory_read", {"path": "../../../etc/passwd"}),
    ("memory_read", {}),
    ("memory_read", {"path": 7}),
    ("memory_read", {"path": "x", "more": 1}),
    ("memory_search", {"query": "deployed", "max_tokens": "250"}),
    ("memory_forget", {"id": "m-aaaa"}),
]


@contextlib.asynccontextmanager
async def streams(asked: dict[str, Any]) -> AsyncIterator[Any]:
    """Where the server is: a command to start, or an address."""
    if "command" in asked:
        from mcp import StdioServerParameters
        from mcp.client.stdio import stdio_client

        command, *arguments = asked["command"]
        server = StdioServerParameters(
            command=command, args=arguments, env={**os.environ, **asked["env"]}, cwd=asked["cwd"]
        )
        async with stdio_client(server) as pair:
            yield pair[0], pair[1]
        return
    from mcp.client.streamable_http import streamable_http_client

    try:
        http = importlib.import_module("httpx2")  # the line 2.x
        importlib.import_module("mcp.server.mcpserver")
    except ImportError:
        http = importlib.import_module("httpx")
    headers = {"Authorization": f"Bearer {asked['token']}"}
    async with (
        http.AsyncClient(headers=headers, timeout=30) as client,
        streamable_http_client(asked["url"], http_client=client) as opened,
    ):
        yield opened[0], opened[1]


def told(result: Any) -> tuple[str, bool]:
    """Text and error of a tool's result, however this line calls them."""
    raw = result.model_dump(by_alias=True, mode="json")
    (block,) = raw["content"]
    return block["text"], bool(raw.get("isError"))


async def main(asked: dict[str, Any]) -> dict[str, Any]:
    """All that is tried."""
    from mcp import ClientSession
    from mcp.types import Implementation

    info = Implementation(name="sdk-client", version="1")
    async with (
        streams(asked) as (read, write),
        ClientSession(read, write, client_info=info) as session,
    ):
        hello = (await session.initialize()).model_dump(by_alias=True, mode="json")
        tools = (await session.list_tools()).model_dump(by_alias=True, mode="json")["tools"]
        answers = [[name, *told(await session.call_tool(name, given))] for name, given in CALLS]
        resources = (await session.list_resources()).model_dump(by_alias=True, mode="json")
        uri: Any = resources["resources"][0]["uri"]
        primer = (await session.read_resource(uri)).model_dump(by_alias=True, mode="json")
        many = await asyncio.gather(
            *(
                session.call_tool(
                    "memory_log",
                    {"content": f"Crate {n * n} holds the books of year {n}", "type": "pattern"},
                )
                for n in range(MANY)
            )
        )
    return {
        "hello": hello,
        "tools": [tool["name"] for tool in tools],
        "answers": answers,
        "resources": [str(one["uri"]) for one in resources["resources"]],
        "primer": primer["contents"][0]["text"],
        "many": [told(one) for one in many],
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(main(json.loads(sys.argv[1])))))
