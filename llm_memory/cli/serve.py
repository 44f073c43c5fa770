"""``serve``: the MCP server, over stdin and stdout, or HTTP."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..errors import HomeError
from ..home.memory_home import MemoryHome
from ..mcp_server.sdk import NoSdk, check_sdk, keep_stdout_for_the_protocol, make_server
from ..mcp_server.texts import Texts
from ..mcp_server.tools import MemoryTools
from .agent_home import agent_home, levels_of
from .home_flags import read_settings, setting_flags
from .messages import DONE, MISUSED, fail
from .paths import plugin_version

if TYPE_CHECKING:
    from ..home.settings import HomeSettings

_CLOSE_SECONDS: Final = 1.5
"""Signals end the server within two seconds; what was acknowledged is on disk."""


def add_serve(commands: Any) -> None:
    """Add the command to a parser's."""
    one = commands.add_parser(
        "serve",
        parents=[setting_flags()],
        help="给编程助手用的 MCP 服务 / the MCP server for coding agents",
        description="MCP 服务，经 stdin/stdout；编程助手自己会启动它（见 init）。 / The MCP server "
        "over stdin and stdout; a coding agent starts it by itself (see init). docs/mcp.md",
    )
    one.add_argument("--http", type=int, metavar="PORT", help="改用 HTTP / over HTTP instead")
    one.add_argument("--host", default="127.0.0.1", help="HTTP 的地址 / HTTP's address")
    one.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="HTTP 或 --connect 的令牌 / the bearer token of HTTP, or of --connect",
    )
    add_bot_flags(one)
    one.set_defaults(run_home=serve)


def add_bot_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags that name a bot's store."""
    parser.add_argument(
        "--bot",
        type=Path,
        metavar="FOLDER",
        help="用机器人的记忆：它的数据文件夹；机器人要开着 advanced.mcp_share / a bot's memory, by "
        "its data folder; advanced.mcp_share has to be on",
    )
    parser.add_argument(
        "--connect",
        metavar="HOST:PORT",
        help="用别处机器人的记忆，配 --token-file / a bot's memory elsewhere, with --token-file",
    )


def serve(asked: argparse.Namespace) -> int:
    """Serve until stdin ends, or a signal comes."""
    try:
        check_sdk()
    except NoSdk as error:
        return fail(str(error), MISUSED)
    loaded = read_settings(asked)
    token = _http_token(asked) if asked.http is not None else ""
    home = agent_home(asked, loaded.settings)
    for warning in loaded.warnings:
        sys.stderr.write(f"{warning}\n")
    _log_to_stderr()
    if asked.http is None:
        keep_stdout_for_the_protocol()
    asyncio.run(_serve(asked, loaded.settings, home, token))
    return DONE


def _http_token(asked: argparse.Namespace) -> str:
    """Returns the token that HTTP callers show. Raises HomeError."""
    if asked.token_file is None:
        raise HomeError("HTTP 要有 --token-file / HTTP needs --token-file")
    try:
        token: str = asked.token_file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise HomeError(
            f"读不了令牌 / the token cannot be read: {asked.token_file} ({error})"
        ) from error
    if len(token) < 16:
        raise HomeError("令牌太短，至少 16 个字符 / the token is too short, at least 16 characters")
    return token


def _log_to_stderr() -> None:
    from ..log import logger

    add = getattr(logger, "add", None)
    if add is not None:
        level = os.environ.get("SCOPED_MEMORY_LOG", "WARNING").upper()
        with contextlib.suppress(ValueError):
            add(
                sys.stderr, level=level, format="{level} {message}", backtrace=False, diagnose=False
            )


async def _serve(
    asked: argparse.Namespace, settings: HomeSettings, home: MemoryHome, token: str
) -> None:
    texts = Texts.of(settings.language)
    tools = MemoryTools(
        levels_of(home),
        texts,
        max_tokens=settings.max_tokens,
        primer_tokens=settings.primer_tokens,
    )
    http = None if asked.http is None else (asked.host, asked.http, token)
    _on_signals(home)
    if http is None:
        server = make_server(tools, texts, plugin_version())
        running = asyncio.create_task(server.run_stdio_async())
        # Behind the handshake: an agent waits for that, and the first call waits for the store.
        await asyncio.sleep(0)
        home.start()
        await running
    else:
        from ..mcp_server.http import run_http

        home.start()
        await run_http(tools, texts, plugin_version(), *http)
    await _close(home)


def _on_signals(home: MemoryHome) -> None:
    """Close the store and end at once: the SDK would wait until stdin ends."""
    loop = asyncio.get_running_loop()

    async def end() -> None:
        await _close(home)
        os._exit(DONE)

    tasks: set[asyncio.Task[None]] = set()

    def caught() -> None:
        tasks.add(asyncio.ensure_future(end()))

    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, caught)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(caught))


async def _close(home: MemoryHome) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_CLOSE_SECONDS):
            await home.close()
