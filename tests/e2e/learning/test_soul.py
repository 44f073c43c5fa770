"""SOUL in a real bot under ``auto``: what is in force, where, and in which services' requests."""

import json
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, Place, group
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.script import JsonObject
from astrbot_plugin_scoped_memory.llm_memory.models.soul import Axis
from astrbot_plugin_scoped_memory.llm_memory.soul.rules.soul_text import line_of, worded
from astrbot_plugin_scoped_memory.tests.e2e.cast import (
    ADMIN,
    MEMBER,
    answers_as,
    plays,
    queued,
    slept,
)
from astrbot_plugin_scoped_memory.tests.e2e.learning.services import ANSWER, Mind, Services

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

MAPLE, BAMBOO = group(6201), group(6202)
"""Of two scopes."""
GENTLE, BRIEF = "说话温和一点。", "句子短一点。"
LEARNED = "\n# 学到的说话习惯\n"
NONE = "[%None]"
"""AstrBot's word for no persona."""


async def soul(rig: Rig, place: Place, words: str) -> str:
    """What the bot says to ``/记忆 人格 <words>``, in the end."""
    said = await rig.onebot.ask(place, ADMIN, f"/记忆 人格 {words}")
    return await rig.onebot.reply(place) if said.startswith("要一会儿，") else said


async def system(rig: Rig, place: Place) -> str:
    """The system prompt of a turn."""
    return (await rig.turn(place, MEMBER, "今天天气不错")).first.system


def page(rig: Rig, persona: str) -> Path:
    return rig.memory / "roles" / persona / "SOUL.md"


async def wanted(rig: Rig, place: Place, axis: Axis) -> str:
    """Three people say that they want less of it. Returns the rule that this becomes."""
    said = f"以后少一点，我说的是{axis}"
    style = [[axis, "less", f"s{number}"] for number in (1, 2, 3)]
    rig.model.on_reflection(said, {"style": style})
    for who in (MEMBER, Person(2001, "妈妈"), Person(1002, "爸爸")):
        await rig.turn(place, who, said)
        await queued(rig, said)
    await rig.onebot.ask(place, ADMIN, "/memory reflect")
    return line_of(axis, "less", "zh")


async def test_only_what_passed_is_in_force_and_veto_and_rollback_give_the_bytes_back(
    rig: Rig, room: Place, mind: Mind
) -> None:
    """Else a prompt would end with a rule under which a safety probe fails, or SOUL.md and the
    prompt would be others after a veto, or a rollback, than before."""
    await plays(rig, "岚", room)
    bare = await system(rig, room)
    await soul(rig, room, "撤销")  # any command of an admin's begins a soul
    seed = page(rig, "岚").read_bytes()

    mind.passes(await wanted(rig, room, "length"), fails=frozenset({"harm"}))
    await slept(rig, room, ADMIN)
    assert "没有通过" in await soul(rig, room, "记录")
    assert (await system(rig, room), page(rig, "岚").read_bytes()) == (bare, seed)

    rule = await wanted(rig, room, "emoji")
    mind.passes(rule)
    await slept(rig, room, ADMIN)
    assert await system(rig, room) == f"{bare}{LEARNED}- {rule}\n"
    assert page(rig, "岚").read_text("utf-8") == worded(seed.decode(), rule)
    await soul(rig, room, "否决 2")
    assert (await system(rig, room), page(rig, "岚").read_bytes()) == (bare, seed)
    assert "没有可以撤销到的版本" in await soul(rig, room, "撤销 2")

    assert "提议 3" in await soul(rig, room, f"提议 {GENTLE}")
    await slept(rig, room, ADMIN)
    assert await system(rig, room) == bare  # a wish waits for an admin's own apply
    assert "生效了" in await soul(rig, room, "生效 3")
    assert await system(rig, room) == f"{bare}{LEARNED}- {GENTLE}\n"


