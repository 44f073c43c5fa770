"""Hours and days later: what a conversation that comes back is told, what the night writes down,
what was decided in a group, and what a private chat keeps to itself."""

from collections.abc import AsyncGenerator

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, Place, group, private
from astrbot_plugin_scoped_memory.harness.records import files_with, noted_turns, scopes_with
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.script import JsonObject, call
from astrbot_plugin_scoped_memory.harness.waiting import until_true
from astrbot_plugin_scoped_memory.tests.e2e.bots import through_a_kill
from astrbot_plugin_scoped_memory.tests.e2e.cast import (
    learned,
    memory_id,
    queued,
    saved_history,
    slept,
)

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

OWNER, PARTNER, COLLEAGUE = Person(9001, "房主"), Person(2101, "阿芳"), Person(3101, "小周")
HOME, OFFICE, OWNERS_CHAT = group(7701), group(8801), private(OWNER)
RULE = "必须用公历写日期"
RENT, OFFICE_TASK = "十二月五日前交房租", "给客户寄样品"
CURTAINS = "阿芳说客厅的窗帘旧了"


async def test_the_first_turn_after_hours_is_told_where_things_stand_and_the_night_writes_the_day(
    rig: Rig,
) -> None:
    await rig.onebot.ask(OWNERS_CHAT, OWNER, f"/memory add {RULE}")
    for place, who, task in ((HOME, PARTNER, RENT), (OFFICE, COLLEAGUE, OFFICE_TASK)):
        tasks: JsonObject = {"action": "add", "tasks": [task]}
        assert task in await rig.use_tool(place, who, "update_tasks", tasks)
    rig.clock.move(hours=5)
    early = await rig.turn(HOME, PARTNER, "你好呀，今天挺暖和")
    assert early.first.injected == []
    rig.clock.move(hours=7)
    back = await rig.turn(HOME, PARTNER, "你好呀，天黑得真早")
    (part,) = back.first.injected
    assert [one for one in (RULE, RENT, PARTNER.nickname) if one not in part] == []
    assert OFFICE_TASK not in back.first.everything
    assert back.first.system == early.first.system
    assert RULE not in str(await saved_history(rig, HOME, "天黑得真早"))
    again = await rig.turn(HOME, PARTNER, "你好呀，我又来了")
    assert again.first.injected == []

    found = {"judgment": CURTAINS, "kind": "event", "turn": 1}
    rig.model.on_reflection("窗帘", {"new_memories": [found]})
    await rig.turn(HOME, PARTNER, "客厅的窗帘旧了，周末我们去看看布料吧")
    await queued(rig, "窗帘")
    await rig.onebot.ask(HOME, OWNER, "/memory reflect")
    await slept(rig, OWNERS_CHAT, OWNER)
    home = rig.memory / "scopes" / "小家"
    assert files_with(home / "journal", CURTAINS) != []
    assert {path.parts[:2] for path in files_with(rig.memory, "窗帘")} == {("scopes", "小家")}
    text = (home / "MEMORY.md").read_text(encoding="utf-8")
    assert "scoped-memory:begin" in text
    assert RULE in text
    assert "样品" not in text


MEMBER, STRANGER = Person(2601, "小林"), Person(2602, "阿岚")
CLUB = group(8851)
SAID = "那就定了，年会订海边的民宿，不去温泉，温泉那边没有素食"
DECISION = "年会订海边的民宿，不去温泉：温泉那边没有素食"
WHY = "年会为什么不去温泉？"


