"""Where a home lies on this machine, and how paths in settings are read."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

FOLDER: Final = "scoped-memory"
"""The home's own folder, below the folder where the platform keeps programs' data."""
CONFIG: Final = "config.toml"
PROJECT_FOLDER: Final = ".scoped-memory"
"""The folder that marks a project."""


def default_home(environ: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Returns the home's folder where neither a flag nor ``SCOPED_MEMORY_HOME`` names one."""
    user = user_folder(environ)
    if platform == "win32":
        local = environ.get("LOCALAPPDATA", "")
        return (Path(local) if local else user / "AppData" / "Local") / FOLDER
    if platform == "darwin":
        return user / "Library" / "Application Support" / FOLDER
    stated = Path(environ.get("XDG_DATA_HOME", ""))
    # The XDG rules: a relative path there is invalid, and passed over.
    return (stated if stated.is_absolute() else user / ".local" / "share") / FOLDER


def user_folder(environ: Mapping[str, str]) -> Path:
    """Returns the home folder of the user who runs this program."""
    stated = environ.get("HOME") or environ.get("USERPROFILE")
    return Path(stated) if stated else Path.home()


def is_above_user(folder: Path) -> bool:
    """Returns True for the user's own folder and those above it, which are no projects."""
    try:
        return Path.home().resolve().is_relative_to(folder)
    except RuntimeError:  # a system user without one
        return False


def expanded(text: str, base: Path, environ: Mapping[str, str]) -> Path:
    """Returns an absolute path: ``~`` is the user's folder, a relative path begins at ``base``."""
    if text == "~" or text.startswith(("~/", "~\\")):
        return user_folder(environ) / text[1:].lstrip("/\\")
    return base.absolute() / text


def is_folder(path: Path) -> bool:
    """Returns True for a folder; False also where its status cannot be read."""
    try:
        return path.is_dir()
    except OSError:  # such as a name longer than the disk takes
        return False
