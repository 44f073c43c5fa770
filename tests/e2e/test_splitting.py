"""A bot that splits groups by member: the group's scope, timers, and a model chosen later."""

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, Place, group, private
from astrbot_plugin_scoped_memory.harness.records import scopes_with
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.tests.e2e import timers
from astrbot_plugin_scoped_memory.tests.e2e.bots import bot
from astrbot_plugin_scoped_memory.tests.e2e.cast import saves, stored

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

rig = bot("splitting")
ROOM = group(571)
FIRST, SECOND, STRANGER = Person(5711, "阿戊"), Person(5712, "阿己"), Person(5713, "阿庚")


async def test_members_of_a_group_that_astrbot_splits_share_the_groups_scope(rig: Rig) -> None:
    await stored(rig, ROOM, FIRST, "公用的梯子锁在车棚里")
    assert scopes_with(rig.memory, "公用的梯子锁在车棚里") == {"合租"}
    turn = await rig.turn(ROOM, SECOND, "公用的梯子在哪里")
    assert "公用的梯子锁在车棚里" in turn.injected
    assert "阿戊" in turn.injected
    assert "公用的梯子锁在车棚里" in await rig.recall(ROOM, SECOND, "公用的梯子")
    for who in (STRANGER, FIRST):
        turn = await rig.turn(private(who), who, "公用的梯子在哪里呢")
        assert "车棚" not in turn.first.everything
        assert "车棚" not in await rig.recall(private(who), who, "公用的梯子")


async def test_a_timer_acts_in_its_own_scope(rig: Rig) -> None:
    await timers.play(rig)


async def test_a_chosen_model_takes_over_behind_and_nothing_is_lost(rig: Rig, room: Place) -> None:
    anna, fact = Person(4444, "Anna"), "Anna is allergic to shellfish"
    await stored(rig, room, anna, fact)
    before = await rig.panel.indexed()
    await saves(rig, embedding="auto")
    assert fact in await rig.recall(room, anna, "Anna shellfish")

    async def taken_over() -> bool:
        status = await rig.panel.status()
        return (status["embedder"], status["index"]) == ("bundled", "ready")

    await until(taken_over, within=120, what="the model's index")
    other_words = "may Anna eat shrimps and crab at the seafood restaurant"
    assert fact in await rig.recall(room, anna, other_words)
    status = await rig.panel.status()
    assert status["memories"] == before["memories"]
    assert status["warnings"] == []
    await saves(rig, embedding="lexical")
