"""What most tests of the plugin's own parts begin with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.tests.support.engines import Rig, running


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    """An open engine whose index nothing follows."""
    async with running(tmp_path, follow=False) as opened:
        yield opened
