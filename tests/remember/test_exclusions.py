"""What is never learned in a scope: of whom, by whose word, and what still is remembered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory import Turn
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.exclusion_list import (
    Exclusion,
    exclusions_of,
    sentences_without,
    with_exclusions,
    without_list,
)
from astrbot_plugin_scoped_memory.tests.support.engines import group, person
from astrbot_plugin_scoped_memory.tests.support.plugin import Desk
from astrbot_plugin_scoped_memory.tests.support.reflecting import Bot, answer, learned, reflect

pytestmark = [pytest.mark.engine, pytest.mark.astrbot]

HOME, WORK = group(777), group(888)
MING, HONG = person(1, "小明"), person(2, "小红")
MEMBER: dict[str, Any] = {"sender": "1", "name": "小明", "admin": False}
WEIGHT = Exclusion("体重")
WAGES = Exclusion("wages", "aiocqhttp:1", "小明")
LINE = "+ wages <!-- aiocqhttp:1 小明 -->"
PAGE = "# 我的话\n\n院子归奶奶\n<!-- scoped-memory:begin x -->\n- 一\n<!-- scoped-memory:end -->\n"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("text", ["", "\ufeff# 我的话\n", PAGE, f"{PAGE}\n## 以后\n\n再说\n"])
def test_a_list_is_written_beside_whatever_stands_there(text: str, newline: str) -> None:
    text = text.replace("\n", newline)
    one = with_exclusions(text, [WEIGHT], english=False)
    two = with_exclusions(one, [WEIGHT, WAGES], english=False)
    newline = newline if text else "\n"
    assert (exclusions_of(one), exclusions_of(two)) == ((WEIGHT,), (WEIGHT, WAGES))
    assert two.startswith(text)
    assert newline == "\n" or "\n" not in two.replace("\r\n", "")
    assert exclusions_of(with_exclusions(two, [WAGES], english=False)) == (WAGES,)
    assert not exclusions_of(with_exclusions(two, [], english=False))
    hidden = without_list(two)
    assert "体重" not in hidden
    assert hidden.split("\n")[: text.count("\n")] == text.split("\n")[:-1]


def test_a_list_by_hand_is_read_and_its_other_lines_stay() -> None:
    text = f"## Never learn\n\nFor the kids:\n* 體重\n{LINE}\n\n# More\n- 体检\n"
    assert exclusions_of(text) == (Exclusion("體重"), WAGES)
    left = with_exclusions(text, [WAGES], english=True)
    assert (left, exclusions_of(left)) == (text.replace("* 體重\n", ""), (WAGES,))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("今天62公斤。體重又涨了！搬到B栋了", "今天62公斤。搬到B栋了"),
        ("My wages rose. The bike is green.", "My wages rose. The bike is green."),
        ("体 重", "体 重"),
        ("体重", ""),
    ],
)
def test_the_sentences_that_hold_the_words_are_left_out(text: str, left: str) -> None:
    assert sentences_without(text, [WEIGHT]) == left


async def waits(bot: Bot, text: str, who: Any = MING, where: Any = HOME) -> None:
    await bot.engine.service.observe(Turn(who, text, "好的"), conversation_id=where)
    await bot.engine.reflection.follow()


async def found(bot: Bot, where: Any = HOME) -> set[str]:
    return set(await bot.texts("体重 工资 搬家 奶奶", where, 20))


async def test_it_binds_the_reader_and_what_waits_and_no_explicit_wish(timed_bot: Bot) -> None:
    bot, desk = timed_bot, Desk(timed_bot)
    await waits(bot, "我的体重是六十二公斤")
    await waits(bot, "我要搬家到B栋", HONG)
    assert len(await found(bot)) == 2
    await desk("never 体重")
    assert await found(bot) == {"小红要搬家到B栋"}
    await waits(bot, "小红的体重是五十公斤。奶奶住在B栋", HONG)
    bot.chat.add(answer(learned("小明体重62公斤", who="s1"), learned("奶奶住在B栋", who="s2")))
    await reflect(bot)
    assert "公斤" not in bot.chat.calls[-1].prompt
    assert await found(bot) == {"奶奶住在B栋"}
    await desk("add 小明的体重是62公斤")
    await waits(bot, "公司体重秤坏了两天", MING, WORK)
    assert await found(bot) >= {"奶奶住在B栋", "小明的体重是62公斤"}
    assert await found(bot, WORK) == {"公司体重秤坏了两天"}


async def test_a_member_speaks_for_himself_and_an_admin_for_all(timed_bot: Bot) -> None:
    bot, desk = timed_bot, Desk(timed_bot)
    for text, who in (("我的工资是九千元", MING), ("我的工资是八千元", HONG)):
        await waits(bot, text, who)
    await desk("never 工资、体重", **MEMBER)
    assert await found(bot) == {"小红的工资是八千元"}
    told = await desk("never", **MEMBER)
    assert (told.count("小明"), "体重" in told) == (2, True)
    await desk("never 工资")
    assert await found(bot) == set()
    assert await desk("never 取消 工资", **MEMBER) == desk.say("never.again", words=("工资",))
    assert await found(bot) == set(), "the admin's line stays"
    assert await desk("never 取消 工资", **MEMBER) == desk.say("never.not_there", words=("工资",))
    await desk("never off 工资")
    await desk("never off 体重")
    assert await desk("never") == desk.say("never.none")
    assert await found(bot) == {"小明的工资是九千元", "小红的工资是八千元"}


async def test_a_persons_edit_of_the_list_is_followed(timed_bot: Bot, tmp_path: Path) -> None:
    bot = timed_bot
    await waits(bot, "我的体重是六十二公斤")
    page = next(tmp_path.rglob("家人")) / "MEMORY.md"
    page.write_text("## 从不记\n- 体重\n", "utf-8")
    await bot.engine.reconcile()
    assert await found(bot) == set()
    page.unlink()
    await bot.engine.reconcile()
    assert await found(bot) == {"小明的体重是六十二公斤"}
