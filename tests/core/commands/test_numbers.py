"""Memories named by the number of a list, by words, by ids in brackets."""

from __future__ import annotations

from typing import Any, cast

import pytest

from astrbot_plugin_scoped_memory.core.commands.commands import Commands
from astrbot_plugin_scoped_memory.core.commands.item_numbers import item_numbers
from astrbot_plugin_scoped_memory.core.latest import Latest
from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES, Texts
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person
from astrbot_plugin_scoped_memory.tests.support.plugin import FakeEvent, FakePlugin

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

XIAOWEN = {"sender": "2", "name": "小雯"}


class Chat:
    """One load of the plugin: what a list has shown is known to the next command."""

    def __init__(self, rig: Rig, language: str = "zh-CN") -> None:
        self._commands = Commands(cast("Any", FakePlugin(rig, language)))

    async def say(self, words: str, number: int = 777, **more: Any) -> str:
        event = FakeEvent.in_group(number, f"memory {words}", **more)
        command = getattr(self._commands, words.split()[0])
        return await self._commands.answer(cast("Any", event), command)


async def _three(rig: Rig) -> None:
    for text in ("芒果在冰箱", "钥匙在花盆下面", "奶奶对花生过敏"):
        await rig.remember(text, group(777))


async def test_numbers_stay_until_the_next_list(rig: Rig) -> None:
    await _three(rig)
    chat = Chat(rig)
    await chat.say("list")
    assert "已忘记" in await chat.say("forget 1", admin=True)
    again = await chat.say("forget 1", admin=True)
    assert "已经忘记了" in again
    assert "恢复" in await chat.say("edit 1 别的话", admin=True)
    assert "已恢复" in await chat.say("undo 1", admin=True)


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        *((form, (1,)) for form in ("1", "１", "#1", "＃1", "1.", "(1)", "①", "1条", "第1条")),
        *((form, (1,)) for form in ("第 1 条", "第一条", "第一", "no. 1")),
        *((form, (1, 2)) for form in ("1 2", "1,2", "1，2", "1、2", "1和2", "1 和 2", "1 and 2")),
        *((form, (1, 2)) for form in ("1-2", "1 - 2", "１－２", "2-1", "1~2", "1到2", "1。2")),
        *((form, (1, 2)) for form in ("#1 #2", "第1条、第2条", "第一、二条", "1 2 1")),
        *((form, (12,)) for form in ("12", "第十二条", "第12条")),
        ("第101条", (101,)),
        ("1 3-5", (1, 3, 4, 5)),
        *((form, None) for form in ("101", "2026", "2026 11", "2026-11-21", "1.5", "1-2-3")),
        *((form, None) for form in ("一", "十", "芒果", "1 芒果", "2号楼", "2 号楼", "", "第")),
    ],
)
def test_numbers_are_read_as_people_write_them(words: str, numbers: tuple[int, ...] | None) -> None:
    assert item_numbers(words, range(1, 11)) == numbers


def test_a_long_number_is_one_of_the_list_only_where_the_list_has_it() -> None:
    assert item_numbers("101", range(101, 111)) == (101,)


TRAPS = ("2026年1月2日体检", "12号楼的门禁是1和2一起按", "1、2单元1-2层，1,2，#1")


async def _left(rig: Rig) -> set[str]:
    return {
        one.memory.judgment for one in await rig.engine.service.newest(conversation_id=group(777))
    }


