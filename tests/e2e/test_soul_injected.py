"""What the model of a real bot is told of a persona's learned manner, from apply to rollback."""

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, Place, group
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.tests.e2e.cast import ADMIN, plays

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

MANNER = "\n# 学到的说话习惯\n- 说话温和一点。\n"
CAT, DOG = "猫娘", "犬娘"
CAT_ROOM, OTHER_CAT_ROOM, DOG_ROOM = group(5901), group(5902), group(5903)


async def system(rig: Rig, place: Place, person: Person, words: str = "今天天气不错") -> str:
    """The system prompt of a turn."""
    return (await rig.turn(place, person, words)).first.system


async def test_a_persona_is_told_its_manner_from_apply_to_rollback_and_no_other_is(
    rig: Rig, room: Place, person: Person
) -> None:
    await plays(rig, CAT, CAT_ROOM, OTHER_CAT_ROOM)
    await plays(rig, DOG, DOG_ROOM)
    before = await system(rig, CAT_ROOM, person)
    others = [await system(rig, place, person) for place in (DOG_ROOM, room)]
    assert f"你是{CAT}。" in before

    await rig.turn(CAT_ROOM, ADMIN, "/memory soul propose 说话温和一点。")
    assert (await system(rig, CAT_ROOM, person)).encode() == before.encode()
    await rig.turn(CAT_ROOM, ADMIN, "/memory soul apply 1")
    first = await system(rig, CAT_ROOM, person)
    assert first.encode() == (before + MANNER).encode()
    assert (await system(rig, CAT_ROOM, person, "那我出门了")).encode() == first.encode()
    assert (await system(rig, OTHER_CAT_ROOM, person)).endswith(MANNER)
    assert [await system(rig, place, person) for place in (DOG_ROOM, room)] == others

    await rig.crash()
    assert (await system(rig, CAT_ROOM, person)).encode() == first.encode()
    await rig.turn(CAT_ROOM, ADMIN, "/memory soul rollback")
    assert (await system(rig, CAT_ROOM, person)).encode() == before.encode()
    assert MANNER not in "".join([*others, await system(rig, OTHER_CAT_ROOM, person)])
    personas = await rig.panel.call("GET", "/api/v1/personas")
    assert MANNER.strip() not in str(personas)
