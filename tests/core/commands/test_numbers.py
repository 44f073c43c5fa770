"""Memories named by the number of a list, by words, by ids in brackets."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from astrbot_plugin_scoped_memory.core.commands.commands import Commands
from astrbot_plugin_scoped_memory.core.commands.last_shown import LastShown
from astrbot_plugin_scoped_memory.core.texts import LANGUAGES
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running
from astrbot_plugin_scoped_memory.tests.support.plugin import FakeEvent, FakePlugin

pytestmark = pytest.mark.unit

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


async def test_a_number_names_what_the_last_list_showed(tmp_path: Path) -> None:
    async with running(tmp_path, follow=False) as rig:
        await _three(rig)
        chat = Chat(rig)
        listed = (await chat.say("list")).split("\n")
        second = next(line for line in listed if line.startswith("2. "))
        said = await chat.say("forget 2", admin=True)
        assert said.partition("：")[2].partition("。")[0] in second
        left = await chat.say("list")
        assert len(left.split("\n")) == len(listed) - 1
        assert "已忘记" in await chat.say("forget 第1条", admin=True)


async def test_numbers_stay_until_the_next_list(tmp_path: Path) -> None:
    async with running(tmp_path, follow=False) as rig:
        await _three(rig)
        chat = Chat(rig)
        await chat.say("list")
        assert "已忘记" in await chat.say("forget 1", admin=True)
        again = await chat.say("forget 1", admin=True)
        assert "已经忘记了" in again
        assert "恢复" in await chat.say("edit 1 别的话", admin=True)
        assert "已恢复" in await chat.say("undo 1", admin=True)


async def test_a_number_is_of_its_own_conversation(tmp_path: Path) -> None:
    async with running(tmp_path, follow=False) as rig:
        await _three(rig)
        await rig.remember("合同在第三个柜子", group(888))
        chat = Chat(rig)
        await chat.say("list")
        elsewhere = await chat.say("forget 1", 888, admin=True)
        assert "先发" in elsewhere
        await chat.say("list", 888)
        assert "已忘记：合同" in await chat.say("forget 1", 888, admin=True)
        assert "没有 7" in await chat.say("forget 7", admin=True)


async def test_a_search_numbers_what_it_finds_too(tmp_path: Path) -> None:
    async with running(tmp_path, follow=False) as rig:
        await _three(rig)
        chat = Chat(rig)
        found = await chat.say("search 花生")
        assert found.startswith("1. ")
        assert "已改写为：奶奶对核桃过敏" in await chat.say("edit 1 奶奶对核桃过敏", admin=True)
        assert "移到“公司”" in await chat.say("move 1 公司", admin=True)
        assert "已移回" in await chat.say("undo 1", admin=True)


async def test_words_that_one_memory_holds_name_it(tmp_path: Path) -> None:
    async with running(tmp_path, follow=False) as rig:
        await _three(rig)
        chat = Chat(rig)
        assert "已忘记：芒果在冰箱" in await chat.say("forget 芒果", admin=True)
        assert "芒果" not in await chat.say("list")


@pytest.mark.parametrize("language", LANGUAGES)
async def test_words_that_several_hold_are_listed_and_nothing_is_forgotten(
    tmp_path: Path, language: str
) -> None:
    async with running(tmp_path, follow=False) as rig:
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


async def test_nothing_is_lost_for_good_by_words_alone(tmp_path: Path) -> None:
    async with running(tmp_path, follow=False) as rig:
        await _three(rig)
        chat = Chat(rig)
        assert "忘记 1 彻底" in await chat.say("forget 芒果 彻底", admin=True)
        assert await rig.texts("芒果在哪", group(777))
        assert "彻底删除" in await chat.say("forget 1 彻底", admin=True)
        assert await rig.texts("芒果在哪", group(777)) == []


async def test_words_that_none_holds_show_what_means_the_like(tmp_path: Path) -> None:
    async with running(tmp_path, follow=False) as rig:
        await _three(rig)
        chat = Chat(rig)
        alike = await chat.say("forget 奶奶能不能吃花生", admin=True)
        assert "1. " in alike
        assert await rig.texts("奶奶能吃花生吗", group(777))
        assert "没有像" in await chat.say("forget 火星移民计划", admin=True)


async def test_one_character_names_nothing_by_itself(tmp_path: Path) -> None:
    async with running(tmp_path, follow=False) as rig:
        await _three(rig)
        said = await Chat(rig).say("forget 芒", admin=True)
        assert "1. " in said
        assert await rig.texts("芒果在哪", group(777))


async def test_who_may_not_forget_it_is_told_whose_words_they_are(tmp_path: Path) -> None:
    async with running(tmp_path, follow=False) as rig:
        await rig.remember("芒果在冰箱", group(777), person(2, "小雯"))
        await rig.remember("大家的事写在白板上", group(999))
        chat = Chat(rig)
        assert "小雯" in await chat.say("forget 芒果")
        assert "public" in await chat.say("forget 白板", admin=True)
        assert "已忘记" in await chat.say("forget 芒果", **XIAOWEN)


async def test_a_list_has_pages_and_is_of_a_person(tmp_path: Path) -> None:
    async with running(tmp_path, follow=False) as rig:
        for number in range(23):
            await rig.remember(f"第{number}个抽屉放着螺丝", group(777))
        await rig.remember("蓝伞在门后", group(777), person(2, "小雯"))
        await rig.remember("给小雯留了钥匙", group(777))
        chat = Chat(rig)
        first, last = await chat.say("list"), await chat.say("list 3")
        assert "10. " in first
        assert "列表 2" in first
        assert "21. " in last
        assert "下一页" not in last
        assert "已忘记" in await chat.say("forget 25", admin=True)
        assert "没有第 9 页" in await chat.say("list 9")
        of_her = await chat.say("list 小雯")
        assert ("蓝伞" in of_her, "留了钥匙" in of_her, "螺丝" in of_her) == (True, True, False)
        mine = await chat.say("list 我", **XIAOWEN)
        assert ("蓝伞" in mine, "螺丝" in mine) == (True, False)
        assert "没有“老周”" in await chat.say("list 老周")


async def test_the_list_of_a_name_shows_no_other_scope(tmp_path: Path) -> None:
    async with running(tmp_path, follow=False) as rig:
        await rig.remember("小雯的体检报告在抽屉", group(888))
        chat = Chat(rig)
        for words in ("list 小雯", "forget 体检报告", "list 我", "why 1"):
            assert "报告在抽屉" not in await chat.say(words, admin=True)


@pytest.mark.parametrize("language", LANGUAGES)
async def test_why_says_in_words_what_was_attached_and_what_came_close(
    tmp_path: Path, language: str
) -> None:
    async with running(tmp_path, follow=False) as rig:
        await _three(rig)
        await rig.remember("奶奶喜欢在阳台上晒太阳看报纸听广播", group(777))
        chat = Chat(rig, language)
        await rig.recall("奶奶能吃花生吗", group(777))
        plain = await chat.say("why")
        assert "1. " in plain
        assert "奶奶对花生过敏" in plain
        assert "0." not in plain.replace("10.", "")
        assert "token" not in plain
        detail = await chat.say("why 详细")
        assert "token" in detail
        of_one = await chat.say("why 1")
        assert "奶奶对花生过敏" in of_one
        assert "奶奶能吃花生吗" in of_one


async def test_the_numbers_of_old_conversations_go_first() -> None:
    shown = LastShown()
    for number in range(501):
        shown.note(group(number), ["m-1"])
    assert shown.numbers(group(0)) == {}
    assert shown.numbers(group(1)) == {1: "m-1"}


@pytest.mark.parametrize("language", LANGUAGES)
async def test_help_is_short_for_a_member_and_longer_for_an_admin(
    tmp_path: Path, language: str
) -> None:
    async with running(tmp_path, follow=False) as rig:
        chat = Chat(rig, language)
        member, admin = await chat.say("help"), await chat.say("help", admin=True)
        assert len(member.split("\n")) <= 8
        assert admin.startswith(member)
        assert len(admin) > len(member)
