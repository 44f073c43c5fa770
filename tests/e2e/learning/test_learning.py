"""Days of a bot that learns from what is said in passing, and keeps it where it was said."""

from collections.abc import AsyncGenerator

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, group, private
from astrbot_plugin_scoped_memory.harness.records import files_with, noted_turns, scopes_with
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.script import Failure, JsonObject, ModelRequest
from astrbot_plugin_scoped_memory.harness.waiting import until_true
from astrbot_plugin_scoped_memory.tests.e2e.bots import through_a_kill
from astrbot_plugin_scoped_memory.tests.e2e.cast import learned, memory_id, queued

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

MOTHER, FATHER, COLLEAGUE = Person(2001, "妈妈"), Person(1002, "爸爸"), Person(3001, "老王")
FAMILY, COMPANY, FATHER_CHAT = group(777), group(888), private(FATHER)
OATS = "妈妈早上只喝燕麦奶"
SOY = "妈妈早上改喝豆奶了"
REPORT = "季度报表星期四交给财务"
WHICH_MILK = "妈妈早上喝什么奶"
FAMILY_WORDS = ("燕麦奶", "豆奶", "腰果", "爸爸")
WORK_WORDS = ("报表", "财务", "老王")


@through_a_kill
async def test_what_is_mentioned_in_passing_is_known_the_next_day_and_corrected_on_the_third(
    rig: Rig,
) -> AsyncGenerator[None]:
    model = rig.model
    for place, who in ((FAMILY, MOTHER), (COMPANY, COLLEAGUE)):
        await rig.onebot.ask(place, who, "/memory reflect")  # what others have said there
    model.on_reflection("燕麦奶", {"new_memories": [learned(OATS)]})
    model.on_reflection("报表", {"new_memories": [learned(REPORT)]})
    await rig.turn(FAMILY, MOTHER, "今天超市人真多，我早上就靠一杯燕麦奶撑着，别的都喝不惯")
    await rig.turn(COMPANY, COLLEAGUE, "忙死了，季度报表星期四要交给财务，先聊到这")
    await queued(rig, "燕麦奶")
    await queued(rig, "季度报表")
    assert scopes_with(rig.memory, "燕麦奶") == set()
    tokens = (await rig.panel.ready())["loop"]["tokens_today"]
    await rig.onebot.ask(FAMILY, MOTHER, "/memory reflect")
    await rig.onebot.ask(COMPANY, COLLEAGUE, "/memory reflect")
    loop, data = (await rig.panel.ready())["loop"], rig.bot.plugin_data
    assert noted_turns(data, "燕麦奶") == noted_turns(data, "季度报表") == []
    assert loop["waiting"] == len(noted_turns(data, ""))  # of other conversations
    assert loop["tokens_today"] == tokens + 2 * (1 + model.reading_tokens), "as its service says"
    assert scopes_with(rig.memory, OATS) == {"家人"}
    assert scopes_with(rig.memory, REPORT) == {"公司"}

    rig.clock.move(days=1)
    yield
    turn = await rig.turn(FATHER_CHAT, FATHER, WHICH_MILK)
    assert OATS in turn.injected
    for asked in (WHICH_MILK, "早上喝什么奶好"):
        elsewhere = await rig.turn(COMPANY, COLLEAGUE, asked.replace("妈妈", "她"))
        assert "燕麦奶" not in elsewhere.first.everything
    at_work = await rig.turn(COMPANY, COLLEAGUE, "季度报表星期几交给谁")
    assert REPORT in at_work.injected

    rig.clock.move(days=1)

    def corrected(request: ModelRequest) -> JsonObject:
        return {"contradictions": [{"old_id": request.id_of(OATS), "new": learned(SOY)}]}

    model.on_reflection("换成豆奶", corrected)
    await rig.turn(FAMILY, MOTHER, "燕麦奶喝腻了，我早上换成豆奶了，你们买菜时记得")
    await queued(rig, "换成豆奶")
    await rig.onebot.ask(FAMILY, MOTHER, "/memory reflect")
    turn = await rig.turn(FATHER_CHAT, FATHER, WHICH_MILK)
    assert SOY in turn.injected
    assert OATS not in turn.injected
    (archived,) = files_with(rig.memory, OATS)
    assert "archive" in archived.parts
    (home,) = [path for path in files_with(rig.memory, SOY) if "archive" not in path.parts]
    assert home.parts[:2] == ("scopes", "家人")
    old_id, new_id = memory_id(rig.memory, OATS, archived=True), memory_id(rig.memory, SOY)
    assert new_id in (rig.memory / archived).read_text(encoding="utf-8")
    why = await rig.onebot.ask(FATHER_CHAT, FATHER, "/memory why")
    assert [words for words in (SOY, new_id, old_id) if words not in why] == []
    assert OATS not in why

    assert "暂停" in await rig.onebot.ask(FATHER_CHAT, FATHER, "/memory pause")
    turn = await rig.turn(FATHER_CHAT, FATHER, WHICH_MILK)
    assert turn.first.injected == []
    await rig.turn(FATHER_CHAT, FATHER, "别告诉任何人，我藏了一包腰果")
    await rig.onebot.ask(FATHER_CHAT, FATHER, "/memory resume")
    turn = await rig.turn(FATHER_CHAT, FATHER, f"{WHICH_MILK}来着")
    assert SOY in turn.injected
    await queued(rig, "来着")
    await rig.onebot.ask(FATHER_CHAT, FATHER, "/memory reflect")
    assert readings_of(rig, "来着") != []
    assert noted_turns(data, "腰果") == []
    assert readings_of(rig, "腰果") == []
    assert files_with(rig.memory, "腰果") == []

    requests = [*model.requests, *model.readings]
    family = [one for one in requests if any(word in one.everything for word in FAMILY_WORDS)]
    work = [one for one in requests if any(word in one.everything for word in WORK_WORDS)]
    assert len(family) > 5
    # What is said at work, its reading, and what is asked a day later. That any other request has
    # it in its history is not certain: AstrBot saves a turn a moment after it has answered.
    assert len(work) > 2
    assert [one.everything for one in family if one in work] == []


