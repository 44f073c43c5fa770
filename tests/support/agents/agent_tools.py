"""Programs that a coding agent's machine has: a Python without AstrBot, the MCP inspector."""

from __future__ import annotations

from pathlib import Path

import checkout
import environment
import inspector as node_inspector

AGENT = checkout.ROOT / ".venv-agent"


def agent_python() -> Path | None:
    """The interpreter of an environment with the installed wheel and mcp 2.x, without AstrBot.

    None where `make env-agent` has not run since the engine's last change: what is installed there
    would be another engine than the one under test.
    """
    return environment.python_of(AGENT) if environment.is_ready(AGENT, "agent") else None


def inspector() -> list[str] | None:
    """The program and first arguments of the MCP inspector; None where npm could not bring it."""
    return node_inspector.command()
