"""Twenty nights, each killed up to three times, end as one that nobody disturbed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.tests.support.programs.killed_nights import KilledNights

pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(sys.platform == "win32", reason="no such signal"),
]

ROUNDS, KILLS = 20, 3


def test_twenty_nights_killed_up_to_three_times_end_as_an_undisturbed_one(
    tmp_path: Path, seed: int
) -> None:
    nights = KilledNights(tmp_path)
    for number in range(ROUNDS):
        assert nights.disturbed(seed * ROUNDS + number, kills=1 + number % KILLS) == []