async def test_a_change_of_one_persona_shows_in_no_other_and_without_one_there_is_an_own(
    rig: Rig, room: Place, mind: Mind
) -> None:
    """Else a rule of one persona would stand in a prompt of another, or of a conversation that has
    none, in whatever scope."""
    alone = group(6213)
    await plays(rig, "猫娘", MAPLE, BAMBOO)
    await plays(rig, "犬娘", room)
    await answers_as(rig, NONE, alone)
    rooms = {"猫娘": (MAPLE, BAMBOO), "犬娘": (room,), "": (alone,)}
    bare = {place: await system(rig, place) for places in rooms.values() for place in places}
    rules = dict.fromkeys(rooms, "")
    for persona, rule in (("猫娘", GENTLE), ("", BRIEF)):
        rig.clock.move(days=1)
        mind.passes(rule)
        assert "记下了" in await soul(rig, rooms[persona][0], f"提议 {rule}")
        assert "生效了" in await soul(rig, rooms[persona][-1], "生效")
        rules[persona] = f"{LEARNED}- {rule}\n"
        for whose, places in rooms.items():
            for place in places:
                assert await system(rig, place) == bare[place] + rules[whose]


async def answered_by(rig: Rig, place: Place, runner: str, config: JsonObject) -> None:
    """The owner has this runner answer there, by a profile of settings of its own."""
    profile = await rig.panel.call("GET", "/api/v1/config-profiles/default")
    whole = {**profile["config"], "agent_runner": {"runner_type": runner, "config": config}}
    body: JsonObject = {"name": f"{runner}-{place.number}", "config": whole}
    made = await rig.panel.call("POST", "/api/v1/config-profiles", body)
    route = {"config_id": made["conf_id"]}
    await rig.panel.call("PUT", f"/api/v1/config-routes/{place.umo}", route)


MANNER = f"{LEARNED}- {GENTLE}\n"
ALWAYS, FIRST, NEVER = (MANNER,) * 3, (MANNER, None, MANNER), (None,) * 3
DIFY: JsonObject = {"dify_api_key": "key", "dify_api_type": "chat"}
COZE: JsonObject = {"coze_api_key": "key", "bot_id": "bot"}
DASHSCOPE: JsonObject = {"dashscope_api_key": "key", "dashscope_app_id": "app"}
RUNNERS = [
    pytest.param("dify", DIFY, ALWAYS, id="dify"),
    pytest.param("coze", COZE | {"auto_save_history": True}, FIRST, id="coze-keeps-history"),
    pytest.param("coze", COZE | {"auto_save_history": False}, ALWAYS, id="coze"),
    pytest.param("deerflow", {}, ALWAYS, id="deerflow"),
    pytest.param("dashscope", DASHSCOPE, NEVER, id="dashscope"),
]
"""The runner, settings of it, and what is told in the first turn of a conversation, in the second,
and in the first of the next: docs/soul.md tells it."""


def manner_in(runner: str, body: JsonObject) -> str | None:
    """What a request tells of the manner, where this runner's service looks for it."""
    if runner == "dify":
        told: str = body["inputs"]["system_prompt"]
        return told
    if runner == "dashscope":
        return MANNER if GENTLE in json.dumps(body, ensure_ascii=False) else None
    messages = body["additional_messages"] if runner == "coze" else body["input"]["messages"]
    return "".join(one["content"] for one in messages if one["role"] == "system") or None


@pytest.mark.parametrize(("runner", "config", "told"), RUNNERS)
async def test_a_runner_is_told_what_the_page_says(
    rig: Rig,
    services: Services,
    room: Place,
    mind: Mind,
    runner: str,
    config: JsonObject,
    told: tuple[str | None, ...],
) -> None:
    own = group(6100)  # AstrBot's own agent answers there
    if not (await rig.turn(own, MEMBER, "在吗")).first.system.endswith(MANNER):
        mind.passes(GENTLE)
        await soul(rig, own, f"提议 {GENTLE}")
        assert "生效了" in await soul(rig, own, "生效")
    await answered_by(rig, room, runner, config | {f"{runner}_api_base": services.url})
    before, words = len(services.bodies), ("在吗", "那下周呢", "你好")
    for said in words:
        if said == words[-1]:
            await rig.onebot.ask(room, ADMIN, "/reset")
        assert (await rig.turn(room, MEMBER, said)).reply == ANSWER
    bodies = services.bodies[before:]
    assert [manner_in(runner, body) for body in bodies] == [*told]
    for said, body in zip(words, bodies, strict=True):
        assert said in json.dumps(body, ensure_ascii=False)
