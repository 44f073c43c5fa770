"""Killed wherever it is, a night loses nothing, weighs nothing twice and leaves no half file."""

from __future__ import annotations

import sys

import pytest

from astrbot_plugin_scoped_memory.tests.support.programs.killed_nights import KilledNights

pytestmark = [
    pytest.mark.process,
    pytest.mark.engine,
    pytest.mark.timeout(400),
    pytest.mark.skipif(sys.platform == "win32", reason="no such signal"),
]


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> KilledNights:
    """Made once: each round works on a copy."""
    return KilledNights(tmp_path_factory.mktemp("nights"))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_night_that_is_killed_ends_as_one_that_nobody_disturbed_but_for_a_batch(
    nights: KilledNights, seed: int
) -> None:
    assert nights.disturbed(seed, kills=1) == []
