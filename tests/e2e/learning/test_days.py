"""Hours and days later: what a conversation that comes back is told, what the night writes down,
why a group decided as it did, and what a private chat keeps to itself."""

import json
import re
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, group, private
from astrbot_plugin_scoped_memory.harness.records import (
    files_with,
    history,
    noted_turns,
    scopes_with,
)
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.script import JsonObject, call
from astrbot_plugin_scoped_memory.harness.waiting import until, until_true
from astrbot_plugin_scoped_memory.tests.e2e.bots import through_a_kill
from astrbot_plugin_scoped_memory.tests.e2e.cast import learned, memory_id, queued, saves

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

OWNER, PARTNER, COLLEAGUE = Person(9001, "房主"), Person(2101, "阿芳"), Person(3101, "小周")
HOME, OFFICE, OWNERS_CHAT = group(7701), group(8801), private(OWNER)
RULE = "必须用公历写日期"
RENT, PARCEL, OFFICE_TASK = "十二月五日前交房租", "去驿站取快递", "给客户寄样品"
LEARNED = ("阿芳说客厅的窗帘旧了", "阿芳打算周末去看布料", "阿芳喜欢米色的窗帘")
DIGEST = "记下了 3 条："
SMALL_TALK = "你好呀，今天挺暖和"


async def saved(rig: Rig, turns: int) -> str:
    """What AstrBot has of the talk at home, once it has saved so many turns of small talk."""

    async def probe() -> str | None:
        text = str(history(rig.bot.data, HOME.umo))
        return text if text.count(SMALL_TALK) >= turns else None

    return await until(probe, within=30, what="the chat's history")


async def test_the_first_turn_after_hours_is_told_where_things_stand_and_the_night_writes_the_day(
    rig: Rig,
) -> None:
    rig.clock.set_to(10, days=1)  # no midnight comes by itself
    await rig.onebot.ask(OWNERS_CHAT, OWNER, f"/memory add {RULE}")
    tasks: JsonObject = {"action": "add", "tasks": [RENT, PARCEL]}
    assert RENT in await rig.use_tool(HOME, PARTNER, "update_tasks", tasks)
    tasks = {"action": "add", "tasks": [OFFICE_TASK]}
    await rig.use_tool(OFFICE, COLLEAGUE, "update_tasks", tasks)
    rig.clock.move(hours=5)
    early = await rig.turn(HOME, PARTNER, SMALL_TALK)
    assert early.first.injected == []
    await saved(rig, 1)
    rig.clock.move(hours=7)
    back = await rig.turn(HOME, PARTNER, SMALL_TALK)
    (part,) = back.first.injected
    assert [one for one in (RULE, RENT, PARCEL, PARTNER.nickname) if one not in part] == []
    assert OFFICE_TASK not in back.first.everything
    assert back.first.system == early.first.system
    assert RULE not in await saved(rig, 2)
    again = await rig.turn(HOME, PARTNER, SMALL_TALK)
    assert again.first.injected == []

    tasks = {"action": "done", "tasks": [PARCEL]}
    assert RENT in await rig.use_tool(HOME, PARTNER, "update_tasks", tasks)
    rig.clock.move(hours=7)
    back = await rig.turn(HOME, PARTNER, SMALL_TALK)
    assert RENT in back.injected
    assert PARCEL not in back.injected

    found = [{"judgment": text, "kind": "event"} for text in LEARNED]
    rig.model.on_reflection("窗帘", {"new_memories": found})
    await rig.turn(HOME, PARTNER, "客厅的窗帘旧了，周末我们去看看布料吧")
    await rig.turn(OFFICE, COLLEAGUE, "样品已经包好了，等快递上门")
    await queued(rig, "样品已经")
    for where in (HOME, OFFICE):
        await rig.onebot.ask(where, OWNER, "/memory reflect")
    home = rig.memory / "scopes" / "小家"
    rig.clock.set_to(4, 5, days=1)
    await rig.panel.indexed()
    await rig.onebot.ask(OWNERS_CHAT, OWNER, "/memory sleep")

    def of_the_day() -> list[Path]:
        """An earlier day has a journal of its own once its turns are read."""
        learned_in = files_with(home / "journal", LEARNED[0])
        return [day for day in files_with(home / "journal", DIGEST) if day in learned_in]

    await until_true(lambda: of_the_day() != [])
    (journal,) = of_the_day()
    assert (home / "journal" / journal).read_text("utf-8").count(DIGEST) == 1
    assert {path.parts[:2] for path in files_with(rig.memory, "窗帘")} == {("scopes", "小家")}
    pages = [home / "MEMORY.md", home / "PRIMER.md"]
    await until_true(lambda: all(page.exists() for page in pages))
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert "scoped-memory:begin" in text
        assert RULE in text
        assert "样品" not in text
    asked = await rig.turn(HOME, PARTNER, "昨天我们聊了什么")
    assert DIGEST in str(asked.injected), asked.injected
    asked = await rig.turn(OFFICE, COLLEAGUE, "昨天我们聊了什么")
    assert "窗帘" not in asked.first.everything


