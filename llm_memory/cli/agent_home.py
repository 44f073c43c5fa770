"""Which memory a command of a coding agent works with."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from ..errors import HomeError
from ..home.embedder_choice import missing_package, named_embedder
from ..home.memory_home import MemoryHome, connect, follow_bot, open_home
from ..home.settings import HomeSettings, LoadedSettings
from ..mcp_server.levels import levels_of
from ..mcp_server.tools import MemoryTools
from ..roles.role_seat import RoleSeat
from .home_flags import project_folder
from .paths import plugin_version


def agent_home(args: argparse.Namespace, loaded: LoadedSettings) -> MemoryHome:
    """Returns the home that the flags and settings name, not started yet. Raises HomeError."""
    home, role = _home(args, loaded), getattr(args, "role", None)
    return home if role is None else home.as_role(role)


def _home(args: argparse.Namespace, loaded: LoadedSettings) -> MemoryHome:
    bot: Path | None = getattr(args, "bot", None)
    address: str | None = getattr(args, "connect", None)
    if bot is None and address is None:
        return open_home(loaded, project_folder(args), os.environ, plugin_version())
    if address is not None:
        if args.token_file is None:
            raise HomeError("cli.connect_token")
        return connect(address, args.token_file, loaded.named)
    if bot is None or not (bot / "state").is_dir():
        raise HomeError("cli.no_bot", path=bot)
    return follow_bot(bot / "state", loaded.named)


def tools_of(home: MemoryHome, settings: HomeSettings, seat: RoleSeat | None = None) -> MemoryTools:
    """Returns the tools of an agent, or of a person in its place; ``seat`` is that of its role. A
    bot has its own embedder."""
    return MemoryTools(
        levels_of(home),
        max_tokens=settings.max_tokens,
        primer_tokens=settings.primer_tokens,
        embedder="" if home.of_a_bot else named_embedder(settings),
        missing=missing_package(settings),
        seat=seat,
    )
