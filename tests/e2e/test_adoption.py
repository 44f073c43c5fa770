"""A bot takes in two thousand memories of another plugin behind its back; it is killed in it,
switched off and on, and gets another map."""

import asyncio
import random

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, group
from astrbot_plugin_scoped_memory.harness.rig import PATIENCE, Rig
from astrbot_plugin_scoped_memory.harness.script import JsonObject
from astrbot_plugin_scoped_memory.tests.support.legacy_stores import photograph
from astrbot_plugin_scoped_memory.tests.support.programs.adopting_bot import Adoption

pytestmark = [
    pytest.mark.astrbot,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(600),
]

HOME, ELSEWHERE = group(556), group(557)
SPEAKER = Person(5556, "阿丙")


async def test_kill_9_off_and_on_and_another_map_lose_nothing_and_what_came_is_in_its_scope(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    root = tmp_path_factory.mktemp("adopting-bot")
    adoption = Adoption.beside(root, in_sqlite=1000)
    chance = random.Random(5)
    config: JsonObject = {
        "adopt_legacy": True,
        "conversation_scope_map": {HOME.umo: "家人"},
        "advanced": {**PATIENCE["advanced"], "migration_batch": 20},  # not too quick
    }
    async with Rig(root, config=config) as rig:
        await adoption.kill(rig, chance.randrange(1400, 1800), chance)
        await adoption.running(rig)
        await rig.panel.enable(enabled=False)
        stopped = photograph(rig.memory)
        await asyncio.sleep(1)
        assert photograph(rig.memory) == stopped
        await rig.panel.enable(enabled=True)
        await rig.panel.activated()
        await adoption.running(rig)
        await rig.panel.map_scopes({HOME.umo: "家人", ELSEWHERE.umo: "公司"})
        status = await adoption.done(rig)
        adopted, merged, quarantined, broken = adoption.expected.tally
        assert status == {
            "state": "done", "mode": "auto", "mode_on": False, "scanned": 2000, "patched": 0,
            "skipped": 0, "remaining": 0,
            "adopted": adopted, "merged": merged, "quarantined": quarantined, "broken": broken,
        }  # fmt: skip
        assert adoption.faults(rig) == []
        turn = await rig.turn(HOME, SPEAKER, "外婆的第835件事是什么")
        assert "外婆的第835件事" in turn.injected
        turn = await rig.turn(ELSEWHERE, SPEAKER, "第3号用户喜欢第几种茶")
        assert "第3号用户喜欢第3种茶" in turn.injected
        turn = await rig.turn(ELSEWHERE, SPEAKER, "外婆的第835件事是什么")
        assert "外婆的第835件事" not in turn.injected
        warnings = "\n".join((await rig.panel.status())["warnings"])
        assert "memory/scopes/quarantine/" in warnings
