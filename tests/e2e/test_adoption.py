"""A bot takes in five thousand memories of another plugin behind its back, and is killed in it."""

import random

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, group
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.tests.support.adopting_bot import Adoption

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(600),
]

HOME, ELSEWHERE = group(556), group(557)
SPEAKER = Person(5556, "阿丙")


async def test_kill_9_in_an_adoption_loses_nothing_and_what_came_is_recalled_in_its_scope(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    root = tmp_path_factory.mktemp("adopting-bot")
    adoption = Adoption.beside(root)
    chance = random.Random(5)
    config = {"adopt_legacy": True, "conversation_scope_map": {HOME.umo: "家人"}}
    async with Rig(root, config=config) as rig:
        await adoption.kill(rig, chance.randrange(1000, 4500), chance)
        status = await adoption.done(rig)
        adopted, merged, quarantined, broken = adoption.expected.tally
        assert status == {
            "state": "done", "scanned": 5000, "patched": 0, "skipped": 0, "remaining": 0,
            "adopted": adopted, "merged": merged, "quarantined": quarantined, "broken": broken,
        }  # fmt: skip
        assert adoption.faults(rig) == []
        turn = await rig.turn(HOME, SPEAKER, "外婆的第1234件事是什么")
        assert "外婆的第1234件事" in turn.injected
        turn = await rig.turn(ELSEWHERE, SPEAKER, "外婆的第1234件事是什么")
        assert "外婆的第1234件事" not in turn.injected
        warnings = "\n".join((await rig.panel.status())["warnings"])
        assert "memory/scopes/quarantine/" in warnings
