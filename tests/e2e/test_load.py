"""The short round of the soak with a real bot: fifty conversations, a panel save, a kill -9."""

from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.tests.support.load.bot_soak import bot_soak

pytestmark = [
    pytest.mark.astrbot,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(600),
]


async def test_a_real_bot_that_is_killed_under_load_loses_nothing_and_leaks_nothing(
    tmp_path: Path,
) -> None:
    figures = await bot_soak(tmp_path, seconds=8, kills=1, seed=7)
    figures.assert_sound()
    assert (figures.kills, figures.terminations) == (1, 1)
    assert figures.reloads >= 1
    assert figures.acknowledged >= 5
