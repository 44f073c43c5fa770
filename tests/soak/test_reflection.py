"""Twenty times kill -9 in readings of turns."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.tests.support.programs.reflecting_child import Child, faults

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]

KILLS, TURNS = 20, 240


def test_a_reader_that_is_killed_twenty_times_has_lost_nothing(
    tmp_path: Path, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(seed)
    first = kills = 0
    for _ in range(KILLS):
        child = Child(tmp_path, first, TURNS, chance.randrange(1, 170))
        kills += child.ends() == "killed"
        first = child.said + 1
        assert faults_so_far(tmp_path) == []
    assert Child(tmp_path, first, TURNS).ends() == "done"
    assert faults(tmp_path, TURNS) == []
    with capsys.disabled():
        print(f"\n  seed {seed}: killed {kills} times, nothing lost or twice")  # noqa: T201
    assert kills == KILLS


def faults_so_far(root: Path) -> list[str]:
    """No half file between two lives."""
    return [fault for fault in faults(root, 0) if not fault.startswith("nobody said")]
