"""Killed in the middle of everything, the bot has lost nothing that it acknowledged.

The short rounds of tests/soak/test_load.py: the same machinery over real parts.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.tests.support.load.ledger import Fate
from astrbot_plugin_scoped_memory.tests.support.load.referee import End, Referee

pytestmark = [pytest.mark.engine, pytest.mark.timeout(400)]


async def test_a_kill_between_reloads_loses_nothing_and_mixes_nothing(tmp_path: Path) -> None:
    referee = Referee(tmp_path, "short", seed=7)
    await referee.life(seconds=5.0, pause=0.2, reload_every=1.5)
    await referee.check()
    await referee.life(End(seconds=2.0), pause=0.1, reload_every=1.0)
    await referee.check()
    figures = referee.figures
    figures.assert_sound()
    assert figures.kills == 1
    assert figures.reloads >= 1
    assert figures.acknowledged >= 30
    figures.assert_handles_stay()


async def test_of_two_hundred_writes_all_that_were_acknowledged_outlive_kill_9_and_sigterm(
    tmp_path: Path,
) -> None:
    referee = Referee(tmp_path, "burst", seed=11)
    for by in (signal.SIGKILL, signal.SIGTERM):
        # The process that holds the index, too: the next life begins with what that left behind.
        end = End(by, children=by is signal.SIGKILL, writes=100)
        await referee.life(end, pause=0.0, only_writes=True, wait_for_index=True)
        await referee.check()
    referee.figures.assert_sound()
    assert (referee.figures.kills, referee.figures.terminations) == (1, 1)
    assert sum(line.fate is Fate.LIVING for line in referee.ledger) >= 200
