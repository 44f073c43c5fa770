"""Reads a settings file, and a ``workflow.toml`` of a project or a bot; says where one is no TOML.
A file may be a stranger's."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Final

from ..errors import HomeError
from ..models.workflow import WORKFLOW_KEYS, Workflow, parse_workflow
from ..texts import Said, at
from .files import is_link

_MAX_BYTES: Final = 64 * 1024


def read_toml(path: Path) -> dict[str, Any]:
    """Returns what a TOML file holds; nothing if there is none. Raises HomeError."""
    try:
        with path.open("rb") as file:
            raw = file.read(_MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise HomeError(at(path, "path.unreadable", why=error.strerror)) from error
    if len(raw) > _MAX_BYTES:
        raise HomeError(at(path, "toml.too_large"))
    try:
        return tomllib.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8", "replace").split("\n")
        reason = f"not UTF-8 (at line {len(before)}, column {len(before[-1]) + 1})"
    except ValueError as error:  # TOMLDecodeError, and a number of too many digits
        reason = str(error)
    except RecursionError:
        reason = "nested too deeply"
    hint = Said("toml.windows") if b"\\" in raw else ""
    raise HomeError(at(path, "toml.wrong", reason=reason, hint=hint))


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
    found = {name: value for name, value in read_toml(path).items() if name in WORKFLOW_KEYS}
    return found if any(isinstance(value, dict) for value in found.values()) else {}
