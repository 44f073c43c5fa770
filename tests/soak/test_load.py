"""Fifty conversations over eight scopes for minutes: nothing lost, nothing leaked.

Stalls and growth are shown, not judged: a busy machine would fail at random. What grows from reload
to reload is judged where it can be counted, by open file handles.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.tests.support.load.bot_soak import bot_soak
from astrbot_plugin_scoped_memory.tests.support.load.figures import Figures
from astrbot_plugin_scoped_memory.tests.support.load.referee import soak

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]

Show = Callable[[Figures], None]


async def test_the_engine_killed_twenty_times_loses_nothing_and_leaks_nothing(
    tmp_path: Path, seed: int, seconds: float | None, show: Show
) -> None:
    figures = await soak(tmp_path, seconds=seconds or 300.0, kills=20, seed=seed)
    show(figures)
    figures.assert_sound()
    assert figures.kills == 20
    assert figures.acknowledged > 1000
    figures.assert_handles_stay()


async def test_a_real_bot_killed_three_times_loses_nothing_and_leaks_nothing(
    tmp_path: Path, seed: int, seconds: float | None, show: Show
) -> None:
    figures = await bot_soak(tmp_path, seconds=seconds or 120.0, kills=3, seed=seed)
    show(figures)
    figures.assert_sound()
    assert figures.kills == 3
    assert figures.acknowledged > 50