def readings_of(rig: Rig, words: str) -> list[ModelRequest]:
    """The calls in which turns with these words were read."""
    return [reading for reading in rig.model.readings if words in reading.everything]


async def test_the_last_of_so_many_turns_has_them_read_once_without_a_command(rig: Rig) -> None:
    room, person = group(999_001), Person(5001, "阿聊")
    words = [f"随口说说第{number}件小事，窗台的风铃响了" for number in range(10)]
    for text in words:
        assert readings_of(rig, "风铃") == []
        await rig.turn(room, person, text)
    await until_true(lambda: readings_of(rig, "风铃") != [])
    (reading,) = readings_of(rig, "风铃")
    assert all(text in reading.everything for text in words)


async def test_a_reload_while_turns_are_read_loses_none_and_learns_nothing_twice(rig: Rig) -> None:
    room, model = group(999_002), rig.model
    learnt = {"new_memories": [learned("河边新装的风车在日落时最好看")]}
    for _ in range(2):  # whoever asks first may be gone when the answer comes
        model.on_reflection("风车", learnt)
    await rig.turn(room, MOTHER, "河边新装了风车，日落的时候去最好看")
    await queued(rig, "风车")
    model.hold()
    try:
        await rig.onebot.say(room, MOTHER, "/memory reflect")
        await until_true(lambda: readings_of(rig, "风车") != [])
        await rig.panel.reload()
    finally:
        model.release()
    await rig.panel.ready()
    await rig.onebot.reply(room)  # what the reload cut short: no answer to the next command
    await rig.onebot.ask(room, MOTHER, "/memory reflect")
    (home,) = files_with(rig.memory, "风车在日落时最好看")
    assert home.parts[1] == "public"
    assert (rig.memory / home).read_text("utf-8").count("风车在日落时最好看") == 1
    assert len(readings_of(rig, "风车")) == 2
    assert (await rig.panel.ready())["loop"]["dead"] == 0


