"""``/memory``: whatever people write for a command is understood or answered, and nothing that was
done is left untold; no member fills the disk by command, and none who types has to wait."""

from __future__ import annotations

import asyncio
import logging
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.core.commands import call, commands
from astrbot_plugin_scoped_memory.core.commands.call import Call
from astrbot_plugin_scoped_memory.core.commands.command_words import (
    COMMANDS,
    CommandWords,
    nearest,
    respelled,
)
from astrbot_plugin_scoped_memory.core.commands.commands import unknown_text
from astrbot_plugin_scoped_memory.core.latest import TypingRate
from astrbot_plugin_scoped_memory.llm_memory import TaskChange
from astrbot_plugin_scoped_memory.llm_memory.errors import StateUnavailable
from astrbot_plugin_scoped_memory.llm_memory.remember.rules.gate import MAX_JUDGMENT
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.main import ScopedMemoryPlugin
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running
from astrbot_plugin_scoped_memory.tests.support.foreign import (
    TEXTS,
    TWINS,
    bytes_in,
    plant,
    plant_links,
)
from astrbot_plugin_scoped_memory.tests.support.plugin import Desk, FakeEvent
from astrbot_plugin_scoped_memory.tests.support.turn_plugin import TurnPlugin

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

PEANUTS, BLUE = "奶奶对花生过敏", "decide 定 大家 买蓝的"
NAMES = [row.name for row in COMMANDS]
_ALONE = ("scope", "soul", "pause", *(row.name for row in COMMANDS if row.bare))


async def test_add_keeps_the_words_as_they_stand(rig: Rig) -> None:
    await Desk(rig).told(FakeEvent.in_group(777, " memory  add   第一行  两个空格\n第二行 "))
    (stored,) = await rig.engine.service.newest(conversation_id=group(777), limit=5)
    assert stored.memory.judgment == "第一行  两个空格\n第二行"
    assert stored.memory.provenance.person == "aiocqhttp:10001"
    assert stored.memory.provenance.source.value == "指令"


