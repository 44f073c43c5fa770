"""Reads a settings file, and says where it is no TOML. A file may be a stranger's."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, Final

from ..errors import HomeError
from ..texts import Said, at

_MAX_BYTES: Final = 64 * 1024
_PLACE: Final = re.compile(r"^(.*) \(at (?:line (\d+), column (\d+)|end of document)\)$", re.DOTALL)


def read_toml(path: Path) -> dict[str, Any]:
    """Returns what a TOML file holds; nothing if there is none. Raises HomeError."""
    return parse_toml(path, read_text(path))


def read_text(path: Path) -> str:
    """Returns a settings file as text, empty if there is none. Raises HomeError."""
    try:
        with path.open("rb") as file:
            raw = file.read(_MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        raise HomeError(at(path, "path.unreadable", why=error.strerror)) from error
    if len(raw) > _MAX_BYTES:
        raise HomeError(at(path, "toml.too_large"))
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8", "replace")
        raise _broken(path, before, "not UTF-8") from error


def parse_toml(path: Path, text: str) -> dict[str, Any]:
    """Returns what the ``text`` of a file holds. Raises HomeError."""
    try:
        return tomllib.loads(text)
    except ValueError as error:  # TOMLDecodeError, and a number of too many digits
        found = _PLACE.fullmatch(str(error))
        reason, line, column = found.groups() if found else (str(error), None, None)
        raise _broken(path, text, reason, line, column) from error
    except RecursionError as error:
        raise HomeError(at(path, "toml.too_deep")) from error


def _broken(
    path: Path, before: str, reason: str, line: str | None = None, column: str | None = None
) -> HomeError:
    """Without ``line`` and ``column`` the fault stands at the end of ``before``."""
    lines = before.split("\n")
    line, column = line or str(len(lines)), column or str(len(lines[-1]) + 1)
    has_backslash = "\\" in lines[min(int(line), len(lines)) - 1]
    hint = Said("toml.windows") if has_backslash else ""
    return HomeError(at(path, "toml.wrong", line=line, column=column, reason=reason, hint=hint))
