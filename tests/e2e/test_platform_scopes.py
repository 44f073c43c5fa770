"""Scopes under settings that change what AstrBot calls a conversation, and who a person is."""

import itertools

import pytest

from astrbot_plugin_scoped_memory.harness.places import ADAPTER, Person, group, private
from astrbot_plugin_scoped_memory.harness.records import scopes_with
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.waiting import until

pytestmark = [
    pytest.mark.astrbot,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(240),
]

ROOM = group(571)
FIRST, SECOND, STRANGER = Person(5711, "阿戊"), Person(5712, "阿己"), Person(5713, "阿庚")


async def test_members_of_a_group_that_astrbot_splits_share_the_groups_scope(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    config = {"conversation_scope_map": {ROOM.umo: "合租"}}
    root = tmp_path_factory.mktemp("split-bot")
    async with Rig(root, unique_session=True, config=config) as rig:
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


async def test_private_chats_are_apart_per_peer_until_a_link_joins_them(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    async with Rig(tmp_path_factory.mktemp("per-peer-bot")) as rig:
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


async def test_a_crashed_bot_recalls_within_the_default_deadline_soon_after(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    config = {
        "conversation_scope_map": {ROOM.umo: "合租"},
        "advanced": {"recall_deadline_ms": 800},
    }
    async with Rig(tmp_path_factory.mktemp("prompt-bot"), config=config) as rig:
        await rig.panel.ready()
        result = await rig.remember(ROOM, FIRST, "热水器的保修到明年三月")
        assert result.split()[0] == "ok"
        await rig.crash()
        numbers = itertools.count(1)

        async def recalled() -> bool:
            turn = await rig.turn(ROOM, SECOND, f"热水器的保修到什么时候，第{next(numbers)}次问")
            assert turn.reply != ""
            return "热水器的保修到明年三月" in turn.injected

        await until(recalled, within=30, what="the memory in a turn")
