"""What is marked as a soak is run by `make soak`: `make test` leaves it out."""

from __future__ import annotations

import re

from astrbot_plugin_scoped_memory.tests.house.source import ROOT

MARK = "mark." + "soak"


def test_every_soak_is_run_by_make() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (paths,) = re.findall(r"^SOAKS := (.+)$", makefile, re.MULTILINE)
    run = [ROOT / path for path in paths.split()]
    marked = [
        path for path in (ROOT / "tests").rglob("test_*.py") if MARK in path.read_text("utf-8")
    ]
    assert len(marked) >= 5
    assert [path for path in marked if not any(path.is_relative_to(one) for one in run)] == []


def test_every_law_is_tried_with_more_examples_in_a_soak() -> None:
    """`hypothesis` is the mark that hypothesis gives to each test that it makes examples for."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (recipe,) = re.findall(r"^soak:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    assert '-m "soak or hypothesis"' in recipe
    assert "--hypothesis-profile=soak" in recipe
    assert " tests\n" in re.findall(r"^SOAKS := .+\n", makefile, re.MULTILINE)[0]
    fixed = [
        path.name
        for path in (ROOT / "tests").rglob("test_*.py")
        if re.search(r"settings\(max_examples=\d", path.read_text("utf-8"))
    ]
    assert fixed == []
