"""Models, rules and formats are values and sync functions: no clock, disk, log or await."""

import ast
import tomllib
from collections.abc import Iterator

import pytest

from astrbot_plugin_scoped_memory.tests.house.source import (
    ROOT,
    Import,
    Module,
    imports_here,
    module,
    modules,
)

CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
SOURCES = next(
    contract["source_modules"]
    for contract in CONTRACTS["importlinter"]["contracts"]
    if contract["id"] == "rules"
)


def places(module_name: str) -> list[str]:
    """The folders and files that a module of the contract is; its stars stand for packages."""
    path = module_name.removeprefix("astrbot_plugin_scoped_memory.").replace(".", "/")
    found = [*ROOT.glob(path), *ROOT.glob(f"{path}.py")]
    assert found, module_name
    return sorted(one.relative_to(ROOT).as_posix() for one in found)


PURE = [place for name in SOURCES for place in places(name)]

# A pure function has no use for these: they wait, look at the world, or change it.
WORLD = frozenset(
    {
        "asyncio",
        "concurrent",
        "fcntl",
        "fileinput",
        "glob",
        "http",
        "io",
        "logging",
        "loguru",
        "mmap",
        "msvcrt",
        "multiprocessing",
        "os",
        "queue",
        "random",
        "secrets",
        "select",
        "selectors",
        "shelve",
        "shutil",
        "signal",
        "socket",
        "sqlite3",
        "subprocess",
        "sys",
        "tempfile",
        "threading",
        "time",
        "urllib",
        "uuid",
        "warnings",
    }
)
PURE_PATHS = frozenset({"PurePath", "PurePosixPath", "PureWindowsPath"})
CLOCKS = frozenset({"now", "today", "utcnow"})
BUILTINS = frozenset({"open", "print", "input", "exec", "eval", "__import__"})
AWAITS = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)


def impurities(subject: Module) -> list[str]:
    """`path:line what` for each way in which the module is not pure."""
    return [
        f"{subject.path}:{getattr(node, 'lineno', 0)} {what}"
        for node in ast.walk(subject.tree)
        for what in _impurities(node)
    ]


def _impurities(node: ast.AST) -> Iterator[str]:
    for found in imports_here(node):
        if _reaches_out(found):
            yield f"imports {found.source} {found.name}".rstrip()
    match node:
        case ast.Attribute(attr=attr) if attr in CLOCKS:
            yield f"asks a clock: {ast.unparse(node)}"
        case ast.Call(func=ast.Name(id=name)) if name in BUILTINS:
            yield f"calls {name}"
        case ast.Global():
            yield "changes a global"
    if isinstance(node, AWAITS):
        yield "waits"


def _reaches_out(found: Import) -> bool:
    if found.source == "pathlib":
        return found.name not in PURE_PATHS
    return found.source.split(".")[0] in WORLD


def test_no_folder_of_rules_is_left_out() -> None:
    assert sum(part.endswith("/rules") for part in PURE) >= 12


@pytest.mark.parametrize("part", PURE)
def test_the_pure_rooms_touch_nothing(part: str) -> None:
    assert [line for subject in modules(part) for line in impurities(subject)] == []


@pytest.mark.parametrize(
    "code",
    [
        "import asyncio",
        "import time",
        "import os.path",
        "import pathlib",
        "from pathlib import Path",
        "from pathlib import PurePath, Path",
        "import logging",
        "from loguru import logger",
        "from datetime import datetime\nnow = datetime.now()",
        "import datetime as dt\ndef f():\n    return dt.date.today()",
        "from datetime import datetime\nclock = datetime.utcnow",
        "def f(p):\n    return open(p)",
        "async def f():\n    pass",
        "def f():\n    global x\n    x = 1",
        "def f():\n    import random",
    ],
)
def test_a_planted_impurity_is_found(code: str) -> None:
    assert impurities(module(code))


@pytest.mark.parametrize(
    "code",
    [
        "from pathlib import PurePosixPath",
        "from datetime import UTC, datetime, time, timedelta",
        "import hashlib, json, re",
        "from . import time",
        "def f(now):\n    return now",
    ],
)
def test_a_pure_module_passes(code: str) -> None:
    assert impurities(module(code)) == []
