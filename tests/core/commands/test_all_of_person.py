"""What one person said is forgotten as a whole, after a yes, and brought back by one undo."""

from __future__ import annotations

from typing import Any

import pytest

from astrbot_plugin_scoped_memory.core.commands.correct_commands import all_of
from astrbot_plugin_scoped_memory.llm_memory import Turn
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person
from astrbot_plugin_scoped_memory.tests.support.plugin import Desk

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

MING: dict[str, Any] = {"sender": "1", "name": "小明", "admin": False}
HOME, ROOM = group(777), group(999)
WAITS = "小明最近去体检"
MINE = ("奶奶对花生过敏", "钥匙在花盆下面", "存折在琴凳里")


@pytest.mark.parametrize(
    ("words", "whose"),
    [
        *(
            (form, "")
            for form in ("全部", "所有", "一切", "所有的记忆", "all", "Everything", "ALL")
        ),
        *(
            (form, "我")
            for form in ("我的全部", "我的所有", "我说过的全部", "我所有的话", "全部我的")
        ),
        *((form, "我") for form in ("所有我说的", "我的 全部 记忆")),
        *((form, "mine") for form in ("all mine", "mine all", "everything of mine")),
        ("all my memories", "my"),
        *((form, "老王") for form in ("老王 全部", "老王的全部", "老王说的所有话", "全部 老王")),
        *((form, "Bob") for form in ("Bob all", "all of Bob", "everything Bob said")),
        *((form, None) for form in ("芒果", "作业全部写完了", "allergic", "falling", "total")),
        ("全" * 3000, None),
    ],
)
def test_whose_words_are_all_meant(words: str, whose: str | None) -> None:
    assert all_of(words) == whose


async def said(rig: Rig) -> None:
    """Three of one person, in two scopes, and one of another; one turn waits to be read."""
    for text, where in zip(MINE, (HOME, HOME, ROOM), strict=True):
        await rig.remember(text, where, person(1))
    await rig.remember("作业全部写完了", HOME, person(2, "小红"))
    turn = Turn(person(1), WAITS, "好的")
    await rig.engine.service.observe(turn, conversation_id=HOME)
    await rig.engine.reflection.follow()


async def waiting(rig: Rig) -> list[str]:
    """What is not read yet, as it would be recalled."""
    found = (await rig.recall("体检", HOME)).hits
    return [one.preview for one in found if "体检" in one.preview]


async def left(rig: Rig) -> set[str]:
    found = await rig.engine.service.newest(conversation_id=HOME)
    return {one.memory.judgment for one in found}


async def test_a_bare_word_for_all_forgets_nothing(rig: Rig) -> None:
    await said(rig)
    for language, words in (("zh-CN", ("全部", "所有的记忆")), ("en-US", ("all", "everything"))):
        desk = Desk(rig, language)
        for one in words:
            assert await desk(f"forget {one}") == desk.say("forget.of_whom")
    assert await left(rig) == {*MINE, "作业全部写完了"}


@pytest.mark.parametrize("for_good", [False, True])
async def test_all_of_mine_is_forgotten_after_a_yes_and_comes_back_at_once(
    rig: Rig, for_good: bool
) -> None:
    await said(rig)
    desk, word = Desk(rig, **MING), " 彻底" if for_good else ""
    asked = await desk(f"forget 我的全部{word}")
    assert desk.say("forget.ask", who="你", count=3) in asked  # as the list shows
    assert desk.say("forget.ask_unread", count=1) in asked
    assert await left(rig) == {*MINE, "作业全部写完了"}
    assert "3" in await desk("yes")
    assert await left(rig) == {"作业全部写完了"}
    assert await waiting(rig) == []
    await rig.night()
    undone = await desk("undo")
    if for_good:
        assert await left(rig) == {"作业全部写完了"}
        assert (await waiting(rig), undone) == ([], desk.say("undo.nothing"))
    else:
        assert await left(rig) == {*MINE, "作业全部写完了"}
        assert "3" in undone
        assert await waiting(rig) == [WAITS]
    assert await desk("undo") == desk.say("undo.nothing")


@pytest.mark.parametrize("named", [False, True])
async def test_a_turn_that_is_not_read_yet_comes_back_as_well(rig: Rig, named: bool) -> None:
    turn = Turn(person(1), WAITS, "好的")
    await rig.engine.service.observe(turn, conversation_id=HOME)
    await rig.engine.reflection.follow()
    desk = Desk(rig, **MING)
    (hit,) = (await rig.recall("体检", HOME)).hits
    if named:
        await desk(f"forget {hit.memory_id}")
    else:
        assert desk.say("forget.ask_unread", count=1) in await desk("forget 我的全部")
        await desk("yes")
    assert await waiting(rig) == []
    undone = await desk(f"undo {hit.memory_id}" if named else "undo")
    assert undone == desk.say("undo.done", text=hit.preview)
    assert await waiting(rig) == [WAITS]


async def test_an_admin_forgets_all_of_another_and_says_which_of_two(rig: Rig) -> None:
    await said(rig)
    await rig.remember("套餐免费", HOME, person(3, "小红"))
    member, desk = Desk(rig, **MING), Desk(rig)
    assert await member("forget 小红 全部") == member.say("outcome.admins_only")
    asked = await desk("forget 小红 全部")
    assert [account in asked for account in ("aiocqhttp:2", "aiocqhttp:3")] == [True, True]
    assert await desk("yes") == desk.say("asked.nothing")
    await desk("forget aiocqhttp:3 全部")
    await desk("yes")
    assert await left(rig) == {*MINE, "作业全部写完了"}
    # From a group an admin forgets what others said of its own scope alone.
    await desk("forget 小明 全部")
    assert desk.say("forget.all_left", count=1) in await desk("yes")
    assert await left(rig) == {MINE[2], "作业全部写完了"}
    await desk("undo")
    assert await left(rig) == {*MINE, "作业全部写完了"}


async def test_several_numbers_are_one_deed_with_one_undo(rig: Rig) -> None:
    await said(rig)
    desk = Desk(rig)
    await desk("list")
    shown = (await desk("forget 1-3")).split("\n")
    assert shown.count(desk.say("forget.back")) == 1
    assert await left(rig) == {MINE[2]}
    await desk("undo")
    assert await left(rig) == {*MINE, "作业全部写完了"}


async def test_words_are_looked_for_in_what_one_may_forget(rig: Rig) -> None:
    await said(rig)
    for text, by in (("钥匙丢了", 1), ("钥匙换了", 2), ("存折在小红那里", 2)):
        await rig.remember(text, HOME, person(by, "小明" if by == 1 else "小红"))
    desk, everything = Desk(rig, **MING), await left(rig)
    shown = await desk("forget 钥匙")
    assert desk.say("forget.like", words="钥匙", count=2) in shown
    assert "换了" not in shown
    assert await desk("forget 作业") == desk.say("forget.not_allowed", who="小红")
    assert await left(rig) == everything
    await desk("forget 存折")
    assert await left(rig) == everything - {MINE[2]}
