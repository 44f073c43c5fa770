"""Ten adoptions of five thousand records in a real AstrBot, each killed with -9 once or twice."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.tests.support.programs.adopting_bot import Adoption

pytestmark = [pytest.mark.soak, pytest.mark.timeout(7200)]

ROUNDS = 10


async def test_ten_adoptions_that_are_killed_have_brought_every_record_once(
    tmp_path: Path, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(seed)
    kills: list[str] = []
    for number in range(ROUNDS):
        root = tmp_path / f"bot-{number}"
        adoption = Adoption.beside(root)
        # One while the stores are read, now and then, and the others in the walk.
        kills_now = chance.randint(1, 2)
        # The last batches are too quick for whoever looks at a status.
        points = [chance.randrange(-800, 4400) for _ in range(kills_now)]
        points = sorted((p if p < 0 else p + 400 for p in points), key=lambda p: (p >= 0, -p))
        async with Rig(root, config={"adopt_legacy": True}) as rig:
            for left in points:
                await adoption.kill(rig, left, chance)
            status = await adoption.done(rig)
            assert (status["state"], status["remaining"]) == ("done", 0)
            assert adoption.faults(rig) == []
        kills += adoption.kills
    with capsys.disabled():
        told = "\n  ".join(kills)
        killed = f"{ROUNDS} rounds, killed {len(kills)} times"
        print(f"\n  seed {seed}: {killed}, nothing lost or twice\n  {told}")  # noqa: T201
    assert len(kills) >= ROUNDS
