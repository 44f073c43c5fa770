"""Who plays in these tests, which of their conversations are mapped, and what many files do."""

from pathlib import Path

from astrbot_plugin_scoped_memory.harness.places import Person, Place, group, private
from astrbot_plugin_scoped_memory.harness.records import files_with, noted_turns
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.script import JsonObject
from astrbot_plugin_scoped_memory.harness.waiting import until

ADMIN = Person(9000, "管理员")
MEMBER = Person(1501, "阿甲")
ROOM_A = group(501)
ROOM_B = group(502)
MAP = {
    ROOM_A.umo: "测试甲",
    private(MEMBER).umo: "测试甲",
    ROOM_B.umo: "测试乙",
}


def learned(judgment: str, *, turn: int = 1, kind: str = "knowledge") -> JsonObject:
    """One memory, as a model words it."""
    return {
        "judgment": judgment,
        "reasoning": "聊天里顺口提到的。",
        "tags": ["生活"],
        "kind": kind,
        "strength": 60,
        "turn": turn,
        "who": "s1",
    }


async def plays(rig: Rig, persona: str, *places: Place) -> None:
    """The owner makes a persona, and has it answer in these places, by a rule of the panel."""
    body = {"persona_id": persona, "system_prompt": f"你是{persona}。"}
    await rig.panel.call("POST", "/api/v1/personas", body)
    for place in places:
        await answers_as(rig, persona, place)


async def answers_as(rig: Rig, persona: str, place: Place) -> None:
    """The owner has a persona that is there, or AstrBot's word for none, answer in a place."""
    rule = {"persona_id": persona}
    body = {"umo": place.umo, "rule_key": "session_service_config", "rule_value": rule}
    await rig.panel.call("POST", "/api/v1/sessions/rules", body)


async def queued(rig: Rig, words: str) -> None:
    """Wait for a turn with these words on disk: AstrBot may answer a moment before."""

    async def probe() -> bool:
        return noted_turns(rig.bot.plugin_data, words) != []

    await until(probe, within=30, what=f"a turn with {words!r} in the queue")


def memory_id(memory: Path, words: str, *, archived: bool = False) -> str:
    """The id in the heading that has these words, in a living file or in the archive."""
    for path in files_with(memory, words):
        if ("archive" in path.parts) is archived:
            for line in (memory / path).read_text(encoding="utf-8").splitlines():
                if words in line and "^m-" in line:
                    return "m-" + line.partition("^m-")[2].split()[0]
    message = f"no such entry with {words!r}"
    raise AssertionError(message)
