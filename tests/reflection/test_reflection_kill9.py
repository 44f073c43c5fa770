"""Killed wherever it is, a reader of turns loses none, and stores nothing twice."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.tests.support.programs.reflecting_child import Child, faults

pytestmark = [
    pytest.mark.process,
    pytest.mark.engine,
    pytest.mark.timeout(300),
    pytest.mark.skipif(sys.platform == "win32", reason="no such signal"),
]

TURNS = 18
THIRD = 120
"""Of the points at which a kill makes a difference while so many turns are heard and read."""


@pytest.mark.parametrize("third", [0, 1, 2])
def test_kill_9_in_a_reading_loses_no_turn_and_stores_nothing_twice(
    tmp_path: Path, third: int
) -> None:
    chance = random.Random(third)
    once = Child(tmp_path, 0, TURNS, chance.randrange(1, THIRD) + third * THIRD)
    assert once.ends() == "killed"
    again = Child(tmp_path, once.said + 1, TURNS, chance.randrange(1, THIRD // 4))
    assert again.ends() in {"killed", "done"}  # little may have been left
    assert Child(tmp_path, again.said + 1, TURNS).ends() == "done"
    assert faults(tmp_path, TURNS) == []
