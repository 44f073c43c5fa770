"""Nights of an engine whose persona learns, and what its soul is afterwards."""

from __future__ import annotations

from astrbot_plugin_scoped_memory.llm_memory.models.soul import (
    SoulRequest,
    SoulView,
)
from astrbot_plugin_scoped_memory.tests.support.engines import Rig
from astrbot_plugin_scoped_memory.tests.support.souls import ADMIN, CAT


async def night(rig: Rig) -> None:
    """Run a whole one, at once."""
    report = await rig.engine.sleep.run_once("command", patient=False)
    assert (report.errors, report.postponed) == ((), "")


async def soul_of(rig: Rig, persona: str = CAT) -> SoulView:
    found = await rig.engine.service.souls.ask(SoulRequest("show"), persona, ADMIN)
    assert isinstance(found, SoulView), found
    return found
