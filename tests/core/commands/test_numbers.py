"""Memories named by the number of a list, by words, by ids in brackets."""

from __future__ import annotations

import pytest

from astrbot_plugin_scoped_memory.core.commands.memory_reference import item_numbers
from astrbot_plugin_scoped_memory.core.latest import Latest
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group
from astrbot_plugin_scoped_memory.tests.support.plugin import Desk

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

XIAOWEN = {"sender": "2", "name": "小雯"}
THREE = ("芒果在冰箱", "钥匙在花盆下面", "奶奶对花生过敏")
TRAPS = ("2026年1月2日体检", "12号楼的门禁是1和2一起按", "1、2单元1-2层，1,2，#1")


async def told(rig: Rig, *texts: str, number: int = 777) -> None:
    for text in texts:
        await rig.remember(text, group(number))


async def left(rig: Rig, number: int = 777) -> set[str]:
    """What is not forgotten."""
    newest = await rig.engine.service.newest(conversation_id=group(number))
    return {one.memory.judgment for one in newest}


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


async def test_several_numbers_are_several_memories_and_no_others(rig: Rig) -> None:
    await told(rig, *TRAPS, *THREE)
    desk, before = Desk(rig), await left(rig)
    listed = (await desk("list")).split("\n")[1:]
    for form, most in (
        *(("1 2", 2), ("1,2", 2), ("1、2", 2), ("1和2", 2), ("1-2", 2), ("#1 #2", 2)),
        *(("第一条和第二条", 2), ("1", 1), ("第1条", 1)),
    ):
        meant = {text for text in before if any(text in line for line in listed[:most])}
        said = await desk(f"forget {form}")
        assert before - await left(rig) == meant, form
        assert all(text in said for text in meant)
        for number in range(most):  # the numbers stay until the next list
            await desk(f"undo {number + 1}")
        assert await left(rig) == before
    await desk("forget 1、2 PURGE")
    await desk("undo 1")
    assert len(before - await left(rig)) == 2


async def test_numbers_and_single_characters_are_never_looked_for(rig: Rig) -> None:
    await told(rig, TRAPS[0])
    for form in ("1 2", "1", "12", "1,2", "1、2", "1和2", "1-2", "#1", "第一条", "-1"):
        for words in (form, f"{form} 彻底", "检", f"{form} 体检", "我 体检"):
            await Desk(rig)(f"forget {words}")
            assert await left(rig) == {TRAPS[0]}, words
    desk = Desk(rig)
    await desk("list")
    for words in ("2", "1 2", "1、99", "1-30", "第二条"):
        await desk(f"forget {words}")
        assert await left(rig) == {TRAPS[0]}, words


async def test_a_longer_number_is_a_whole_word(rig: Rig) -> None:
    await told(rig, "快递单号是120263", "2026年换电梯")
    await Desk(rig)("forget 2026")
    assert await left(rig) == {"快递单号是120263"}


async def test_what_takes_one_memory_takes_no_several(rig: Rig) -> None:
    await told(rig, *THREE)
    await told(rig, "合同在第三个柜子", number=888)
    desk, before = Desk(rig), await left(rig)
    await desk("list")
    one = desk.say("pointed.one_at_a_time")
    for form in ("1 2", "1,2", "1、2", "1 和 2", "1-2", "第一条、第二条"):
        for words in (f"edit {form} 奶奶对核桃过敏", f"move {form} 公司", f"undo {form}"):
            assert await desk(words) == one
    assert await left(rig) == before
    await desk("edit 1 2026年的芒果在冰箱")
    assert "2026年的芒果在冰箱" in await left(rig)


async def test_ids_are_several_too_and_a_number_beside_one_is_not_dropped(rig: Rig) -> None:
    await told(rig, *THREE)
    desk = Desk(rig)
    await desk("list")
    known = await rig.engine.service.newest(conversation_id=group(777))
    ids = [one.memory.memory_id for one in known]
    await desk(f"forget 1 {ids[1]}")
    assert await left(rig) == {known[2].memory.judgment}
    await desk(f"undo {ids[0]}")
    await desk(f"forget {ids[0]}、{ids[2]}")
    assert await left(rig) == set()


async def test_a_number_is_of_who_asked_for_the_list_and_of_where(rig: Rig) -> None:
    await told(rig, *THREE)
    await told(rig, "合同在第三个柜子", number=888)
    desk = Desk(rig)
    await desk("list")
    for other in ({"number": 888}, XIAOWEN):
        await desk("forget 1", **other)
    assert (len(await left(rig)), len(await left(rig, 888))) == (3, 1)
    await desk("search 芒果", **XIAOWEN)  # hers begins with another one
    await desk("forget 1")
    assert await left(rig) == {*THREE[:2]}
    await desk("list", 888)
    await desk("forget 1", 888)
    assert (len(await left(rig)), await left(rig, 888)) == (2, set())


async def test_a_search_numbers_what_it_finds_too(rig: Rig) -> None:
    await told(rig, *THREE)
    desk = Desk(rig)
    await desk("search 花生")
    await desk("edit 1 奶奶对核桃过敏")
    assert "奶奶对核桃过敏" in await left(rig)
    await desk("move 1 公司")
    assert await left(rig, 888) == {"奶奶对核桃过敏"}
    await desk("undo 1")
    assert "奶奶对核桃过敏" in await left(rig)


async def test_words_name_a_memory_if_one_holds_them_and_nothing_is_lost_for_good_by_words(
    rig: Rig,
) -> None:
    await told(rig, *THREE, "芒果是小雯买的")
    desk, before = Desk(rig), await left(rig)
    for words in ("芒果", "芒果 彻底", "钥匙 彻底", "奶奶能不能吃花生", "火星移民计划"):
        await desk(f"forget {words}")
        assert await left(rig) == before, words
    await desk("forget 钥匙")
    assert before - await left(rig) == {"钥匙在花盆下面"}
    await desk("forget 芒果")
    await desk("forget 2")  # of the two that were listed
    assert len([text for text in await left(rig) if "芒果" in text]) == 1


async def test_the_numbers_of_old_conversations_go_first() -> None:
    shown = Latest[str, int](500)
    for number in range(501):
        shown.note(str(number), number)
    shown.note("1", -1)
    shown.note("501", 501)
    assert not shown.keys() & {"0", "2"}
    assert len(shown) == 500
    assert shown["1"] == -1
