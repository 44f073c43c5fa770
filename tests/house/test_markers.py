"""Every test says what kind it is, so that ``make quick`` and a reader can choose by it."""

import ast

from astrbot_plugin_scoped_memory.tests.house.source import ROOT

KINDS = {"unit", "property", "contract", "engine"}
BY_FOLDER = {"e2e", "house", "soak"}
"""Folders whose tests are of the kind that the folder's name says."""


def test_every_test_module_states_its_kind() -> None:
    unmarked = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        relative = path.relative_to(ROOT / "tests")
        if relative.parts[0] in BY_FOLDER:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        marks = {
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "pytest.mark"
        }
        if not marks & KINDS:
            unmarked.append(relative.as_posix())
    assert unmarked == []