@pytest.mark.parametrize(
    ("form", "most"),
    [
        *(("1 2", 2), ("1,2", 2), ("1、2", 2), ("1和2", 2), ("1-2", 2), ("#1 #2", 2)),
        *(("第一条和第二条", 2), ("1", 1), ("第1条", 1)),
    ],
)
async def test_several_numbers_are_several_memories_and_no_others(
    rig: Rig, form: str, most: int
) -> None:
    for text in TRAPS:
        await rig.remember(text, group(777))
    await _three(rig)
    chat = Chat(rig)
    before, listed = await _left(rig), (await chat.say("list")).split("\n")
    meant = {text for text in before if any(text in line for line in listed[1 : 1 + most])}
    said = await chat.say(f"forget {form}", admin=True)
    assert before - await _left(rig) == meant
    assert all(text in said for text in meant)
    assert "已恢复" in await chat.say("undo 1", admin=True)
    await chat.say(f"forget {form} 彻底", admin=True)
    assert before - await _left(rig) == meant


@pytest.mark.parametrize(
    "form", ["1 2", "1", "12", "1,2", "1、2", "1和2", "1-2", "#1", "第一条", "-1"]
)
async def test_numbers_and_single_characters_are_never_looked_for(rig: Rig, form: str) -> None:
    await rig.remember(TRAPS[0], group(777))
    chat = Chat(rig)
    for words in (form, f"{form} 彻底", "检", f"{form} 体检", "我 体检"):
        said = await chat.say(f"forget {words}", admin=True)
        assert "已忘记" not in said
        assert await _left(rig) == {TRAPS[0]}
    await chat.say("list")
    for words in ("2", "1 2", "1、99", "1-30", "第二条"):
        await chat.say(f"forget {words}", admin=True)
        assert await _left(rig) == {TRAPS[0]}


async def test_a_longer_number_is_a_whole_word(rig: Rig) -> None:
    await rig.remember("快递单号是120263", group(777))
    await rig.remember("2026年换电梯", group(777))
    assert "已忘记：2026年换电梯" in await Chat(rig).say("forget 2026", admin=True)
    assert await _left(rig) == {"快递单号是120263"}


@pytest.mark.parametrize("language", LANGUAGES)
async def test_what_takes_one_memory_takes_no_several(rig: Rig, language: str) -> None:
    await _three(rig)
    await rig.remember("合同在第三个柜子", group(888))
    chat, before = Chat(rig, language), await _left(rig)
    await chat.say("list")
    one = Texts(language).say("pointed.one_at_a_time")
    for form in ("1 2", "1,2", "1、2", "1 和 2", "1-2", "第一条、第二条"):
        assert await chat.say(f"edit {form} 奶奶对核桃过敏", admin=True) == one
        assert await chat.say(f"move {form} 公司", admin=True) == one
        assert await chat.say(f"undo {form}", admin=True) == one
        assert await chat.say(f"why {form}", admin=True) == one
    assert await _left(rig) == before
    assert await chat.say("edit 1 2026年的芒果在冰箱", admin=True) != one
    assert "2026年的芒果在冰箱" in await _left(rig)


async def test_ids_are_several_too_and_a_number_beside_one_is_not_dropped(rig: Rig) -> None:
    await _three(rig)
    chat = Chat(rig)
    await chat.say("list")
    known = await rig.engine.service.newest(conversation_id=group(777))
    ids = [one.memory.memory_id for one in known]
    await chat.say(f"forget 1 {ids[1]}", admin=True)
    assert await _left(rig) == {known[2].memory.judgment}
    await chat.say(f"undo {ids[0]}", admin=True)
    await chat.say(f"forget {ids[0]}、{ids[2]}", admin=True)
    assert await _left(rig) == set()


async def test_a_number_is_of_the_person_who_asked_for_the_list(rig: Rig) -> None:
    await _three(rig)
    chat = Chat(rig)
    await chat.say("list")
    assert "先发" in await chat.say("forget 1", admin=True, **XIAOWEN)
    hers = await chat.say("search 花生", **XIAOWEN)
    assert "奶奶" in hers
    said = await chat.say("forget 1", admin=True)
    assert "奶奶" in said  # the newest of his own list is that one as well
    await chat.say("list 芒果", **XIAOWEN)
    assert "钥匙" in await chat.say("forget 2", admin=True)
    assert await _left(rig) == {"芒果在冰箱"}