async def test_who_asks_days_later_is_told_what_was_decided_and_the_group_also_its_talk(
    rig: Rig, room: Place
) -> None:
    decide, found = "/memory decide", learned(DECISION, turn=2) | {"decision": True}
    rig.model.on_reflection("素食", {"new_memories": [found]})
    await rig.turn(CLUB, MEMBER, "温泉和海边选哪个")
    await rig.turn(CLUB, MEMBER, SAID)
    await queued(rig, "素食")
    await rig.onebot.ask(CLUB, OWNER, "/memory reflect")
    proposal = memory_id(rig.memory, DECISION)
    assert "未决" in (await rig.turn(CLUB, MEMBER, WHY)).injected
    assert "D-" not in await rig.onebot.ask(CLUB, MEMBER, f"{decide} accept {proposal}")
    draft = await rig.onebot.ask(CLUB, OWNER, f"{decide} accept everyone {proposal}")
    record = next(line for line in draft.splitlines() if line.startswith("## D-"))
    assert not files_with(rig.memory / "shared", DECISION)
    assert "写好了：D-0001" in await rig.onebot.ask(CLUB, OWNER, "/memory yes")
    assert record in (rig.memory / "shared" / "DECISIONS.md").read_text(encoding="utf-8")

    rig.clock.move(days=5)
    asked = await rig.turn(room, STRANGER, WHY)
    (line,) = (line for line in asked.injected.splitlines() if DECISION in line)
    assert record.removeprefix("## ") in line
    assert "小林" not in asked.first.everything
    pointer = line.partition("]")[0].rpartition(" · ")[2]
    given = {"pointer": pointer, "transcript": True}
    opened = await rig.use_tool(room, STRANGER, "expand_memory", given)
    assert record.removeprefix("## ") in opened
    assert "选哪个" not in opened
    here = await rig.use_tool(CLUB, MEMBER, "expand_memory", given)
    assert SAID in here
    assert "选哪个" not in here


LANDLORD, MING, HONG = Person(9100, "房东"), Person(5101, "小明"), Person(5102, "小红")
LANDLORDS_CHAT, MINGS_CHAT, HONGS_CHAT = private(LANDLORD), private(MING), private(HONG)
CONFIDENCE = "别告诉别人：我打算年底搬出去"
HEARD, QUESTION = "小明最近在学吹萨克斯", "小明最近在学什么"


@through_a_kill
async def test_what_is_heard_in_an_unmapped_private_chat_is_its_speakers_alone(
    rig: Rig, room: Place
) -> AsyncGenerator[None]:
    rig.model.on_reflection("萨克斯", {"new_memories": [learned(HEARD)]})
    await rig.turn(MINGS_CHAT, MING, "我最近在学吹萨克斯，邻居都受不了了")
    for number in range(9):  # then turns are read without a command
        await rig.turn(MINGS_CHAT, MING, f"今天的晚霞真好看，第{number}次说")
    await until_true(lambda: files_with(rig.memory, HEARD) != [])
    assert scopes_with(rig.memory, HEARD) == {"public"}
    assert HEARD in (await rig.turn(MINGS_CHAT, MING, QUESTION)).injected
    await rig.onebot.say(LANDLORDS_CHAT, LANDLORD, "今天有人来过吗")
    said = [await rig.onebot.reply(LANDLORDS_CHAT) for _ in range(2)]
    assert len([one for one in said if "都归公共" in one]) == 1, "an admin is told of strangers"
    for place, who in ((room, HONG), (room, MING), (HONGS_CHAT, HONG), (LANDLORDS_CHAT, LANDLORD)):
        asked = await rig.turn(place, who, QUESTION)
        assert "萨克斯" not in asked.first.everything.replace(QUESTION, "")
        assert "萨克斯" not in await rig.recall(place, who, QUESTION)

    assert "保密" in await rig.onebot.ask(MINGS_CHAT, MING, f"/memory add {CONFIDENCE}")
    remember = call("core_memory_remember", {"judgment": "小明打算年底搬出去"})
    rig.model.on(CONFIDENCE, remember, then="好。")
    turn = await rig.turn(MINGS_CHAT, MING, CONFIDENCE)
    assert turn.tool_results[-1].startswith("error")
    await rig.turn(MINGS_CHAT, MING, "顺便说一句，今天吃了螺蛳粉")
    await queued(rig, "螺蛳粉")
    assert noted_turns(rig.bot.plugin_data, "搬出去") == []
    assert files_with(rig.memory, "搬出去") == []
    yield
    await rig.turn(HONGS_CHAT, HONG, "我也来了")
    await rig.turn(LANDLORDS_CHAT, LANDLORD, "今天又有人来过吗")
    assert rig.onebot.unread(LANDLORDS_CHAT) == [], "he is told once"