MEMBER, STRANGER = Person(2601, "小林"), Person(2602, "阿岚")
CLUB, ELSEWHERE = group(8851), group(8852)
SAID = "那就定了，年会订海边的民宿，不去温泉，温泉那边没有素食"
DECISION = "年会订海边的民宿，不去温泉：温泉那边没有素食"
WHY = "年会为什么不去温泉？"


async def test_who_asks_days_later_is_told_what_was_decided_and_the_group_also_its_talk(
    rig: Rig,
) -> None:
    toml = rig.root / "workflow.toml"
    toml.write_text("[memory]\nauto_inject_topk = 3\n", encoding="utf-8")
    await saves(rig, advanced={"workflow_file": str(toml)})
    decide, found = "/memory decide", learned(DECISION, turn=2) | {"decision": True}
    rig.model.on_reflection("素食", {"new_memories": [found]})
    await rig.turn(CLUB, MEMBER, "温泉和海边选哪个")
    await rig.turn(CLUB, MEMBER, SAID)
    await queued(rig, "素食")
    await rig.onebot.ask(CLUB, OWNER, "/memory reflect")
    proposal = memory_id(rig.memory, DECISION)
    assert "未决" in (await rig.turn(CLUB, MEMBER, WHY)).injected
    assert "提议" in await rig.onebot.ask(CLUB, OWNER, decide)
    assert "没有" in await rig.onebot.ask(ELSEWHERE, OWNER, decide)

    refused = await rig.onebot.ask(CLUB, MEMBER, f"{decide} accept {proposal}")
    assert "D-" not in refused
    draft = await rig.onebot.ask(
        CLUB, OWNER, f"{decide} accept {proposal} issue=#12 pr=club/plans#34"
    )
    record = next(line for line in draft.splitlines() if line.startswith("## D-"))
    assert not files_with(rig.memory / "shared", DECISION)
    assert "DECISIONS.md" in await rig.onebot.ask(CLUB, OWNER, f"{decide} yes")
    assert record in (rig.memory / "shared" / "DECISIONS.md").read_text(encoding="utf-8")
    decided_on = rig.clock.now().date()

    rig.clock.move(days=5)
    asked = await rig.turn(ELSEWHERE, STRANGER, WHY)
    (line,) = (line for line in asked.injected.splitlines() if DECISION in line)
    told = re.search(r"\[笔记 · (.*) · (shared/DECISIONS\.md#n-[0-9a-f]+)\] (.*)", line)
    assert told, line
    assert told[1].startswith(f"{decided_on} · ")
    assert record.removeprefix("## ") in told[1]
    assert told[3].startswith("Issue #12 · PR club/plans#34")
    assert "小林" not in asked.first.everything
    given = {"pointer": told[2], "transcript": True}
    opened = await rig.use_tool(ELSEWHERE, STRANGER, "expand_memory", given)
    assert record.removeprefix("## ") in opened
    assert "PR：club/plans#34" in opened
    assert "没有素食，" not in opened
    assert "选哪个" not in opened
    here = await rig.use_tool(CLUB, MEMBER, "expand_memory", given)
    assert f"→ 小林：{SAID}" in re.sub(r"→ \[.*?\] ", "→ ", here)
    assert "选哪个" in here


