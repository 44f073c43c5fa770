"""One who floods the bot costs others neither their places in the queue nor their reading, and
what is read of a day fits into its tokens."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from astrbot_plugin_scoped_memory.llm_memory import ConversationId
from astrbot_plugin_scoped_memory.llm_memory.models.loop import UNMAPPED, Share
from astrbot_plugin_scoped_memory.llm_memory.reflection.model import Completion
from astrbot_plugin_scoped_memory.llm_memory.reflection.rules.prompt import LEAST_TOKENS
from astrbot_plugin_scoped_memory.tests.fakes.chat import Call
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, private, running
from astrbot_plugin_scoped_memory.tests.support.reflecting import (
    FAMILY,
    Bot,
    StandingClock,
    answer,
    learned,
    reading,
    reflect,
    say,
    texts_of,
    with_loop,
)

pytestmark = pytest.mark.engine

PEANUTS = "奶奶对花生过敏"
FLOODER, WORK = private(6666), group(888)
DUE = with_loop(after_turns=1)
LONG = "长" * 4_000
NIGHT = datetime(2026, 11, 21, 4, 0, tzinfo=UTC)


def family_is_learned(call: Call) -> str:
    """A model that finds something in the family's turns alone."""
    return answer(learned(PEANUTS)) if "花生" in call.prompt else "{}"


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[Bot]:
    """At night, when a day's tokens are whole."""
    async with reading(tmp_path, StandingClock(NIGHT), settings=DUE) as opened:
        opened.chat.otherwise = family_is_learned
        yield opened


async def flood(rig: Rig, turns: int, where: ConversationId = FLOODER, text: str = LONG) -> None:
    for number in range(turns):
        await say(rig, f"第{number}轮{text}", where=where, who=person(6666), reply="嗯")


async def shares(rig: Rig) -> list[Share]:
    return list((await rig.engine.status()).loop.shares)


async def spent(rig: Rig) -> int:
    """Tokens of the day."""
    told = (await rig.engine.status()).loop.spent
    assert told is not None
    return told.tokens


@pytest.mark.parametrize("before", [True, False])
async def test_a_flood_of_strangers_does_not_keep_the_family_from_being_read_that_day(
    bot: Bot, before: bool
) -> None:
    await flood(bot, 40)
    if before:  # the flood is read as far as it may be before the family says a word
        assert (await bot.read_due()).resting == "budget"
        used = await spent(bot)
        assert 15_000 < used <= 25_000
        assert await shares(bot) == [Share(UNMAPPED, used)]
    await say(bot, PEANUTS)
    await bot.read_due()
    assert texts_of(bot) == {"家人": [PEANUTS]}
    first = next(n for n, call in enumerate(bot.chat.calls) if "花生" in call.prompt)
    assert before or first <= 1


async def test_who_used_the_least_of_a_day_is_read_first(bot: Bot) -> None:
    await flood(bot, 5, WORK)
    await bot.read_due()
    for where in (WORK, FAMILY, FLOODER):
        await say(bot, PEANUTS, where=where)
    await bot.read_due()
    where = [call.conversation for call in bot.chat.calls[-3:]]
    assert where == [FAMILY.umo, FLOODER.umo, WORK.umo]


async def test_in_a_group_who_says_little_is_read_with_the_first(bot: Bot) -> None:
    await flood(bot, 50, FAMILY, LONG[:1_500])
    await say(bot, PEANUTS, who=person(2001, "妈妈"))
    await bot.read_due()
    first = bot.chat.calls[0].prompt
    assert first.index("第0轮") < first.index("花生")  # still in the order in which they came


async def test_in_a_full_queue_the_oldest_turns_of_a_flooder_are_dropped_and_counted(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, settings=with_loop(most_queued=6)) as rig:
        for number in range(6):
            await say(rig, f"灌水{number}", where=FLOODER, who=person(6666))
        for number in range(3):
            await say(rig, f"家里的事{number}", who=person(2001))
        await say(rig, "陌生人的一句", where=private(5), who=person(5))
        assert [notice.code for notice in rig.notices] == ["queue_full"]
        assert (await rig.engine.status()).loop.queue.waiting == 6
    async with reading(tmp_path, settings=with_loop(most_queued=9)) as bot:
        assert await shares(bot) == [Share(UNMAPPED, dropped=4)]
        for where in (FAMILY, FLOODER):
            await reflect(bot, where)
        told = [re.findall("灌水[0-9]|家里的事[0-9]", call.prompt) for call in bot.chat.calls]
        assert told == [[f"家里的事{number}" for number in range(3)], ["灌水4", "灌水5"]]


async def test_when_the_tokens_of_a_day_are_spent_turns_wait_for_the_next_local_one(
    tmp_path: Path,
) -> None:
    clock = StandingClock(datetime(2026, 11, 21, 23, 0, tzinfo=ZoneInfo("Asia/Shanghai")))
    settings = with_loop(DUE, daily_tokens=10_000)
    async with reading(tmp_path, clock, settings=settings, follow=False) as bot:
        bot.chat.otherwise = Completion("{}", tokens=4_000)
        for _ in range(3):
            await say(bot, "说了一句话")
            await bot.read_due()
        assert await spent(bot) == 8_000  # a third call could cost more than what is left
        assert (await reflect(bot)).resting == "budget"  # for an admin, too
    clock.forward(minutes=59)
    async with reading(tmp_path, clock, settings=settings, follow=False) as bot:
        assert (await bot.read_due()).resting == "budget"  # a restart changes nothing
        clock.forward(minutes=1)
        assert (await bot.read_due()).read == 1


@pytest.mark.parametrize("budget", [0, 100, LEAST_TOKENS, 3_500])
async def test_whatever_the_budget_a_day_costs_no_more(tmp_path: Path, budget: int) -> None:
    async with reading(tmp_path, settings=with_loop(DUE, daily_tokens=budget)) as bot:
        await flood(bot, 12, FAMILY, LONG[:1_500])
        assert (await bot.read_due()).resting == "budget"
        assert len(bot.chat.calls) == (budget == 3_500)
        assert await spent(bot) <= budget


async def test_beside_a_flood_each_small_conversation_is_read_within_two_passes(
    tmp_path: Path,
) -> None:
    settings = with_loop(after_turns=3)
    async with reading(tmp_path, StandingClock(NIGHT), settings=settings) as bot:
        await flood(bot, 400, WORK, "在吗" * 20)
        small = [group(number) for number in range(2_000, 2_030)]
        for where in small:
            await flood(bot, 3, where, "我们周五去爬山")
        for _ in range(2):
            await bot.read_due()
        assert {call.conversation for call in bot.chat.calls} >= {where.umo for where in small}
