"""A real bot with fifty conversations for minutes: nothing lost, nothing leaked."""

from __future__ import annotations

from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.tests.support.bot_load import bot_under_load

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]

SPARE_HANDLES = 32
"""Files that may be open for a moment, because they are being read."""


async def test_a_bot_that_is_killed_three_times_under_load_loses_and_leaks_nothing(
    tmp_path: Path, seed: int, seconds: float | None
) -> None:
    account = await bot_under_load(tmp_path, seconds=seconds or 120.0, kills=3, seed=seed)
    assert account.faults == []
    assert (account.kills, len(account.lines) > 50) == (3, True), account.did


async def test_from_reload_to_reload_no_file_stays_open(
    tmp_path: Path, seed: int, seconds: float | None
) -> None:
    account = await bot_under_load(tmp_path, seconds=seconds or 120.0, kills=0, seed=seed)
    assert account.faults == []
    assert max(account.handles[1:]) <= account.handles[0] + SPARE_HANDLES, account.handles
