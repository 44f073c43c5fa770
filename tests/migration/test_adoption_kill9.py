"""An adoption of five thousand records, killed wherever it is, has brought each of them once."""

from __future__ import annotations

import random
import shutil
import sys
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.tests.support.legacy_stores import photograph
from astrbot_plugin_scoped_memory.tests.support.programs.adopting import (
    Bot,
    Expected,
    faults,
    make_sources,
)

pytestmark = [
    pytest.mark.process,
    pytest.mark.engine,
    pytest.mark.timeout(400),
    pytest.mark.skipif(sys.platform == "win32", reason="no such signal"),
]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Expected]:
    """Made once: nobody changes them."""
    plugins = tmp_path_factory.mktemp("sources")
    return plugins, make_sources(plugins)


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(more, marks=pytest.mark.soak) for more in (2, 3))]
)
def test_kill_9_in_an_adoption_loses_nothing_and_brings_nothing_twice(
    sources: tuple[Path, Expected], tmp_path: Path, seed: int
) -> None:
    plugins, expected = sources
    chance = random.Random(seed)
    before = photograph(plugins)
    root = tmp_path / "own"
    points = [-1, chance.randrange(200, 4800)] if seed == 1 else [chance.randrange(200, 4800)]
    kills = [Bot(root, plugins).kill_when(point, chance) for point in points]
    assert all(kills)
    assert Bot(root, plugins).finish() == "done"
    assert faults(root, expected) == []
    assert photograph(plugins) == before
    shutil.rmtree(root)
