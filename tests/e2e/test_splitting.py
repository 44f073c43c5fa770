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


async def test_an_origin_that_nobody_has_shown_reads_public_only_and_a_pause_binds_a_timer(
    rig: Rig, room: Place
) -> None:
    note, judgment = "看看后门的门锁", "后门的门锁换成了密码锁"
    admin = timers.ADMIN
    (rig.memory / "scopes" / "public").mkdir(parents=True, exist_ok=True)
    (rig.memory / "scopes" / "public" / "events.md").write_text("## 周五停水\n", "utf-8")
    unseen = f"aiocqhttp:GroupMessage:{timers.WEN.user_id}_{timers.ROOM.number}"
    body = {"name": "t", "note": note, "session": unseen, "run_once": True}
    job = await rig.panel.call("POST", "/api/v1/cron/jobs", {**body, "run_at": timers.NEVER})

    async def read() -> bool:
        return "周五停水" in await rig.recall(room, STRANGER, "周五停水吗")

    await until(read, within=30, what="the public memory")
    results = await timers.goes_off(
        rig, job["job_id"], timers.recall("周五停水吗"), timers.remember(judgment)
    )
    assert "周五停水" in results[0]
    assert results[1].startswith("error")
    await rig.turn(timers.ROOM, admin, "/memory pause")
    timer = await timers.set_timer(rig, timers.ROOM, admin, "看看前门")
    (result,) = await timers.goes_off(rig, timer, timers.remember(judgment))
    assert result.startswith("error")
    assert scopes_with(rig.memory, judgment) == set()
    await rig.turn(timers.ROOM, admin, "/memory resume")
    (result,) = await timers.goes_off(rig, timer, timers.remember(judgment))
    assert result.startswith("ok")
    assert scopes_with(rig.memory, judgment) == {"租客"}


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
