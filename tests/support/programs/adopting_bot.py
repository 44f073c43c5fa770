"""A real AstrBot that adopts other plugins' memories and is killed meanwhile."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.script import JsonObject
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.tests.support.legacy_stores import ANGEL, photograph
from astrbot_plugin_scoped_memory.tests.support.programs.adopting import (
    IN_SQLITE,
    Expected,
    faults,
    make_sources,
)

MINUTES = 300.0


@dataclass
class Adoption:
    """One bot's, from its first start to the end."""

    root: Path
    expected: Expected
    before: dict[str, Any]
    kills: list[str] = field(default_factory=list)
    """Where each came, in words."""

    @classmethod
    def beside(cls, root: Path, in_sqlite: int = IN_SQLITE) -> Adoption:
        """The stores are there before the bot is."""
        plugins = root / "data" / "plugin_data"
        expected = make_sources(plugins, in_sqlite)
        return cls(root, expected, photograph(plugins / ANGEL))

    async def kill(self, rig: Rig, left: int, chance: random.Random) -> None:
        """kill -9 when so many records are left, or while they are still read; then a new start."""

        async def probe() -> JsonObject | None:
            found: JsonObject = (await rig.panel.ready())["migration"]
            began = left < 0 or 0 < found["remaining"] <= left or found["state"] == "done"
            return found if began and found["state"] != "idle" else None

        at = await until(probe, within=MINUTES, what="an adoption that runs")
        await asyncio.sleep(chance.uniform(0.0, 0.3))
        self.kills.append(f"{at['state']}, {at['remaining']} left")
        await rig.crash()

    async def running(self, rig: Rig) -> JsonObject:
        """The status of an adoption in whose middle it is."""

        async def probe() -> JsonObject | None:
            found: JsonObject = (await rig.panel.ready())["migration"]
            assert found["state"] != "done", "it was too quick"
            return found if found["state"] == "running" and found["remaining"] else None

        return await until(probe, within=MINUTES, what="an adoption that goes on")

    async def done(self, rig: Rig) -> JsonObject:
        """The status at its end."""

        async def probe() -> JsonObject | None:
            found: JsonObject = (await rig.panel.ready())["migration"]
            return found if found["state"] in ("done", "failed") else None

        return await until(probe, within=MINUTES, what="the end of an adoption")

    def faults(self, rig: Rig) -> list[str]:
        """What is not as it must be."""
        wrong = faults(rig.bot.plugin_data, self.expected)
        if photograph(self.root / "data" / "plugin_data" / ANGEL) != self.before:
            wrong.append("the other plugin's files were touched")
        return wrong
