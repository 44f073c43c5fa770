"""Each test says what it starts, so that ``make quick`` and a reader can choose by it; and what is
marked as a soak is run by ``make soak``."""

from __future__ import annotations

import ast
import re

from astrbot_plugin_scoped_memory.tests.house.source import ROOT, imports

STARTED = {"unit", "engine", "process", "astrbot"}
BY_FOLDER = {"house", "soak"}
"""Folders whose tests are of the kind that the folder's name says."""
IMPORTS_ASTRBOT = re.compile(
    r"astrbot(\.|$)|astrbot_plugin_scoped_memory\.(main|core|tools)\b"
    r"|astrbot_plugin_scoped_memory\.tests\.support\.(astrbot_events|plugin|turn_plugin)$"
)


def marks_of(tree: ast.AST) -> set[str]:
    """The marks that are named anywhere below."""
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "pytest.mark"
    }


def of_file(tree: ast.Module) -> set[str]:
    """The marks that all tests of a file have."""
    return {
        mark
        for statement in tree.body
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "pytestmark"
        for mark in marks_of(statement.value)
    }


def test_each_file_states_what_its_tests_start() -> None:
    silent, astrbot = [], []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        relative = path.relative_to(ROOT / "tests")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        marks = of_file(tree)
        if not marks & STARTED and relative.parts[0] not in BY_FOLDER:
            silent.append(relative.as_posix())
        imported = any(IMPORTS_ASTRBOT.match(one.source) for one in imports(tree))
        if imported and "astrbot" not in marks:
            astrbot.append(relative.as_posix())
    assert silent == []
    assert astrbot == []


MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
(SOAKS,) = re.findall(r"^SOAKS := (.+)$", MAKEFILE, re.MULTILINE)


def test_every_soak_is_run_by_make() -> None:
    """`make test` leaves it out."""
    run = [ROOT / path for path in SOAKS.split()]
    marked = [
        path
        for path in (ROOT / "tests").rglob("test_*.py")
        if "mark." + "soak" in path.read_text("utf-8")
    ]
    assert len(marked) >= 5
    assert [path for path in marked if not any(path.is_relative_to(one) for one in run)] == []


def test_every_law_is_tried_with_more_examples_in_a_soak() -> None:
    """`hypothesis` is the mark that hypothesis gives to each test that it makes examples for."""
    (recipe,) = re.findall(r"^soak:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    assert '-m "soak or hypothesis"' in recipe
    assert "--hypothesis-profile=soak" in recipe
    assert SOAKS.endswith(" tests")
    fixed = [
        path.name
        for path in (ROOT / "tests").rglob("test_*.py")
        if re.search(r"settings\(max_examples=\d", path.read_text("utf-8"))
    ]
    assert fixed == []