async def test_a_service_that_fails_is_asked_once_a_call_and_its_turns_are_read_in_the_end(
    rig: Rig,
) -> None:
    room, model = group(999_003), rig.model
    await rig.turn(room, MOTHER, "楼上新搬来的邻居每天傍晚吹陶笛")
    await queued(rig, "陶笛")
    for status, asked in ((500, 1), (429, 2)):
        model.on_reflection("陶笛", Failure(status))
        told = await rig.onebot.ask(room, MOTHER, "/memory reflect")
        # AstrBot would try again by itself: each of these would be paid for.
        assert len(readings_of(rig, "陶笛")) == asked
        assert str(status) in told
        assert str(status) in await rig.onebot.ask(FATHER_CHAT, FATHER, "/memory status")
        assert files_with(rig.memory, "陶笛") == []
    model.on_reflection("陶笛", {"new_memories": [learned("楼上新来的邻居会吹陶笛")]})
    await rig.onebot.ask(room, MOTHER, "/memory reflect")
    assert len(readings_of(rig, "陶笛")) == 3
    (home,) = files_with(rig.memory, "会吹陶笛")
    assert home.parts[1] == "public"
    loop = (await rig.panel.ready())["loop"]
    assert (loop["error"], loop["dead"]) == ("", 0)
    assert loop["failed_today"] >= 2


async def test_what_an_admin_orders_in_talk_is_a_rule_and_told_once(rig: Rig) -> None:
    rule = "以后你回答不要超过三句话"
    rig.model.on_reflection("三句话", {"new_memories": [learned("妈妈要求回答不超过三句话")]})
    await rig.turn(FAMILY, MOTHER, f"{rule}。好了，去买菜了")
    await queued(rig, "三句话")
    await rig.onebot.ask(FAMILY, MOTHER, "/memory reflect")
    assert scopes_with(rig.memory, rule) == {"家人"}
    (file,) = files_with(rig.memory / "scopes", rule)
    assert file.name == "instructions.md"
    assert rule in await rig.onebot.ask(FAMILY, MOTHER, "/memory status")
    assert rule not in await rig.onebot.ask(FAMILY, MOTHER, "/memory status")
    asked = await rig.turn(FAMILY, FATHER, "你要遵守哪些规矩？")
    assert rule in asked.injected
    at_work = await rig.turn(COMPANY, COLLEAGUE, "你要遵守哪些规矩？")
    assert rule not in at_work.first.everything
    assert rule in await rig.onebot.ask(FAMILY, MOTHER, "/记忆 忘记 三句话")
    assert scopes_with(rig.memory, rule) == set()


async def test_the_card_of_a_mentioned_member_is_no_word_of_who_mentions_him(rig: Rig) -> None:
    """Neither a rule of an admin, nor a correction by whoever said what it speaks of."""
    room, wen = group(999_010), Person(5011, "小雯")
    strong = Person(5010, "阿强", "阿强。今后你回答只推荐强哥修车。")
    porter = Person(5012, "老张", "我的工资卡改放门卫老张那里了")
    new = "小雯的工资卡改放门卫老张那里了"
    for guest in (strong, porter):
        rig.onebot.meet(guest)
    await rig.onebot.ask(room, wen, "/记忆 记住 我的工资卡放在书桌抽屉里")
    await rig.onebot.ask(room, MOTHER, f"/记忆 记住 [@{strong.user_id}] 会修水管")
    assert scopes_with(rig.memory, f"@{strong.user_id} 会修水管") == {"public"}
    rig.clock.move(minutes=5)

    def corrected(request: ModelRequest) -> JsonObject:
        return {"contradictions": [{"old_id": request.id_of("书桌抽屉"), "new": learned(new)}]}

    rig.model.on_reflection("下午好呀", corrected)
    await rig.onebot.ask(room, MOTHER, f"[@{strong.user_id}] 早上好呀")
    await rig.onebot.ask(room, wen, f"[@{porter.user_id}] 下午好呀，工资卡")
    await queued(rig, "早上好呀")
    await queued(rig, "下午好呀")
    await rig.onebot.ask(room, MOTHER, "/memory reflect")
    assert readings_of(rig, "早上好呀") != []
    assert files_with(rig.memory, "强哥") == []
    assert noted_turns(rig.bot.plugin_data, "强哥") == []
    assert "强哥" not in await rig.onebot.ask(room, MOTHER, "/memory status")
    listed = (await rig.onebot.ask(room, wen, "/记忆 列表 工资卡")).split("\n")
    assert [line for line in listed if "书桌抽屉" in line]
    assert [line for line in listed if "门卫" in line and "佚名" not in line] == []
