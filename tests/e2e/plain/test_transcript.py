"""A memory leads to its talk as long as AstrBot has it."""

import pytest

from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.tests.e2e import transcript
from astrbot_plugin_scoped_memory.tests.e2e.cast import ADMIN

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]


async def test_a_memory_leads_to_its_talk_as_long_as_astrbot_has_it(rig: Rig) -> None:
    await transcript.play(rig, ADMIN)
