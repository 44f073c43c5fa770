"""The checkout has one name and one copy of each class, whatever its folder is called."""

import importlib
import subprocess
import sys
from pathlib import Path

import checkout
import pytest

AT_THE_ROOT = {
    ".astrbot-plugin", ".ci", ".gitattributes", ".github", ".gitignore", ".pre-commit-config.yaml",
    "AGENTS.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "NOTICE", "README.en.md",
    "README.md", "SECURITY.md", "__init__.py", "_conf_schema.json", "benchmarks", "conftest.py",
    "core", "docs", "harness", "llm_memory", "logo.png", "main.py",
    "metadata.yaml", "pyproject.toml", "requirements-dev.txt", "requirements-models.txt",
    "requirements.txt", "scripts", "tests", "tools",
}  # fmt: skip
"""What a command has left there by mistake is found here."""


def test_nothing_lies_at_the_root_that_nobody_has_put_there() -> None:
    found = {path.relative_to(checkout.ROOT).parts[0] for path in checkout.files()}
    assert found == AT_THE_ROOT


def test_registering_twice_gives_the_same_package() -> None:
    package = checkout.register()
    assert checkout.register() is package
    assert sys.modules[checkout.NAME] is package
    assert [Path(entry) for entry in package.__path__] == [checkout.ROOT]


def test_a_class_is_the_same_by_every_import() -> None:
    errors = importlib.import_module(f"{checkout.NAME}.llm_memory.errors")
    scope = importlib.import_module(f"{checkout.NAME}.llm_memory.models.scope")
    assert scope.InvalidScope is errors.InvalidScope
    assert scope.Scope.__module__ == f"{checkout.NAME}.llm_memory.models.scope"


def test_the_root_is_not_on_the_path() -> None:
    assert checkout.ROOT not in [Path(entry or ".").resolve() for entry in sys.path]
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("llm_memory")


def test_a_farm_shows_the_package_by_its_name(tmp_path: Path) -> None:
    package = checkout.farm(tmp_path) / checkout.NAME
    assert (package / "llm_memory" / "errors.py").samefile(
        checkout.ROOT / "llm_memory" / "errors.py"
    )

    def made() -> tuple[int, int]:
        """Not when it was read: looking at a link changes that."""
        found = (package / "core").lstat()
        return found.st_ino, found.st_mtime_ns

    before = made()
    checkout.farm(tmp_path)
    assert made() == before, "what was right was made again"


def test_a_copied_farm_can_be_changed_without_changing_the_checkout(tmp_path: Path) -> None:
    package = checkout.farm(tmp_path, copy=True) / checkout.NAME
    (package / "core" / "planted.py").touch()
    assert not (checkout.ROOT / "core" / "planted.py").exists()
    checkout.farm(tmp_path, copy=True)
    assert not (package / "core" / "planted.py").exists()


def test_where_links_are_not_allowed_a_farm_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("no right to make links")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    package = checkout.farm(tmp_path) / checkout.NAME
    assert not (package / "core").is_symlink()
    assert (package / "llm_memory" / "errors.py").is_file()


def test_without_git_the_files_are_those_that_no_tool_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = set(checkout.files(new=True))

    def refuse(*_: object, **__: object) -> None:
        raise FileNotFoundError("git")

    monkeypatch.setattr(subprocess, "run", refuse)
    walked = set(checkout.files(new=True))
    assert asked <= walked
    assert checkout.ROOT / "Makefile" in walked
    assert not [path for path in walked if ".venv" in path.parts or "__pycache__" in path.parts]
