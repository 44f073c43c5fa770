"""Engines that a test may ask for instead of opening one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from astrbot_plugin_scoped_memory.tests.support.engines import Rig
    from astrbot_plugin_scoped_memory.tests.support.reflecting import Bot


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    """Over an empty folder, as ``running`` opens it without options."""
    from astrbot_plugin_scoped_memory.tests.support.engines import running

    async with running(tmp_path) as opened:
        yield opened


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[Bot]:
    """The same with a scripted reader of turns."""
    from astrbot_plugin_scoped_memory.tests.support.reflecting import reading

    async with reading(tmp_path) as opened:
        yield opened


@pytest.fixture
async def timed_bot(tmp_path: Path) -> AsyncIterator[Bot]:
    """One whose clock stands until a test moves it."""
    from astrbot_plugin_scoped_memory.tests.support.reflecting import StandingClock, reading

    async with reading(tmp_path, StandingClock()) as opened:
        yield opened