async def test_whatever_comes_is_answered(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    await rig.remember(PEANUTS, group(777))
    desk = Desk(rig, sender="10001", admin=False)
    for name in NAMES:
        for rest in ("", " x", " m-00000000000000", " {x}", " \ud800", " " + "长" * 3000, " \0"):
            assert await desk(f"{name}{rest}")
        for umo in ("", "x", "a:b", "a:GroupMessage: ", "a:Strange:1"):
            assert PEANUTS not in await desk.told(FakeEvent(umo, f"memory {name} 花生怎么样"))
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []


async def test_no_command_of_an_admin_changes_a_byte_that_everybody_reads(tmp_path: Path) -> None:
    """But for an accepted decision. What each call of the engine does with such names,
    ``tests/service/test_hostile_doors.py`` asks."""
    memory, others = tmp_path / "memory", ("scopes", ".pauses.json")
    plant(memory, TWINS)
    plant_links(memory, memory / "scopes" / "家人")
    async with running(tmp_path, follow=False) as rig:
        desk, before = Desk(rig, plugin=TurnPlugin(rig)), bytes_in(memory, but=others)
        decided = ("list", "propose", "reject", "supersede D-0001", "撤回 D-0009", "yes")
        for text in (*TEXTS[::30], *TWINS[::9]):
            for name in NAMES:
                for first in decided if name == "decide" else ("", "公共", "确认"):
                    said = await desk(f"{name} {first} {text}")
                    assert said
                    assert "Error" not in said or name in ("backup", "restore", "sleep"), said
            assert bytes_in(memory, but=others) == before, text


@pytest.mark.parametrize("gone", [False, True])
@pytest.mark.parametrize(
    ("end", "said", "logged"),
    [
        (StateUnavailable("disk is full"), "disk is full", 0),
        (KeyError("x"), "KeyError", 1),
        ("我的病叫zqk", "我的病叫zqk", 0),  # and no word of it is in the log
    ],
)
async def test_the_end_of_what_is_not_waited_for_is_told(
    rig: Rig,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    end: str | Exception,
    said: str,
    logged: int,
    gone: bool,
) -> None:
    """``gone``: whoever waited for it is cancelled before."""
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def work(_: Call) -> str:
        begun.set()
        await go_on.wait()
        if isinstance(end, Exception):
            raise end
        return end

    monkeypatch.setitem(commands._HANDLERS, "undo", work)  # type: ignore[index]
    if not gone:
        monkeypatch.setattr(commands, "_PATIENCE_SECONDS", 0.0)
    desk = Desk(rig)
    asked = asyncio.create_task(desk("undo"))
    await begun.wait()
    if gone:
        asked.cancel()
    go_on.set()
    with caplog.at_level(logging.INFO):
        answer = (await asyncio.gather(asked, return_exceptions=True))[0]
        await desk.plugin.settled()
    assert isinstance(answer, BaseException) if gone else answer == desk.say("slow.goes_on")
    (told,) = desk.sent
    assert said in told
    assert len([one for one in caplog.records if "zqk" in one.message or one.exc_info]) == logged


async def test_a_closed_engine_leaves_each_command_to_its_successor(rig: Rig) -> None:
    await rig.engine.close()
    rests = {**dict.fromkeys(_ALONE, ""), "join": " 家人"}
    for name in (row.name for row in COMMANDS if not row.refusal):
        rest = rests.get(name, " m-00000000000000 公司")
        answer = await Desk(rig, admin=False)(f"{name}{rest}")
        assert (name, answer == "") == (name, name not in ("help", "no", "yes"))


async def test_a_yes_is_to_what_was_asked_last(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """A late yes, and that of whom the admins have let go do nothing."""
    now = 0.0
    monkeypatch.setattr(call, "monotonic", lambda: now)
    desk, records = Desk(rig), rig.root / "memory" / "shared" / "DECISIONS.md"
    for words in ("decide 定 大家 买红的", BLUE, "yes 是不是"):
        assert words[-3:] in await desk(words)
    assert await desk("yes", admin=False) == desk.say("outcome.admins_only")
    await desk(BLUE)
    now = 600.0
    assert await desk("yes") == desk.say("asked.nothing")
    assert not records.exists()
    await desk(BLUE)
    assert "D-0001" in await desk("yes")
    assert await desk("yes") == desk.say("asked.nothing")
    written = records.read_text("utf-8")
    assert ("买蓝的" in written, "买红的" in written) == (True, False)


@pytest.mark.parametrize(
    "between", ["no", "help cancel", "list", "decide accept 1", "restore none.jsonl", "forget"]
)
async def test_a_no_or_any_other_command_ends_what_waits_for_a_yes(rig: Rig, between: str) -> None:
    desk = Desk(rig)
    await rig.remember("存折在柜子里", group(777), person(9))
    assert "/记忆 否" in await desk("forget 我的全部")
    await desk("list", sender="8")  # another person's
    said = await desk(between)
    deed = desk.say("forget.deed")
    assert (said == desk.say("asked.dropped", deed=deed)) is (between == "no")
    assert await desk("yes") == await desk("no") == desk.say("asked.nothing")
    assert await rig.newest(group(777)) == ["存折在柜子里"]


async def test_a_command_without_words_names_those_it_was_given(rig: Rig, tmp_path: Path) -> None:
    await rig.remember(PEANUTS, group(777))
    desk = Desk(rig, plugin=TurnPlugin(rig))
    await desk("pause")
    before = bytes_in(tmp_path, but=("index", "state"))
    for name in ("status", "resume", "reflect", "export", "backup"):
        assert "“花生 abc”" in await desk(f"{name} 花生 abc")
    assert bytes_in(tmp_path, but=("index", "state")) == before


async def test_what_is_to_do_is_told_the_own_first_and_what_is_done_is_ticked(rig: Rig) -> None:
    desk, ming, update = Desk(rig), person(5, "小明"), rig.engine.service.update_tasks
    added, done = "add", "done"
    told = ((added, "交物业费", 777), (added, "浇花", 777), (added, "修路灯", 999))
    for action, title, number in (*told, (done, "浇花", 777)):
        change = TaskChange(action, (title,), heard=title)
        await update(change, conversation_id=group(number), actor=ming)
    _, own, public = (await desk("todo 小明")).split("\n")
    assert ("物业费" in own, "路灯" in public) == (True, True)
    assert await desk("todo 小红") == desk.say("todo.nothing")
    assert "[x] 浇花" in await desk("list")


async def test_signs_around_words_are_not_looked_for(rig: Rig) -> None:
    desk = Desk(rig)
    await rig.remember(PEANUTS, group(777))
    for line in ("list “奶奶”", "list 奶奶。", "list 《奶奶》", "list 。"):
        assert PEANUTS in await desk(line), line
    assert "找到 1 条" in await desk("search “花生”。")
    assert "没有找到" in await desk("search 火星人")
    assert PEANUTS in await desk("why 1")  # the search found nothing, so the list before it counts
    assert "已忘记" in await desk("forget “花生”")


async def test_why_shows_of_a_note_its_text_alone(tmp_path: Path) -> None:
    note = tmp_path / "memory" / "shared" / "RUNBOOK.md"
    note.parent.mkdir(parents=True)
    note.write_text("# 重启\n\n先停路由器\n", "utf-8")
    async with running(tmp_path) as rig:
        await rig.until_indexed()
        desk = Desk(rig)
        await desk("search 路由器")
        assert await desk("why 1") == "# 重启\n先停路由器"


async def test_a_rule_is_called_one_and_a_namesake_not_taken_for_oneself(rig: Rig) -> None:
    desk = Desk(rig)
    assert "记成规矩了" in await desk("add 从现在起只用敬语回答")
    assert "已忘记" in await desk("forget 1")
    await desk("add 小明养了猫", sender="10001", name="小明", admin=False)
    said = await desk("forget 养了猫", sender="10009", name="小明", admin=False)
    assert "另一个小明" in said


FASTEST_TYPIST = 10
"""Characters a second, held for hours: twice the record."""
LONG = "字" * MAX_JUDGMENT


@given(st.lists(st.integers(1, MAX_JUDGMENT), max_size=60))
def test_who_types_is_never_told_to_wait(lengths: list[int]) -> None:
    now = [0.0]
    rate = TypingRate(lambda: now[0])
    for length in lengths:
        now[0] += 3 + length / FASTEST_TYPIST  # the command itself, and the words
        assert rate.wait(group(777), person(1), "字" * length) == 0


@pytest.mark.parametrize(("text", "least", "most"), [(LONG, 3, 10), ("好", 10, 30), ("", 10, 30)])
def test_a_flood_ends_soon_for_its_sender_alone(text: str, least: int, most: int) -> None:
    now = [0.0]
    rate = TypingRate(lambda: now[0])
    waits = [rate.wait(group(777 + number), person(1), text) for number in range(60)]
    taken = waits.index(max(waits))
    assert least <= taken <= most
    assert waits == [0] * taken + [waits[-1]] * (60 - taken)  # refused ones cost nothing more
    assert rate.wait(group(777), person(2), text) == 0
    assert rate.wait(group(777), person(1, admin=True), text) == 0
    now[0] += waits[-1] * 60
    assert rate.wait(group(777), person(1), text) == 0


async def test_the_reply_says_that_nothing_was_stored(rig: Rig) -> None:
    desk = Desk(rig, sender="10001", admin=False)
    said = [await desk(f"add 第{number}号仓库的货架，{LONG[:1800]}") for number in range(12)]
    refused = [one for one in said if "分钟" in one]
    stored = await rig.engine.service.newest(conversation_id=group(777))
    assert 0 < len(stored) == 12 - len(refused) < 12


GROUPS = ["memory", "记忆"]
CommandWords.group = ScopedMemoryPlugin.memory.parent_group  # as AstrBot knows them
KNOWN = CommandWords.names()
TRADITIONAL = {
    "暫停": "暂停", "繼續": "继续", "記住": "记住", "撤銷": "撤销", "搜尋": "搜寻",
    "還原": "还原", "遷移": "迁移", "拒絕": "拒绝",
}  # fmt: skip
MEANT = {
    "memory": "memory help",
    "MEMORY": "memory help",
    "Memory LIST 2": "memory list 2",
    "记忆状态": "memory 状态",
    "记忆 忘记芒果": "memory 忘记 芒果",
    "记忆忘记芒果 彻底": "memory 忘记 芒果 彻底",
    "memorylist": "memory list",
    "memory list2": "memory list 2",
    "记忆列表2": "memory 列表 2",
    "记忆 查看": "memory help 查看",
    "记忆查看": "memory help 查看",
    "memory foo bar": "memory help foo bar",
    "記憶 列表 小雯": "memory 列表 小雯",
    "记忆 忘記芒果": "memory 忘记 芒果",
    "記憶狀態": "memory 状态",
    **{f"記憶 {word}": f"memory {meant}" for word, meant in TRADITIONAL.items()},
}
UNDERSTOOD = ("memory list", "memory  list 2", "记忆 列表 小雯", "memorylane", "memories", "天气")
MEANT_IN_TALK = {
    "记忆": "memory help", "memory STATUS": "memory status", "記憶 列表": "memory 列表",
}  # fmt: skip
TALK = (
    "记忆状态", "记忆 里最早的事是什么", "记忆力不好怎么办", "Memory list", "Memory", "记忆 状态",
    "memory foam is nice", "Memory status of the phone",
)  # fmt: skip


def test_a_command_is_respelled_as_it_was_meant_and_talk_stays_talk() -> None:
    for commanded, meant, stay in (
        (True, MEANT, (*UNDERSTOOD, "我的记忆 列表")),
        (False, MEANT_IN_TALK, TALK),
    ):
        expected = meant | dict.fromkeys(stay)
        assert {
            written: respelled(written, GROUPS, KNOWN, commanded=commanded) for written in expected
        } == expected


@given(
    st.sampled_from(["memory", "记忆", "Memory", "天气", ""]),
    st.sampled_from(["", " ", "\n", "\u3000"]),
    st.one_of(st.text(max_size=8), st.sampled_from(["列表", "LIST", "忘记芒果"])),
    st.booleans(),
)
def test_what_was_respelled_is_understood(group: str, gap: str, rest: str, commanded: bool) -> None:
    spelled = respelled(f"{group}{gap}{rest}".strip(), GROUPS, KNOWN, commanded=commanded)
    if spelled is not None:
        assert respelled(spelled, GROUPS, KNOWN, commanded=commanded) is None


@pytest.mark.parametrize(
    ("written", "addressed", "then"),
    [
        ("/memory", True, "memory help"),
        ("/记忆查看 一下", True, "memory help 查看 一下"),
        ("记忆力不好怎么办", True, "记忆力不好怎么办"),
        ("/天气", True, "天气"),
        ("/memory", False, "memory"),
        ("／记忆 列表", False, "记忆 列表"),
        ("／记忆列表 2", False, "memory 列表 2"),
        ("／天气", False, "／天气"),
        ("/memory", None, "memory"),  # an event that is not as it should be
    ],
)
def test_the_filter_changes_the_event(written: str, addressed: bool | None, then: str) -> None:
    event: Any = SimpleNamespace(
        message_str=written.removeprefix("/").strip(),
        is_at_or_wake_command=addressed is not False,
        message_obj=SimpleNamespace(message_str=written),
    )
    if addressed is None:
        del event.message_obj
    assert CommandWords(False).filter(event, {"wake_prefix": ["/"]}) is False  # type: ignore[arg-type]
    assert event.message_str == then
    assert event.is_at_or_wake_command is (addressed is not False or "列表" in then)


def test_an_unknown_word_is_answered_with_the_nearest_command_that_is_for_who_asks() -> None:
    texts = Texts("zh-CN")
    meant = {"查看": "list", "statu": "status", "Serach": "search", "清空": "forget", "lst": "list"}
    assert {word: nearest(word, KNOWN)[0] for word in meant} == meant
    assert nearest("xyzzy", KNOWN) == []
    assert "列表、搜索" in unknown_text(texts, "查看 一下", admin=False)
    assert unknown_text(texts, "列表", admin=False) == ""
    assert "<" not in unknown_text(texts, "<scoped_memory>", admin=False)
    for word in ("更正", "編輯", "importt", "清理", "决定定"):
        said = re.split("[：、。]", unknown_text(texts, word, admin=False))
        assert {"改写", "导入", "整理", "决定"}.isdisjoint(said)
    assert "改写" in unknown_text(texts, "更正", admin=True)
