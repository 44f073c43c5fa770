"""A bot to which people write in traditional Chinese answers as one in simplified, and each finds
what was written in the other script."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import MemoryKind
from astrbot_plugin_scoped_memory.llm_memory.text.scripts import fold
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person
from astrbot_plugin_scoped_memory.tests.support.reflecting import (
    Bot,
    StandingClock,
    answer,
    learned,
    reading,
    reflect,
    say,
    texts_of,
)
from astrbot_plugin_scoped_memory.tests.support.words import traditional

pytestmark = [pytest.mark.engine, pytest.mark.astrbot]

FAMILY, MING, ADMIN = group(777), person(1, "小明"), person(9, "老李", admin=True)
EARLIER = [
    ("我喜欢红茶", MemoryKind.EMOTIONAL),
    ("去了图书馆", MemoryKind.EVENT),
    ("交物业费", MemoryKind.TASK),
    ("大伟搬到龙华去了", MemoryKind.KNOWLEDGE),
    ("上周去体检了", MemoryKind.EVENT),
    ("家里养了只猫", MemoryKind.KNOWLEDGE),
    ("我对机器学习很感兴趣", MemoryKind.EMOTIONAL),
    ("我们决定团建去绍兴", MemoryKind.EVENT),
]
QUESTIONS = [
    "今天我们聊了什么",
    "上周我们做了什么",
    "我有什么偏好",
    "还有哪些待办",
    "做了什么决定",
    "你知道我什么",
    "介绍一下大伟",
    "最近发生了什么",
    "大伟现在住哪",
    "家里养了什么",
    "我对什么感兴趣",
    "图书馆",
]


async def told(rig: Rig, spelled: Callable[[str], str], *, in_talk: bool) -> dict[str, list[str]]:
    answers = {}
    for question in QUESTIONS:
        found = await rig.recall(
            spelled(question), FAMILY, actor=MING, token_budget=999, in_talk=in_talk
        )
        answers[question] = [hit.preview for hit in found.hits]
    return answers


async def hear(rig: Rig, spelled: Callable[[str], str]) -> None:
    for text, kind in EARLIER:
        await rig.remember(spelled(text), FAMILY, MING, kind=kind)


@pytest.mark.parametrize("in_talk", [True, False])
async def test_what_is_told_and_asked_in_either_script_is_found(
    tmp_path: Path, *, in_talk: bool
) -> None:
    answers = []
    for number, (said, asked) in enumerate(
        [(str, str), (traditional, traditional), (str, traditional), (traditional, str)]
    ):
        async with reading(tmp_path / str(number), StandingClock()) as bot:
            await hear(bot, said)
            found = await told(bot, asked, in_talk=in_talk)
        shown = "".join(one for texts in found.values() for one in texts)
        assert said("机器学习") in shown  # as it was written
        answers.append({one: [*map(fold, texts)] for one, texts in found.items()})
    assert answers[1:] == answers[:1] * 3
    assert sum(map(bool, answers[0].values())) >= len(QUESTIONS) - in_talk, answers[0]


@pytest.mark.parametrize(("first", "again"), [(str, traditional), (traditional, str)])
async def test_what_is_said_again_in_the_other_script_is_one_memory(
    bot: Bot, first: Callable[[str], str], again: Callable[[str], str]
) -> None:
    for spelled in (first, again):
        await bot.remember(spelled("家里养了只猫"), FAMILY, MING)
        await bot.remember(spelled("他的粉丝过万了"), FAMILY, MING)
    assert texts_of(bot)["家人"] == sorted(map(first, ("家里养了只猫", "他的粉丝过万了")))


@pytest.mark.parametrize(("first", "again"), [(str, traditional), (traditional, str)])
async def test_what_was_forgotten_in_one_script_stays_forgotten_in_the_other(
    bot: Bot, first: Callable[[str], str], again: Callable[[str], str]
) -> None:
    await bot.remember(first("小明在银行上班"), FAMILY, MING)
    await say(bot, again("我在银行上班啦"), who=MING)
    await bot.forget(bot.only().memory.memory_id, FAMILY, MING)
    bot.chat.say([answer(learned(again("小明在银行上班")))])
    await reflect(bot)
    assert texts_of(bot) == {}


async def test_an_admins_rule_holds_in_both_scripts(bot: Bot) -> None:
    rules = ["以後回答不要超過三句話", "对了，以后回答不要用感叹号"]
    for rule in rules:
        await bot.hears(rule, who=ADMIN)
    assert texts_of(bot)["家人"] == sorted([rules[0], "以后回答不要用感叹号"])


async def test_what_is_never_learned_is_not_in_either_script(bot: Bot) -> None:
    await bot.engine.service.never_learn(["工资"], conversation_id=FAMILY, actor=ADMIN)
    await bot.hears(traditional("我的工资是八千"), learned(traditional("小明的工资是八千")))
    assert texts_of(bot) == {}
