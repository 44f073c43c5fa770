"""Killed wherever it is, a reader of turns loses none, and stores nothing twice."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.tests.support.reflecting_child import Child, faults

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(sys.platform == "win32", reason="no such signal"),
]

TURNS = 18


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_kill_9_in_a_reading_loses_no_turn_and_stores_nothing_twice(
    tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    first = 0
    for _ in range(2 if seed == 1 else 1):
        child = Child(tmp_path, first, TURNS, chance.randrange(5, 40))
        assert child.ends() == "killed"
        first = child.said + 1
    assert Child(tmp_path, first, TURNS).ends() == "done"
    assert faults(tmp_path, TURNS) == []
