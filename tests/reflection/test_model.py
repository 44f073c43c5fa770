"""One door to the chat model: the day's tokens, backoff and one repair for whoever asks; who floods
the bot does not cost others their reading."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from astrbot_plugin_scoped_memory.llm_memory import ConversationId
from astrbot_plugin_scoped_memory.llm_memory.errors import ChatFailed
from astrbot_plugin_scoped_memory.llm_memory.models.loop import UNMAPPED, Share
from astrbot_plugin_scoped_memory.llm_memory.reflection.model import Completion, Purpose, Rests
from astrbot_plugin_scoped_memory.llm_memory.reflection.rules.prompt import LEAST_TOKENS, Prompt
from astrbot_plugin_scoped_memory.llm_memory.reflection.rules.reply import Unreadable
from astrbot_plugin_scoped_memory.tests.fakes.chat import Reply
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, private
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
DUE = with_loop(after_turns=1, daily_tokens=50_000)
LONG = "长" * 4_000
NIGHT = datetime(2026, 11, 21, 4, 0, tzinfo=UTC)


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[Bot]:
    """At night, when a day's tokens are whole; its model finds something in one family's turns."""
    found = answer(learned(PEANUTS))
    async with reading(tmp_path, StandingClock(NIGHT), settings=DUE, follow=False) as opened:
        opened.chat.otherwise = lambda call: found if "花生" in call.prompt else "{}"
        yield opened


async def ask(
    bot: Bot, *replies: Reply, purpose: Purpose = "reading", group: str | None = None
) -> str:
    """What comes of it: a text that can be used begins with ``ok``; else why there is none."""
    bot.chat.say(replies)

    def schema(completion: Completion) -> str | Unreadable:
        return completion.text if completion.text.startswith("ok") else Unreadable("no_json")

    model, prompt = bot.engine.parts.model, Prompt("系统", "问")
    try:
        return await model.ask(prompt, schema, conversation="", purpose=purpose, group=group)
    except Rests as rests:
        return rests.why
    except ChatFailed as failed:
        return failed.code


async def test_an_answer_that_cannot_be_used_is_asked_for_once_more(bot: Bot) -> None:
    assert await ask(bot, "…", "ok 2") == "ok 2"
    first, second = bot.chat.calls
    assert second.prompt.startswith(first.prompt)
    assert "no_json" in second.prompt
    assert await ask(bot, "…", "…", "ok") == "unreadable"
    assert len(bot.chat.calls) == 4


@pytest.mark.parametrize("code", ["timeout", "busy", "failed", "content"])
async def test_a_service_that_fails_is_asked_a_few_times_a_day_and_by_an_admin_at_once(
    bot: Bot, code: str
) -> None:
    for refusal in (ChatFailed("content"), " \n") * 4:  # holds up no other, unless all are refused
        assert await ask(bot, refusal) in ("content", "empty")
    assert await ask(bot, "ok") == "ok"
    bot.chat.otherwise = ChatFailed(code)
    for _ in range(24 * 60):
        await ask(bot)
        bot.clock.forward(minutes=1)
    assert 3 < len(bot.chat.calls) - 9 <= (17 if code == "content" else 9)
    assert await ask(bot, "ok") == "backoff"
    assert await ask(bot, "ok", purpose="asked") == "ok"
    assert await ask(bot, "ok") == "ok"
    assert await ask(bot, ChatFailed("failed")) == "failed"
    bot.clock.forward(days=-4_000)  # a clock that was set back keeps nobody waiting
    assert await ask(bot, "ok") == "ok"


@pytest.mark.parametrize(
    ("spent", "purpose", "group", "why"),
    [
        # Everything, but for strangers, who may use half of it, and the night, which has a fifth.
        ([("家人", 46_000)], "reading", "家人", "ok"),
        ([("家人", 49_000)], "reading", "家人", "budget"),
        ([("家人", 49_000)], "asked", "公司", "budget"),
        ([(UNMAPPED, 24_000)], "reading", UNMAPPED, "budget"),
        ([(UNMAPPED, 24_000)], "asked", UNMAPPED, "ok"),
        ([(UNMAPPED, 24_000)], "reading", "家人", "ok"),
        ([("家人", 24_000)], "reading", UNMAPPED, "ok"),
        ([("家人", 24_000), (None, 7_000)], "night", None, "ok"),
        ([("家人", 24_000), (None, 9_000)], "night", None, "budget"),
        ([("家人", 9_000), (None, 24_000)], "soul", None, "ok"),
        ([(None, 49_000)], "soul", None, "budget"),
    ],
)
async def test_the_tokens_of_a_day_and_who_may_use_them(
    bot: Bot, spent: list[tuple[str | None, int]], purpose: Purpose, group: str | None, why: str
) -> None:
    for payer, tokens in spent:
        for part in (tokens // 10,) * 10:
            await ask(bot, Completion("ok", tokens=part), purpose="asked", group=payer)
    assert await ask(bot, "ok", purpose=purpose, group=group) == why
    bot.clock.forward(days=1)
    assert await ask(bot, "ok", purpose=purpose, group=group) == "ok"


@pytest.mark.parametrize(
    ("reply", "least", "most"),
    [
        ("ok", 1, 100),
        (Completion("ok", tokens=700), 700, 700),
        (Completion("ok", tokens=-5), 1, 100),
        (Completion("ok", tokens=9_000_000), 6_000, 6_100),
        ("ok" + "长" * 10_000_000, 6_000, 6_100),
        (ChatFailed("timeout"), 1, 100),
        (ChatFailed("failed"), 0, 0),
        (" ", 1, 100),
    ],
)
async def test_what_a_call_counts(bot: Bot, reply: Reply, least: int, most: int) -> None:
    await ask(bot, reply, group="家人")
    allowed = await bot.engine.parts.model.allowance()
    assert least <= allowed.spent == allowed.used.get("家人", 0) <= most


async def flood(rig: Rig, turns: int, where: ConversationId = FLOODER, text: str = LONG) -> None:
    for number in range(turns):
        await say(rig, f"第{number}轮{text}", where=where, who=person(6666), reply="嗯")


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
        assert (await bot.engine.status()).loop.shares == (Share(UNMAPPED, used),)
    await say(bot, PEANUTS)
    await bot.read_due()
    assert texts_of(bot) == {"家人": [PEANUTS]}
    assert before or any("花生" in call.prompt for call in bot.chat.calls[:2])


async def test_who_used_the_least_of_a_day_is_read_first(bot: Bot) -> None:
    await flood(bot, 5, WORK)
    await bot.read_due()
    for where in (WORK, FAMILY, FLOODER):
        await say(bot, PEANUTS, where=where)
    await bot.read_due()
    where = [call.conversation for call in bot.chat.calls[-3:]]
    assert where == [FAMILY.umo, FLOODER.umo, WORK.umo]


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