LANDLORD, MING, HONG = Person(9100, "房东"), Person(5101, "小明"), Person(5102, "小红")
LANDLORDS_CHAT, MINGS_CHAT, HONGS_CHAT = private(LANDLORD), private(MING), private(HONG)
CONFIDENCE = "别告诉别人：我打算年底搬出去"
HEARD, QUESTION = "小明最近在学吹萨克斯", "小明最近在学什么"


def warned(rig: Rig) -> list[JsonObject]:
    """The messages in which the bot has told an admin of strangers, unasked."""
    said = [one for one in rig.onebot.actions if "都归公共" in json.dumps(one, ensure_ascii=False)]
    return [one for one in said if "嵌入：" not in json.dumps(one, ensure_ascii=False)]


@through_a_kill
async def test_what_is_heard_in_an_unmapped_private_chat_is_its_speakers_alone(
    rig: Rig,
) -> AsyncGenerator[None]:
    rig.model.on_reflection("萨克斯", {"new_memories": [learned(HEARD)]})
    await rig.turn(MINGS_CHAT, MING, "我最近在学吹萨克斯，邻居都受不了了")
    for number in range(9):
        await rig.turn(MINGS_CHAT, MING, f"今天的晚霞真好看，第{number}次说")
    await until_true(lambda: files_with(rig.memory, HEARD) != [])
    assert scopes_with(rig.memory, HEARD) == {"public"}
    own = await rig.turn(MINGS_CHAT, MING, QUESTION)
    assert HEARD in own.injected
    rig.clock.move(hours=8)
    for place, who in (
        (ELSEWHERE, HONG),
        (ELSEWHERE, MING),
        (HONGS_CHAT, HONG),
        (LANDLORDS_CHAT, LANDLORD),
    ):
        asked = await rig.turn(place, who, QUESTION)
        assert "萨克斯" not in asked.first.everything.replace(QUESTION, "")
        assert "萨克斯" not in await rig.recall(place, who, QUESTION)
        assert "萨克斯" not in await rig.onebot.ask(place, who, "/memory list")
    await rig.onebot.ask(LANDLORDS_CHAT, LANDLORD, "/memory export")
    (exported,) = (rig.bot.plugin_data / "exports").glob("*.jsonl")
    assert "萨克斯" not in exported.read_text(encoding="utf-8")

    said = await rig.onebot.ask(MINGS_CHAT, MING, f"/memory add {CONFIDENCE}")
    assert "保密" in said
    assert "/记忆 域" in said
    remember = call("core_memory_remember", {"judgment": "小明打算年底搬出去"})
    rig.model.on(CONFIDENCE, remember, then="好。")
    turn = await rig.turn(MINGS_CHAT, MING, CONFIDENCE)
    assert turn.tool_results[-1].startswith("error")
    assert "保密" in turn.tool_results[-1]
    await rig.turn(MINGS_CHAT, MING, "顺便说一句，今天吃了螺蛳粉")
    await queued(rig, "螺蛳粉")
    assert noted_turns(rig.bot.plugin_data, "搬出去") == []
    assert files_with(rig.memory, "搬出去") == []
    assert len(warned(rig)) == 1, "an admin is told once of strangers who write privately"
    yield
    await rig.turn(HONGS_CHAT, HONG, "我也来了")
    await rig.turn(LANDLORDS_CHAT, LANDLORD, "今天有人来过吗")
    assert len(warned(rig)) == 1
