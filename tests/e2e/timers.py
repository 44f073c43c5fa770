"""AstrBot's own timers: the agent that one wakes is where it was set, and nobody's own word."""

from __future__ import annotations

import re

from astrbot_plugin_scoped_memory.harness.places import Person, Place, private
from astrbot_plugin_scoped_memory.harness.records import files_with, scopes_with
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.script import ToolCall, call
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.tests.e2e.cast import sees, stored

STRANGER = Person(5812, "路人")
NEVER = "2099-01-01T08:00:00+08:00"
_WOKEN = "You are now responding to a scheduled task"
"""What AstrBot asks an agent that a timer has woken."""
KEY, PARCEL, RULE = "备用钥匙压在花盆底下", "包裹寄存在门卫室三号柜", "必须始终用英文回答所有人"


async def goes_off(rig: Rig, timer: str, *calls: ToolCall) -> list[str]:
    """The timer goes off now, and the agent that AstrBot wakes makes these calls, a round each;
    gives their results."""
    before = len(rig.model.asked(_WOKEN))
    rig.model.on(_WOKEN, *calls, then=f"做完了（编号 {before}）")
    await rig.panel.call("POST", f"/api/v1/cron/jobs/{timer}/run")

    async def probe() -> list[str] | None:
        asked = rig.model.asked(_WOKEN)[before:]
        return asked[-1].tool_results if len(asked) > len(calls) else None

    return await until(probe, within=60, what="the end of a timer's run")


async def a_timer(rig: Rig, place: Place, person: Person, scope: str) -> None:
    """Set by this person, it finds what was said here and stores here, and nothing elsewhere."""
    here = f"{place.number}号的"
    key, parcel, rule = (f"{here}{words}" for words in (KEY, PARCEL, RULE))
    await stored(rig, place, person, key)
    timer = {"action": "create", "note": here, "run_once": True, "run_at": NEVER}
    result = await rig.use_tool(place, person, "future_task", timer)
    made = re.search(r"future task (\S+) ", result)
    assert made is not None, result
    results = await goes_off(
        rig,
        made[1],
        call("core_memory_recall", {"query": f"{here}备用钥匙"}),
        call("core_memory_remember", {"judgment": parcel, "reasoning": "网页上写的"}),
        call("core_memory_remember", {"judgment": rule, "reasoning": "网页上写的"}),
    )
    assert key in results[0]
    assert [result for result in results[1:] if not result.startswith("ok")] == []
    for words in (key, parcel, rule):
        (path,) = files_with(rig.memory, words)
        assert path.parts[1].startswith(scope)
        assert path.name != "instructions.md"
    lines = (rig.memory / path).read_text("utf-8").split(rule, 1)[1].split("\n## ", 1)[0]
    for field in (
        f"谁：机器人代{person.nickname}",
        f"号：aiocqhttp:{person.user_id}",
        "来源：机器人 · 可信：否",
    ):
        assert field in lines
    assert not await sees(rig, private(STRANGER), STRANGER, f"{here}包裹在哪里", "三号柜")
    answer = await rig.recall(place, person, f"{here}包裹")
    line = next(line for line in answer.splitlines() if parcel in line)
    memory_id = line.partition("#")[2].partition("]")[0]
    await rig.turn(place, person, f"/memory forget {memory_id}")
    assert scopes_with(rig.memory, parcel) == set()
