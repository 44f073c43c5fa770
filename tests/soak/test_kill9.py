"""The long round of tests/engine/test_kill9.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.tests.support.kill_rounds import check, play

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]


async def test_forty_kills_lose_nothing_and_mix_nothing(tmp_path: Path) -> None:
    tally = play(tmp_path, rounds=40, seed=11)
    await check(tmp_path, tally)