async def test_a_number_is_of_its_own_conversation(rig: Rig) -> None:
    await _three(rig)
    await rig.remember("合同在第三个柜子", group(888))
    chat = Chat(rig)
    await chat.say("list")
    elsewhere = await chat.say("forget 1", 888, admin=True)
    assert "先发" in elsewhere
    await chat.say("list", 888)
    assert "已忘记：合同" in await chat.say("forget 1", 888, admin=True)
    assert "没有 7" in await chat.say("forget 7", admin=True)


async def test_a_search_numbers_what_it_finds_too(rig: Rig) -> None:
    await _three(rig)
    chat = Chat(rig)
    found = await chat.say("search 花生")
    assert found.startswith("找到 2 条\n1. ")
    assert "已改写为：奶奶对核桃过敏" in await chat.say("edit 1 奶奶对核桃过敏", admin=True)
    assert "移到“公司”" in await chat.say("move 1 公司", admin=True)
    assert "已移回" in await chat.say("undo 1", admin=True)


async def test_words_that_one_memory_holds_name_it(rig: Rig) -> None:
    await _three(rig)
    chat = Chat(rig)
    assert "已忘记：芒果在冰箱" in await chat.say("forget 芒果", admin=True)
    assert "芒果" not in await chat.say("list")


@pytest.mark.parametrize("language", LANGUAGES)
async def test_words_that_several_hold_are_listed_and_nothing_is_forgotten(
    rig: Rig, language: str
) -> None:
    await _three(rig)
    await rig.remember("芒果是小雯买的", group(777))
    chat = Chat(rig, language)
    said = await chat.say("forget 芒果", admin=True)
    assert said.count("芒果") >= 3
    assert "1. " in said
    assert "2. " in said
    assert len(await rig.texts("芒果", group(777))) == 2
    await chat.say("forget 2", admin=True)
    assert len(await rig.texts("芒果", group(777))) == 1


async def test_nothing_is_lost_for_good_by_words_alone(rig: Rig) -> None:
    await _three(rig)
    chat = Chat(rig)
    assert "忘记 1 彻底" in await chat.say("forget 芒果 彻底", admin=True)
    assert await rig.texts("芒果在哪", group(777))
    assert "彻底删除" in await chat.say("forget 1 彻底", admin=True)
    assert await rig.texts("芒果在哪", group(777)) == []


async def test_words_that_none_holds_show_what_means_the_like(rig: Rig) -> None:
    await _three(rig)
    chat = Chat(rig)
    alike = await chat.say("forget 奶奶能不能吃花生", admin=True)
    assert "1. " in alike
    assert await rig.texts("奶奶能吃花生吗", group(777))
    assert "没有像" in await chat.say("forget 火星移民计划", admin=True)


async def test_who_may_not_forget_it_is_told_whose_words_they_are(rig: Rig) -> None:
    await rig.remember("芒果在冰箱", group(777), person(2, "小雯"))
    await rig.remember("大家的事写在白板上", group(999))
    chat = Chat(rig)
    assert "小雯" in await chat.say("forget 芒果")
    assert "public" in await chat.say("forget 白板", admin=True)
    assert "已忘记" in await chat.say("forget 芒果", **XIAOWEN)


async def test_the_list_of_a_name_shows_no_other_scope(rig: Rig) -> None:
    await rig.remember("小雯的体检报告在抽屉", group(888))
    chat = Chat(rig)
    for words in ("list 小雯", "forget 体检报告", "list 我", "why 1"):
        assert "报告在抽屉" not in await chat.say(words, admin=True)


async def test_the_numbers_of_old_conversations_go_first() -> None:
    shown = Latest[str, int](500)
    for number in range(501):
        shown.note(str(number), number)
    shown.note("1", -1)
    shown.note("501", 501)
    assert not shown.keys() & {"0", "2"}
    assert len(shown) == 500
    assert shown["1"] == -1
