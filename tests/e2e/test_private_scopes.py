"""Private chats apart from each other, and a bot that comes back from a crash."""

import itertools

import pytest

from astrbot_plugin_scoped_memory.harness.places import ADAPTER, Person, private
from astrbot_plugin_scoped_memory.harness.records import scopes_with
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.tests.e2e.cast import ROOM_A

pytestmark = [
    pytest.mark.astrbot,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(240),
]

FIRST, SECOND, STRANGER = Person(5711, "阿戊"), Person(5712, "阿己"), Person(5713, "阿庚")


async def test_private_chats_are_apart_per_peer_until_a_link_joins_them(
    rig: Rig,
) -> None:
    await rig.panel.ready()
    await rig.panel.save(dm_scope="per-peer")
    await rig.panel.ready()
    first, second = private(FIRST), private(SECOND)
    result = await rig.remember(first, FIRST, "存折放在饼干盒里")
    assert result.split()[0] == "ok"
    (scope,) = scopes_with(rig.memory, "存折放在饼干盒里")
    assert scope.startswith("dm-")
    turn = await rig.turn(first, FIRST, "存折放在哪里")
    assert "存折放在饼干盒里" in turn.injected
    turn = await rig.turn(second, SECOND, "存折放在哪里呢")
    assert "饼干盒" not in turn.first.everything
    assert "饼干盒" not in await rig.recall(second, SECOND, "存折放在哪里")
    people = (FIRST, SECOND)
    links = {f"{ADAPTER}:{person.user_id}": "阿戊" for person in people}
    await rig.panel.save(identity_links=links)
    await rig.panel.ready()
    result = await rig.remember(first, FIRST, "备用的眼镜在左边抽屉")
    assert result.split()[0] == "ok"
    (joined,) = scopes_with(rig.memory, "备用的眼镜在左边抽屉")
    assert joined != scope
    turn = await rig.turn(second, SECOND, "备用的眼镜在哪里")
    assert "备用的眼镜在左边抽屉" in turn.injected
    stranger = private(STRANGER)
    turn = await rig.turn(stranger, STRANGER, "备用的眼镜在哪里呢")
    assert "抽屉" not in turn.first.everything
    assert "抽屉" not in await rig.recall(stranger, STRANGER, "备用的眼镜")
    await rig.panel.save(dm_scope="public", identity_links={})
    await rig.panel.ready()


async def test_a_crashed_bot_recalls_within_the_default_deadline_soon_after(
    rig: Rig,
) -> None:
    held = (await rig.panel.config())["advanced"]
    await rig.panel.save(advanced=held | {"recall_deadline_ms": 800})
    await rig.panel.ready()
    result = await rig.remember(ROOM_A, FIRST, "热水器的保修到明年三月")
    assert result.split()[0] == "ok"
    await rig.crash()
    numbers = itertools.count(1)

    async def recalled() -> bool:
        turn = await rig.turn(ROOM_A, SECOND, f"热水器的保修到什么时候，第{next(numbers)}次问")
        assert turn.reply != ""
        return "热水器的保修到明年三月" in turn.injected

    await until(recalled, within=30, what="the memory in a turn")
    await rig.panel.save(advanced=held)
    await rig.panel.ready()
