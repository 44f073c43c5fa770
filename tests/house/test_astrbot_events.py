"""Every kind of event that AstrBot makes is in the table, in both versions that we run under."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.release import CHECKOUT
from astrbot_plugin_scoped_memory.tests.support.astrbot_events import (
    AGENTS,
    MADE,
    PLATFORMS,
    SOURCES,
)

pytestmark = pytest.mark.astrbot

_BASE = "AstrMessageEvent"


def newest() -> Path:
    """The package that this process imports."""
    spec = importlib.util.find_spec("astrbot")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def oldest() -> Path:
    """The package of the oldest supported version."""
    found = sorted((CHECKOUT / ".venv-oldest" / "lib").glob("python*/site-packages/astrbot"))
    if not found:
        pytest.skip("no environment with the oldest AstrBot")
    return found[0]


def name_of(node: ast.expr) -> str:
    """The last part of a name."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def calls(tree: ast.Module, names: frozenset[str]) -> Iterator[str]:
    """Which of ``names`` are called, through ``self`` or not."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and name_of(node.func) in names:
            yield name_of(node.func)


def found_in(package: Path) -> set[tuple[str, str]]:
    """File and callee of whatever makes an event or runs an agent."""
    trees = {
        path.relative_to(package).as_posix(): ast.parse(path.read_text("utf-8"))
        for path in package.rglob("*.py")
    }
    classes = [
        (node.name, {name_of(base) for base in node.bases})
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    ]
    events = {_BASE}
    while more := {name for name, bases in classes if bases & events} - events:
        events |= more
    names = AGENTS | events
    return {(file, callee) for file, tree in trees.items() for callee in calls(tree, names)}


def in_the_table() -> set[tuple[str, str]]:
    """What the table knows; each adapter hands in what it makes."""
    known = {place for places in MADE.values() for place in places}
    for platform in PLATFORMS:
        file = SOURCES + platform.file
        known |= {(file, platform.event), (file, "create_event")}
    return known


@pytest.mark.parametrize("package", [newest, oldest], ids=["newest", "oldest"])
def test_the_table_has_every_place_that_makes_an_event_or_runs_an_agent(package: object) -> None:
    assert callable(package)
    assert found_in(package()) == in_the_table()
