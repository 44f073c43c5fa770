"""What the model is given, and what AstrBot keeps of it."""

import json

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, Place
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.script import call
from astrbot_plugin_scoped_memory.tests.e2e.cast import MEMBER, saved_history

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]


async def test_a_memory_is_one_part_of_each_round_and_in_no_saved_history(
    rig: Rig, room: Place, person: Person
) -> None:
    question, text = "地下室的水阀在什么位置", "地下室的水阀藏在楼梯左边"
    without = await rig.turn(room, person, question)
    assert without.first.injected == []
    await rig.onebot.ask(room, MEMBER, f"/记忆 记住 {text}")
    rounds = [
        call("core_memory_recall", {"query": query, "limit": 3}) for query in ("灯泡", "雨伞")
    ]
    rig.model.on(question, *rounds, then="看看楼梯那边。")
    turn = await rig.turn(room, person, question)
    assert len(turn.requests) == 3
    assert len(turn.first.injected) == 1
    assert text in turn.injected
    assert MEMBER.nickname in turn.injected
    assert "#m-" in turn.injected
    assert {tuple(one.user_parts) for one in turn.requests} == {tuple(turn.first.user_parts)}
    assert turn.first.system.encode() == without.first.system.encode()
    saved = await saved_history(rig, room, "看看楼梯那边")
    assert turn.injected not in json.dumps(saved, ensure_ascii=False)
    assert "#m-" not in str([one for one in saved if one["role"] == "user"])
    bare = await rig.turn(room, person, "Explain quicksort in one line please")
    assert bare.first.injected == []
