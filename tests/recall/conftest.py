"""A bot at noon of a day."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from astrbot_plugin_scoped_memory.tests.support.days import Days


@pytest.fixture
async def days(tmp_path: Path) -> AsyncIterator[Days]:
    """In Shanghai."""
    from astrbot_plugin_scoped_memory.tests.support.days import living_days

    async with living_days(tmp_path) as opened:
        yield opened
