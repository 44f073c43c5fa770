"""The programs of benchmarks/, run in the process of the tests, which has their imports."""

from __future__ import annotations

import contextlib
import io
import runpy
import sys
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

import checkout

FOLDER = checkout.ROOT / "benchmarks"


def module(name: str) -> Any:
    """A module of the folder, which imports others of it by their bare names."""
    with mock.patch.object(sys, "path", [str(FOLDER), *sys.path]):
        return import_module(name)


def play(program: str, *arguments: str | Path) -> str:
    """What ``python benchmarks/PROGRAM ARGUMENTS`` prints. Raises SystemExit where that ends with
    another status than 0."""
    command = [str(FOLDER / program), *map(str, arguments)]
    printed = io.StringIO()
    with (
        mock.patch.object(sys, "argv", command),
        mock.patch.object(sys, "path", [str(FOLDER), *sys.path]),
        contextlib.redirect_stdout(printed),
    ):
        try:
            runpy.run_path(command[0], run_name="__main__")
        except SystemExit as end:
            if end.code:
                raise
    return printed.getvalue()
