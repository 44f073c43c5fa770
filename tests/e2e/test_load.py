"""The short round of the soak with a real bot: fifty conversations, a panel save, a kill -9."""

from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.tests.support.bot_load import bot_under_load

pytestmark = [
    pytest.mark.astrbot,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(600),
]


async def test_a_real_bot_that_is_killed_under_load_loses_nothing_and_leaks_nothing(
    tmp_path: Path,
) -> None:
    account = await bot_under_load(tmp_path, seconds=8, kills=1, seed=7)
    assert account.faults == []
    assert account.kills == 1
    assert account.saves >= 2
    assert len(account.lines) >= 5, account.did
