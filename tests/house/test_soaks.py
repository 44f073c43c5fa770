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
