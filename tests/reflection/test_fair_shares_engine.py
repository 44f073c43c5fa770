"""One who floods the bot costs others neither their places in the queue nor their reading, and
what is read of a day fits into its tokens."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    ConversationId,
)
from astrbot_plugin_scoped_memory.llm_memory.models.loop import UNMAPPED, Share
from astrbot_plugin_scoped_memory.llm_memory.reflection.chat_port import Completion
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


async def flood(rig: Rig, turns: int, where: ConversationId = FLOODER) -> None:
    for number in range(turns):
        await say(rig, f"第{number}轮{LONG}", where=where, who=person(6666), reply="嗯")


async def shares(rig: Rig) -> list[Share]:
    return list((await rig.engine.status()).loop.shares)


async def spent(rig: Rig) -> int:
    """Tokens of the day."""
    told = (await rig.engine.status()).loop.spent
    assert told is not None
    return told.tokens


@pytest.mark.parametrize("before", [True, False])
async def test_a_flood_of_long_turns_does_not_keep_the_family_from_being_read_that_day(
    bot: Bot, before: bool
) -> None:
    await flood(bot, 40)
    if before:  # the flood is read as far as it may be before the family says a word
        assert (await bot.read_due()).resting == "budget"
        used = await spent(bot)
        assert 15_000 < used <= 25_000
        assert await shares(bot) == [Share(UNMAPPED, used)]
        bot.clock.forward(hours=19)
        await bot.read_due()
        assert await shares(bot) == [Share(UNMAPPED, used)]
    await say(bot, PEANUTS)
    await bot.read_due()
    assert texts_of(bot) == {"家人": [PEANUTS]}
    first = next(n for n, call in enumerate(bot.chat.calls) if "花生" in call.prompt)
    assert before or first <= 1


async def test_a_flood_in_one_scope_leaves_tokens_for_another_that_speaks_later_that_day(
    bot: Bot,
) -> None:
    await say(bot, "昨天的一句")
    await bot.read_due()
    bot.clock.forward(days=1)
    await flood(bot, 60, WORK)
    assert (await bot.read_due()).resting == "budget"
    (used,) = await shares(bot)
    assert used.group == "公司"
    assert 30_000 < used.tokens <= 40_000
    for number in range(10):
        await say(bot, f"第{number}句{PEANUTS}{LONG}")
    await bot.read_due()
    assert texts_of(bot) == {"家人": [PEANUTS]}
    assert await spent(bot) <= 50_000


async def test_what_was_used_is_known_after_a_restart_and_gone_the_next_day(
    tmp_path: Path,
) -> None:
    clock = StandingClock(NIGHT)
    async with reading(tmp_path, clock, settings=DUE) as bot:
        await flood(bot, 40)
        await bot.read_due()
        told = await shares(bot)
    async with reading(tmp_path, clock, settings=DUE) as bot:
        await bot.read_due()
        assert bot.chat.calls == []
        assert await shares(bot) == told
        clock.forward(days=1)
        assert (await bot.read_due()).read > 0


async def test_a_batch_that_does_not_fit_any_more_is_passed_over_for_smaller_ones(
    tmp_path: Path,
) -> None:
    async with reading(tmp_path, settings=with_loop(DUE, daily_tokens=10_000)) as bot:
        bot.chat.add(Completion("{}", tokens=5_000))
        bot.chat.otherwise = family_is_learned
        for number in range(5):
            await say(bot, f"第{number}轮{LONG}", where=WORK)
        await say(bot, PEANUTS)
        report = await bot.read_due()
        assert texts_of(bot) == {"家人": [PEANUTS]}
        assert report.resting == "budget"
        assert report.waiting > 0


async def test_in_a_group_who_says_little_is_read_with_the_first(bot: Bot) -> None:
    for number in range(50):
        await say(bot, f"第{number}轮{LONG[:1_500]}", who=person(6666))
    await say(bot, PEANUTS, who=person(2001, "妈妈"))
    await bot.read_due()
    first = bot.chat.calls[0].prompt
    assert "花生" in first
    assert first.index("第0轮") < first.index("花生")  # still in the order in which they came
    assert texts_of(bot) == {"家人": [PEANUTS]}


async def test_in_a_full_queue_the_oldest_turns_of_a_flooder_are_dropped_and_counted(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, settings=with_loop(most_queued=6)) as rig:
        for number in range(7):
            await say(rig, f"灌水{number}", where=FLOODER, who=person(6666))
        for number in range(3):
            await say(rig, f"家里的事{number}", who=person(2001))
        await say(rig, "陌生人的一句", where=private(5), who=person(5))
        assert [notice.code for notice in rig.notices] == ["queue_full"]
        queue = (await rig.engine.status()).loop.queue
        assert (queue.waiting, queue.dead) == (6, 0)
    async with reading(tmp_path, settings=with_loop(most_queued=9)) as bot:
        assert await shares(bot) == [Share(UNMAPPED, dropped=5)]
        for where in (FAMILY, FLOODER):
            await reflect(bot, where)
        told = [re.findall("灌水[0-9]|家里的事[0-9]", call.prompt) for call in bot.chat.calls]
        assert told == [[f"家里的事{number}" for number in range(3)], ["灌水5", "灌水6"]]


@pytest.mark.parametrize(
    "reply", [Completion("长" * 10_000_000), Completion("{}", tokens=9_000_000)]
)
async def test_a_reply_of_any_length_costs_one_replys_cap_and_not_the_day(
    bot: Bot, reply: Completion
) -> None:
    bot.chat.add(reply)
    await say(bot, "随便说说", where=FLOODER, who=person(6666))
    await bot.read_due()
    assert 6_000 < await spent(bot) < 6_000 + 4 * LEAST_TOKENS + 1_500
    await say(bot, PEANUTS)
    await bot.read_due()
    assert texts_of(bot) == {"家人": [PEANUTS]}


async def test_when_the_tokens_of_a_day_are_spent_turns_wait_for_the_next_local_one(
    tmp_path: Path,
) -> None:
    zone = ZoneInfo("Asia/Shanghai")
    clock = StandingClock(datetime(2026, 11, 21, 23, 0, tzinfo=zone))
    settings = with_loop(DUE, daily_tokens=10_000)
    async with reading(tmp_path, clock, settings=settings, follow=False) as rig:
        chat, reader = rig.chat, rig
        chat.otherwise = Completion("{}", tokens=4_000)
        for _ in range(5):
            await say(rig, "说了一句话")
            await reader.read_due()
        assert len(chat.calls) == 2  # a third one could cost more than what is left
        status = (await rig.engine.status()).loop
        assert status.resting == "budget"
        assert status.spent is not None
        assert (status.spent.tokens, status.budget) == (8_000, 10_000)
        assert (await reflect(rig)).resting == "budget"  # nor for an admin
        clock.forward(minutes=59)
        await reader.read_due()
        assert len(chat.calls) == 2
        clock.forward(minutes=1)
        assert (await reader.read_due()).read == 3
        assert len(chat.calls) == 3
        clock.forward(hours=-2)  # the clock went back over midnight: that day is spent already
        await say(rig, "说了一句话")
        assert (await reader.read_due()).resting == "budget"


@pytest.mark.parametrize("budget", [0, 100, LEAST_TOKENS])
async def test_a_budget_that_no_call_fits_in_makes_no_call(tmp_path: Path, budget: int) -> None:
    async with reading(tmp_path, settings=with_loop(DUE, daily_tokens=budget)) as bot:
        await say(bot, PEANUTS)
        assert (await bot.read_due()).resting == "budget"
        assert bot.chat.calls == []


async def test_a_batch_fits_into_a_day_however_long_the_turns_are(tmp_path: Path) -> None:
    async with reading(tmp_path, settings=with_loop(DUE, daily_tokens=3_500)) as bot:
        for number in range(12):
            await say(bot, f"第{number}句：" + "长" * 1_500)
        await bot.read_due()
        assert len(bot.chat.calls) == 1
        assert await spent(bot) <= 3_500
