"""Runs ``serve``: the MCP server, over stdin and stdout, or HTTP."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import socket
import sys
from typing import TYPE_CHECKING, Final

from ..errors import HomeError
from ..home.memory_home import MemoryHome, read_token
from ..home.setting_values import spoken
from ..mcp_server.sdk import check_sdk, keep_stdout_for_the_protocol, make_server, run_stdio
from ..models.data_models import Refused
from ..roles.role_seat import RoleSeat
from ..text.refusal_words import refusal_words
from ..texts import Said, Spoken
from .agent_home import agent_home, tools_of
from .home_flags import read_settings
from .messages import DONE, warn
from .paths import plugin_version

if TYPE_CHECKING:
    from ..home.settings import HomeSettings

_LATE_SECONDS: Final = 3.0
"""After so long the store is opened though nothing was asked: files are followed from then on."""
_CLOSE_SECONDS: Final = 1.5
"""Signals end the server within two seconds; what was acknowledged is on disk."""


def serve(args: argparse.Namespace) -> int:
    """Serve until stdin ends, or a signal comes."""
    check_sdk()
    loaded = read_settings(args)
    http = None if args.http is None else (args.host, _listening(args), _http_token(args))
    home = agent_home(args, loaded)
    seat = home.new_seat()
    warn((*loaded.warnings, *home.warnings, *_not_taken(seat)))
    _log_to_stderr(spoken(loaded.settings.language))
    if args.http is None:
        keep_stdout_for_the_protocol()
    asyncio.run(_serve(loaded.settings, home, http, seat))
    if seat is not None:
        seat.release()
    # A thread may still wait for a disk or standard input, and Python would wait for it.
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    os._exit(DONE)


def _not_taken(seat: RoleSeat | None) -> tuple[Said, ...]:
    """Take the role. Returns what is to be told where another program holds it."""
    if seat is None or not isinstance(taken := seat.take(), Refused):
        return ()
    return (refusal_words(taken),)


def _listening(args: argparse.Namespace) -> socket.socket:
    """Returns what listens for HTTP. Raises HomeError."""
    family = socket.AF_INET6 if ":" in args.host else socket.AF_INET
    try:
        return socket.create_server((args.host, args.http), family=family)
    except (OSError, OverflowError) as error:
        address = f"{args.host}:{args.http}"
        raise HomeError("server.cannot_listen", address=address, why=error) from error


def _http_token(args: argparse.Namespace) -> str:
    """Returns the token that HTTP callers show. Raises HomeError."""
    if args.token_file is None:
        raise HomeError("server.no_token")
    token = read_token(args.token_file)
    if len(token) < 16:
        raise HomeError("server.short_token")
    return token


def _log_to_stderr(language: Spoken) -> None:
    from ..log import logger

    logger.speak(language)
    level, form = os.environ.get("SCOPED_MEMORY_LOG", "WARNING").upper(), "{level} {message}"
    with contextlib.suppress(ValueError):
        logger.add(sys.stderr, level=level, format=form, backtrace=False, diagnose=False)


async def _serve(
    settings: HomeSettings,
    home: MemoryHome,
    http: tuple[str, socket.socket, str] | None,
    seat: RoleSeat | None,
) -> None:
    tools = tools_of(home, settings, seat)
    _on_signals(home)
    # An agent waits for the handshake; loading an engine meanwhile would slow that down.
    late = asyncio.get_running_loop().call_later(0 if http else _LATE_SECONDS, home.start)
    try:
        if http is None:
            await run_stdio(make_server(tools, plugin_version(), begun=home.start))
        else:
            from ..mcp_server.http import PATH, run_http

            host, listening, _ = http
            sys.stderr.write(f"http://{host}:{listening.getsockname()[1]}{PATH}\n")
            await run_http(tools, plugin_version(), *http)
    finally:
        late.cancel()
        await close(home)


def _on_signals(home: MemoryHome) -> None:
    """Close the store and end at once: the SDK would wait until stdin ends."""
    loop = asyncio.get_running_loop()

    async def end() -> None:
        await close(home)
        os._exit(DONE)

    tasks: set[asyncio.Task[None]] = set()

    def caught() -> None:
        tasks.add(asyncio.ensure_future(end()))

    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, caught)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(caught))


async def close(home: MemoryHome) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_CLOSE_SECONDS):
            await home.close()
