"""What all commands of a home have in common: flags for its settings, and reading them."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from ..errors import HomeError
from ..home.places import is_folder
from ..home.setting_values import KEYS, spoken
from ..home.settings import LoadedSettings, flag_of, load_settings
from ..texts import at
from .messages import speak


def setting_flags() -> argparse.ArgumentParser:
    """Returns a parent parser with a flag for each setting, ``--project-folder`` and ``--json``."""
    parent = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    folder = "flag.project_folder"
    parent.add_argument("--project-folder", type=Path, metavar="PATH", help=folder)
    parent.add_argument("--json", action="store_true", help="flag.json")
    group = parent.add_argument_group("about.settings", "about.settings_win")
    for name, key in KEYS.items():
        group.add_argument(flag_of(name), dest=f"set_{name}", metavar="…", help=key.code)
    return parent


def project_folder(args: argparse.Namespace) -> Path:
    """Returns the folder that is meant, absolute. Raises HomeError if there is none."""
    folder: Path = getattr(args, "project_folder", Path()).absolute()
    if not is_folder(folder):
        raise HomeError(at(folder, "path.no_folder"))
    return folder


def read_settings(args: argparse.Namespace) -> LoadedSettings:
    """Returns the settings in force for a command, and speaks their language. Raises HomeError."""
    flags = {name: text for name in KEYS if (text := getattr(args, f"set_{name}", ""))}
    loaded = load_settings(flags=flags, environ=os.environ, cwd=project_folder(args))
    speak(spoken(loaded.settings.language))
    return loaded


def wants_json(args: argparse.Namespace) -> bool:
    """Returns True if ``--json`` was given."""
    return getattr(args, "json", False) is True
