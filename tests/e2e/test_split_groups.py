"""A group that AstrBot splits by member."""

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, group, private
from astrbot_plugin_scoped_memory.harness.records import scopes_with
from astrbot_plugin_scoped_memory.harness.rig import Rig

pytestmark = [
    pytest.mark.astrbot,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(240),
]

ROOM = group(571)
FIRST, SECOND, STRANGER = Person(5711, "阿戊"), Person(5712, "阿己"), Person(5713, "阿庚")


async def test_members_of_a_group_that_astrbot_splits_share_the_groups_scope(
    splitting: Rig,
) -> None:
    rig = splitting
    await rig.panel.ready()
    result = await rig.remember(ROOM, FIRST, "公用的梯子锁在车棚里")
    assert result.split()[0] == "ok"
    assert scopes_with(rig.memory, "公用的梯子锁在车棚里") == {"合租"}
    turn = await rig.turn(ROOM, SECOND, "公用的梯子在哪里")
    assert "公用的梯子锁在车棚里" in turn.injected
    assert "阿戊" in turn.injected
    assert "公用的梯子锁在车棚里" in await rig.recall(ROOM, SECOND, "公用的梯子")
    turn = await rig.turn(private(STRANGER), STRANGER, "公用的梯子在哪里呢")
    assert "车棚" not in turn.first.everything
    assert "车棚" not in await rig.recall(private(STRANGER), STRANGER, "公用的梯子")
    turn = await rig.turn(private(FIRST), FIRST, "公用的梯子到底在哪里")
    assert "车棚" not in turn.first.everything
