"""Ten times kill -9 in adoptions of five thousand records, in a real AstrBot."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.tests.support.adopting_bot import Adoption

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]

ROUNDS, KILLS = 5, 2


async def test_adoptions_killed_ten_times_have_brought_every_record_once(
    tmp_path: Path, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(seed)
    kills: list[str] = []
    for number in range(ROUNDS):
        root = tmp_path / f"bot-{number}"
        adoption = Adoption.beside(root)
        # One while the stores are read, now and then, and the others in the walk.
        points = sorted((chance.randrange(-800, 4800) for _ in range(KILLS)), reverse=True)
        points.sort(key=lambda left: left >= 0)
        async with Rig(root, config={"adopt_legacy": True}) as rig:
            for left in points:
                await adoption.kill(rig, left, chance)
            status = await adoption.done(rig)
            assert (status["state"], status["remaining"]) == ("done", 0)
            assert adoption.faults(rig) == []
        kills += adoption.kills
    with capsys.disabled():
        told = "\n  ".join(kills)
        print(f"\n  seed {seed}: killed {len(kills)} times, nothing lost or twice\n  {told}")  # noqa: T201
    assert len(kills) == ROUNDS * KILLS
