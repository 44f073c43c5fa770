"""Reads a ``workflow.toml``, of a project's or of a bot's. A stranger's checkout may bring it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import HomeError
from ..models.workflow import WORKFLOW_KEYS, Workflow, parse_workflow
from ..texts import at
from .files import is_link
from .toml_file import parse_toml, read_text


def read_workflow(path: Path) -> Workflow | None:
    """Returns what the file says but for its root: that of a bot is a setting of its own. None
    where there is no such file, or it has neither ``[memory]`` nor ``[roles]``. Raises HomeError.
    """
    tables = read_tables(path)
    return parse_workflow(path, tables) if tables else None


def read_tables(path: Path) -> dict[str, Any]:
    """Returns what bears the names of our tables, if one is a table. Raises HomeError where the
    file is a link, or no TOML."""
    if is_link(path):
        raise HomeError(at(path, "path.link"))
    parsed = parse_toml(path, read_text(path))
    found = {name: value for name, value in parsed.items() if name in WORKFLOW_KEYS}
    return found if any(isinstance(value, dict) for value in found.values()) else {}
