"""An MCP server with the SDK alone and one tool: what ours is compared with. Either line of the
SDK."""

try:
    from mcp.server.fastmcp import FastMCP as Server
except ModuleNotFoundError:  # the line 2.x
    from mcp.server.mcpserver import MCPServer as Server  # type: ignore[import-not-found, no-redef]

server = Server("bare")


@server.tool()
async def echo(text: str) -> str:
    """Returns the text."""
    return text


if __name__ == "__main__":
    server.run()
