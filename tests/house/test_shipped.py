"""What an owner gets, as zip or as wheel, is complete and says the same thing in each place."""

import json
import re
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import checkout
import pytest
from packaging.requirements import Requirement

from astrbot_plugin_scoped_memory.core.host.package_installer import missing_packages
from astrbot_plugin_scoped_memory.harness.release import (
    MODELS,
    PLUGIN,
    SHIPPED,
    without_packages,
)
from astrbot_plugin_scoped_memory.tests.house.source import ROOT, metadata, requirements, script

pytestmark = pytest.mark.astrbot

LOCALES = {"zh-CN", "en-US"}


def test_metadata_has_what_the_loader_demands() -> None:
    stated = metadata()
    assert stated["name"] == PLUGIN
    for field in ("name", "desc", "version", "author"):
        assert isinstance(stated[field], str)
        assert stated[field]
    assert stated["display_name"] == "忆域 · Scoped Memory"
    assert stated["astrbot_version"] == ">=4.28.0"


def test_the_changelog_begins_with_the_version_of_the_metadata() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    top = re.search(r"^## \[?v?(\d+\.\d+\.\d+[^\s\]]*)", text, re.MULTILINE)
    assert top is not None
    assert top[1] == str(metadata()["version"]).removeprefix("v")


def keys(tree: object, prefix: str = "") -> set[str]:
    """The dotted paths of all leaves."""
    if not isinstance(tree, dict):
        return {prefix}
    return {path for key, value in tree.items() for path in keys(value, f"{prefix}.{key}")}


def locale(path: Path) -> object:
    text = path.read_text(encoding="utf-8")
    return json.loads(text)


def test_every_locale_says_everything() -> None:
    files = sorted((ROOT / ".astrbot-plugin/i18n").glob("*.json"))
    assert {path.stem for path in files} >= LOCALES
    first, *others = ((path.name, keys(locale(path))) for path in files)
    assert first[1] != {""}
    for name, present in others:
        assert present == first[1], f"{name} and {first[0]} differ"


def members(path: Path) -> dict[str, bytes]:
    """The files of a zip by their names."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def named(text: bytes) -> set[str]:
    """The packages that a requirements.txt asks for."""
    return {requirement.name for requirement in requirements(text.decode())}


def test_the_zip_holds_what_ships_and_the_slim_one_asks_for_less(tmp_path: Path) -> None:
    make_zip = script("make_zip").make_zip
    paths = make_zip(tmp_path), make_zip(tmp_path, slim=True)
    full, slim = (members(path) for path in paths)
    assert {name.split("/")[0] for name in full} == {PLUGIN}
    tops = {name.split("/")[1] for name in full}
    assert {"main.py", "metadata.yaml", "logo.png", "LICENSE", "core", "llm_memory"} <= tops
    assert tops <= set(SHIPPED)
    assert not [name for name in full if "__pycache__" in name or "/tests/" in name]
    assert paths[1].name == paths[0].name.replace(".zip", "-slim.zip")
    assert full.keys() == slim.keys()
    asked = f"{PLUGIN}/requirements.txt"
    assert [name for name in full if full[name] != slim[name]] == [asked]
    assert named(full[asked]) - named(slim[asked]) == set(MODELS)
    assert named(slim[asked]) < named(full[asked])


def test_what_the_slim_zip_leaves_out_is_not_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = "astrbot_plugin_scoped_memory.core.host.package_installer.is_installed"
    monkeypatch.setattr(nothing, lambda _: False)
    text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    path = tmp_path / "requirements.txt"
    path.write_text(without_packages(text, MODELS), encoding="utf-8")
    missed = set(missing_packages(path))
    assert missed == named(text.encode()) - set(MODELS)


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
THE_WHEELS_OWN = {"mcp", "numpy"}
"""AstrBot or chromadb brings them to a bot."""
THE_PLUGINS_OWN = {"apscheduler", "sentence-transformers"}
"""What core/ alone imports, and what an owner of local models installs."""


def test_the_wheel_is_the_engine_and_says_what_the_project_says(tmp_path: Path) -> None:
    build = [sys.executable, "-P", "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (path,) = tmp_path.iterdir()
    held = members(path)
    paths = (path.relative_to(ROOT) for path in checkout.files(new=True))
    engine = {path.as_posix() for path in paths if path.parts[0] == "llm_memory"}
    assert {name for name in held if ".dist-info/" not in name} == engine
    assert [name for name in engine if held[name] != (ROOT / name).read_bytes()] == []
    (about,) = (held[name] for name in held if name.endswith(".dist-info/METADATA"))
    told = Parser().parsestr(about.decode())
    assert (told["Name"], told["Requires-Python"]) == ("scoped-memory", ">=3.12")
    assert told["Version"] == str(metadata()["version"]).removeprefix("v")
    always = {line for line in told.get_all("Requires-Dist", []) if "extra ==" not in line}
    assert always == {str(Requirement(line)) for line in PROJECT["dependencies"]}
    (points,) = (held[name] for name in held if name.endswith("entry_points.txt"))
    assert b"scoped-memory = llm_memory.__main__:main" in points


def test_what_plugin_and_wheel_both_ask_for_has_the_same_bounds() -> None:
    plugin = {requirement.name: str(requirement) for requirement in requirements()}
    engine: dict[str, str] = {}
    for lines in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()):
        for requirement in map(Requirement, lines):
            assert engine.setdefault(requirement.name, str(requirement)) == str(requirement)
    assert plugin.keys() - engine.keys() == THE_PLUGINS_OWN
    assert engine.keys() - plugin.keys() == THE_WHEELS_OWN
    shared = plugin.keys() & engine.keys()
    assert {name: engine[name] for name in shared} == {name: plugin[name] for name in shared}
