"""Who plays in these tests, which of their conversations are mapped, and what many files do."""

import re
from pathlib import Path

from astrbot_plugin_scoped_memory.harness.places import ADAPTER, Person, Place, group, private
from astrbot_plugin_scoped_memory.harness.records import (
    files_with,
    history,
    noted_turns,
    scopes_with,
)
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.script import JsonObject
from astrbot_plugin_scoped_memory.harness.waiting import until

ADMIN = Person(9000, "管理员")
MEMBER = Person(1501, "阿甲")
ROOM_A = group(501)
ROOM_B = group(502)
ROOM_C = group(503)
MAP = {
    ROOM_A.umo: "测试甲",
    private(MEMBER).umo: "测试甲",
    ROOM_B.umo: "测试乙",
    ROOM_C.umo: "测试丙",
}
SHORT, UNREADABLE = group(777_001), group(888_002)
SHORT_KEYS = {
    f"{ADAPTER}:group:{SHORT.number}": "家人",
    f"{ADAPTER}:friend:8811": "家人",
    str(UNREADABLE.number): "公司",
}
"""As owners write them, who do not know the ids of AstrBot; the last says too little."""
ABSENT = "a-package-that-nobody-has"
POINTER = re.compile(r"[\w./-]+\.md#m-[0-9a-z]+")


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


async def stored(rig: Rig, place: Place, person: Person, text: str, **more: object) -> str:
    """Stores it by the tool; gives its pointer."""
    result = await rig.remember(place, person, text, **more)
    found = POINTER.search(result)
    assert result.startswith("ok"), result
    assert found is not None, result
    return found[0]


async def added(rig: Rig, place: Place, person: Person, text: str) -> set[str]:
    """Adds a memory by command; the scopes that have it then."""
    await rig.onebot.ask(place, person, f"/memory add {text}")
    return scopes_with(rig.memory, text)


async def sees(rig: Rig, place: Place, person: Person, words: str, secret: str) -> bool:
    """Whether the memory shows anything of a secret in a turn or through the tool. What AstrBot's
    own history of the chat holds is none of it."""
    turn = await rig.turn(place, person, words)
    return secret in turn.injected or secret in await rig.recall(place, person, words)


async def warned(rig: Rig, *words: str) -> str:
    """A warning of the status with all these words, waited for."""

    async def probe() -> str | None:
        told = (await rig.panel.ready())["warnings"]
        return next((one for one in told if all(word in one for word in words)), None)

    return await until(probe, within=90, what=f"a warning with {words!r}")


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


async def saved_history(rig: Rig, place: Place, words: str) -> list[JsonObject]:
    """What AstrBot keeps of a chat, once these words are in it: it may answer a moment before."""

    async def probe() -> list[JsonObject] | None:
        saved = history(rig.bot.data, place.umo)
        return saved if any(words in str(message) for message in saved) else None

    return await until(probe, within=30, what=f"{words!r} in a chat's history")


async def slept(rig: Rig, place: Place, admin: Person) -> None:
    """A nightly run of the next day, at once and to its end."""
    rig.clock.move(days=1)
    before = (await rig.panel.indexed())["loop"]["slept_at"]  # before, it would refuse
    assert "开始整理" in await rig.onebot.ask(place, admin, "/memory sleep")

    async def probe() -> bool:
        loop = (await rig.panel.ready())["loop"]
        return not loop["sleeping"] and bool(loop["slept_at"] != before)

    await until(probe, within=60, what="the end of the nightly run")


def memory_id(memory: Path, words: str, *, archived: bool = False) -> str:
    """The id in the heading that has these words, in a living file or in the archive."""
    for path in files_with(memory, words):
        if ("archive" in path.parts) is archived:
            for line in (memory / path).read_text(encoding="utf-8").splitlines():
                if words in line and "^m-" in line:
                    return "m-" + line.partition("^m-")[2].split()[0]
    message = f"no such entry with {words!r}"
    raise AssertionError(message)
