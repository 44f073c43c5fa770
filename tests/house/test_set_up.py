"""Setting up asks for the right things, only when they changed; the checkout has one name and one
copy of each class; each file of tests says what it starts."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import checkout
import environment
import pytest

from astrbot_plugin_scoped_memory.tests.house.source import ROOT, imports

AT_THE_ROOT = {
    ".astrbot-plugin", ".ci", ".gitattributes", ".github", ".gitignore", ".pre-commit-config.yaml",
    "AGENTS.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "NOTICE", "README.en.md",
    "README.md", "SECURITY.md", "__init__.py", "_conf_schema.json", "benchmarks", "conftest.py",
    "core", "docs", "harness", "llm_memory", "logo.png", "main.py",
    "metadata.yaml", "pyproject.toml", "requirements-dev.txt", "requirements-models.txt",
    "requirements.txt", "scripts", "tests", "tools",
}  # fmt: skip
"""What a command has left there by mistake is found here."""
STARTED = {"unit", "engine", "process", "astrbot"}
IMPORTS_ASTRBOT = re.compile(
    r"astrbot(\.|$)|astrbot_plugin_scoped_memory\.(main|core|tools)\b"
    r"|astrbot_plugin_scoped_memory\.tests\.support\.(astrbot_events|plugin|turn_plugin)$"
)


def executable(path: Path, text: str) -> None:
    """A program of a shell's lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


def test_nothing_lies_at_the_root_that_nobody_has_put_there() -> None:
    found = {path.relative_to(checkout.ROOT).parts[0] for path in checkout.files()}
    assert found == AT_THE_ROOT


def test_the_root_is_not_on_the_path() -> None:
    assert checkout.register() is sys.modules[checkout.NAME]
    assert checkout.ROOT not in [Path(entry or ".").resolve() for entry in sys.path]


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What each call would install."""
    calls: list[list[str]] = []
    monkeypatch.setattr(environment, "make", lambda folder: folder / "bin" / "python")
    monkeypatch.setattr(environment, "install", lambda *call: calls.append(call[2]))
    return calls


def test_what_is_installed_is_installed_again_where_it_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: list[list[str]]
) -> None:
    environment.prepare(tmp_path, "full")
    for level in ("full", "dev", "demo"):
        environment.prepare(tmp_path, level)
    assert len(installed) == 1
    changed = environment.Level("astrbot>=99", ("requirements.txt",))
    monkeypatch.setitem(environment.LEVELS, "demo", changed)
    environment.prepare(tmp_path, "demo")
    assert [call[0] for call in installed] == ["astrbot>=4.28", "astrbot>=99"]


def test_a_changed_engine_is_installed_again_where_its_wheel_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: list[list[str]]
) -> None:
    root = tmp_path / "checkout"
    (root / "llm_memory").mkdir(parents=True)
    for name in ("pyproject.toml", "metadata.yaml", "llm_memory/rule.py", "README.md"):
        (root / name).write_text("1", encoding="utf-8")
    monkeypatch.setattr(environment, "ROOT", root)
    environment.prepare(tmp_path, "agent")
    assert installed == [["mcp>=2,<3", str(root)]]
    for name, again in (
        ("pyproject.toml", True),
        ("llm_memory/rule.py", True),
        ("llm_memory/new.py", True),
        ("llm_memory/rule.cpython-312.pyc", False),
        ("README.md", False),
    ):
        (root / name).write_text("2", encoding="utf-8")
        assert environment.is_ready(tmp_path, "agent") is not again, name
        environment.prepare(tmp_path, "agent")


def find_python(path: str, home: Path, **extra: str) -> str:
    """What the script prints."""
    command = ["bash", str(ROOT / "scripts" / "find_python.sh")]
    env = {"PATH": path, "HOME": str(home), **extra}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout


def test_a_python_is_tried_before_it_is_taken(tmp_path: Path) -> None:
    executable(tmp_path / "shims" / "python3.12", "echo not here >&2; exit 127")
    executable(tmp_path / "versions" / "3.13.9" / "bin" / "python", "echo /found/3.13")
    executable(tmp_path / "shims" / "python3", "echo too old >&2; exit 1")
    found = find_python(f"{tmp_path / 'shims'}:{os.defpath}", tmp_path / "fresh home")
    assert found.strip()
    assert "shims" not in found
    executable(tmp_path / "my python", "echo chosen")
    mine = find_python(os.defpath, tmp_path, PYTHON=str(tmp_path / "my python"))
    assert mine.strip() == "chosen"


def test_each_file_states_what_its_tests_start() -> None:
    """`make quick` chooses by it."""
    silent, unmarked = [], []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        marks = {
            node.attr
            for statement in tree.body
            if isinstance(statement, ast.Assign)
            and ast.unparse(statement.targets[0]) == "pytestmark"
            for node in ast.walk(statement.value)
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "pytest.mark"
        }
        relative = path.relative_to(ROOT / "tests")
        if not marks & STARTED and relative.parts[0] not in ("house", "soak"):
            silent.append(relative.as_posix())
        imported = any(IMPORTS_ASTRBOT.match(one.source) for one in imports(tree))
        if imported and "astrbot" not in marks:
            unmarked.append(relative.as_posix())
    assert (silent, unmarked) == ([], [])
