"""Killed in the middle of writing, the bot has lost nothing that it acknowledged."""

from __future__ import annotations

from pathlib import Path

from astrbot_plugin_scoped_memory.tests.support.kill_rounds import check, play


async def test_three_kills_lose_nothing_and_mix_nothing(tmp_path: Path) -> None:
    tally = play(tmp_path, rounds=3, seed=7)
    assert tally.rounds == 3
    assert len(tally.acknowledged) >= 15
    await check(tmp_path, tally)
