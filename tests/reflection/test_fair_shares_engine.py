"""One who floods the bot costs others neither their places in the queue nor their reading."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    ConversationId,
    NoticeCode,
    NotObserved,
    Resting,
    Turn,
)
from astrbot_plugin_scoped_memory.llm_memory.models.loop import UNMAPPED, Share
from astrbot_plugin_scoped_memory.llm_memory.reflection.chat_port import Completion
from astrbot_plugin_scoped_memory.llm_memory.reflection.rules.prompt import LEAST_TOKENS
from astrbot_plugin_scoped_memory.tests.fakes.chat import Call, ScriptedChat
from astrbot_plugin_scoped_memory.tests.support.engines import (
    Rig,
    group,
    person,
    private,
    running,
)
from astrbot_plugin_scoped_memory.tests.support.reflecting import (
    StandingClock,
    answer,
    learned,
    say,
    texts_of,
    with_loop,
)

pytestmark = pytest.mark.engine

PEANUTS = "奶奶对花生过敏"
FLOODER = private(6666)
LONG = "长" * 4_000
NIGHT = datetime(2026, 11, 21, 4, 0, tzinfo=UTC)


def family_is_learned(call: Call) -> str:
    """A model that finds something in the family's turns alone."""
    return answer(learned(PEANUTS)) if "花生" in call.prompt else "{}"


async def flood(rig: Rig, turns: int, where: ConversationId = FLOODER) -> None:
    for number in range(turns):
        await say(rig, f"第{number}轮{LONG}", where=where, who=person(6666), reply="嗯")


async def shares(rig: Rig) -> list[Share]:
    return list((await rig.engine.loop.status()).shares)


@pytest.mark.parametrize("before", [True, False])
async def test_a_flood_of_long_turns_does_not_keep_the_family_from_being_read_that_day(
    tmp_path: Path, before: bool
) -> None:
    chat, clock = ScriptedChat(otherwise=family_is_learned), StandingClock(NIGHT)
    settings = with_loop(after_turns=1)
    async with running(tmp_path, chat=chat, clock=clock, settings=settings) as rig:
        reader = rig.engine.loop.reflection
        await flood(rig, 40)
        if before:  # the flood is read as far as it may be before the family says a word
            assert (await reader.read_due()).resting is Resting.SHARE
            status = await rig.engine.loop.status()
            assert status.spent is not None
            assert 15_000 < status.spent.tokens <= 25_000
            assert status.shares == (Share(UNMAPPED, status.spent.tokens),)
            clock.forward(hours=19)
            await reader.read_due()
            assert (await rig.engine.loop.status()).shares == status.shares
        await say(rig, PEANUTS)
        await reader.read_due()
        assert texts_of(rig) == {"家人": [PEANUTS]}
        first = next(n for n, call in enumerate(chat.calls) if "花生" in call.prompt)
        assert before or first <= 1


async def test_a_flood_in_one_scope_leaves_tokens_for_another_that_speaks_later_that_day(
    tmp_path: Path,
) -> None:
    chat, clock, work = ScriptedChat(), StandingClock(NIGHT), group(888)
    async with running(tmp_path, chat=chat, clock=clock, settings=with_loop(after_turns=1)) as rig:
        reader = rig.engine.loop.reflection
        await say(rig, "昨天的一句")
        await reader.read_due()
        clock.forward(days=1)
        await flood(rig, 60, work)
        assert (await reader.read_due()).resting is Resting.SHARE
        (used,) = await shares(rig)
        assert used.group == "公司"
        assert 30_000 < used.tokens <= 40_000
        for number in range(10):
            await say(rig, f"第{number}句{PEANUTS}{LONG}")
        chat.otherwise = family_is_learned
        await reader.read_due()
        assert texts_of(rig) == {"家人": [PEANUTS]}
        spent = (await rig.engine.loop.status()).spent
        assert spent is not None
        assert spent.tokens <= 50_000


async def test_what_was_used_is_known_after_a_restart_and_gone_the_next_day(
    tmp_path: Path,
) -> None:
    chat, clock = ScriptedChat(), StandingClock(NIGHT)
    settings = with_loop(after_turns=1)
    async with running(tmp_path, chat=chat, clock=clock, settings=settings) as rig:
        await flood(rig, 40)
        await rig.engine.loop.reflection.read_due()
        told, calls = await shares(rig), len(chat.calls)
    async with running(tmp_path, chat=chat, clock=clock, settings=settings) as rig:
        await rig.engine.loop.reflection.read_due()
        assert len(chat.calls) == calls
        assert await shares(rig) == told
        clock.forward(days=1)
        assert (await rig.engine.loop.reflection.read_due()).read > 0


async def test_a_batch_that_does_not_fit_any_more_is_passed_over_for_smaller_ones(
    tmp_path: Path,
) -> None:
    chat = ScriptedChat(Completion("{}", tokens=5_000), otherwise=family_is_learned)
    settings = with_loop(after_turns=1, daily_tokens=10_000)
    async with running(tmp_path, chat=chat, settings=settings) as rig:
        work = group(888)
        for number in range(4):
            await say(rig, f"第{number}轮{LONG}", where=work)
        await say(rig, f"一句{LONG}", where=work)
        await say(rig, PEANUTS)
        report = await rig.engine.loop.reflection.read_due()
        assert texts_of(rig) == {"家人": [PEANUTS]}
        assert report.resting is Resting.BUDGET
        assert report.waiting > 0


async def test_in_a_group_who_says_little_is_read_with_the_first(tmp_path: Path) -> None:
    chat = ScriptedChat(otherwise=family_is_learned)
    async with running(tmp_path, chat=chat, settings=with_loop(after_turns=1)) as rig:
        for number in range(50):
            await say(rig, f"第{number}轮{LONG[:1_500]}", who=person(6666))
        await say(rig, PEANUTS, who=person(2001, "妈妈"))
        await rig.engine.loop.reflection.read_due()
        first = chat.calls[0].prompt
        assert "花生" in first
        assert first.index("第0轮") < first.index("花生")  # still in the order in which they came
        assert texts_of(rig) == {"家人": [PEANUTS]}


async def test_an_admin_is_no_stranger_wherever_he_speaks(tmp_path: Path) -> None:
    chat, clock = ScriptedChat(otherwise=family_is_learned), StandingClock(NIGHT)
    async with running(tmp_path, chat=chat, clock=clock, settings=with_loop(after_turns=1)) as rig:
        await flood(rig, 40)
        await rig.engine.loop.reflection.read_due()
        await say(rig, PEANUTS, where=private(9), who=person(9, admin=True))
        await rig.engine.loop.reflection.read_due()
        assert texts_of(rig) == {"public": [PEANUTS]}


async def test_where_strangers_had_their_half_an_admins_turns_are_read_without_theirs(
    tmp_path: Path,
) -> None:
    chat, clock, where = (
        ScriptedChat(otherwise=family_is_learned),
        StandingClock(NIGHT),
        group(4444),
    )
    async with running(tmp_path, chat=chat, clock=clock, settings=with_loop(after_turns=1)) as rig:
        await flood(rig, 40, where)
        await rig.engine.loop.reflection.read_due()
        await say(rig, PEANUTS, where=where, who=person(9, admin=True))
        report = await rig.engine.loop.reflection.read_due()
        assert (report.read, report.resting) == (1, Resting.SHARE)
        assert texts_of(rig) == {"public": [PEANUTS]}
        assert {share.group for share in await shares(rig)} == {"public", UNMAPPED}


async def test_in_a_full_queue_the_oldest_turns_of_a_flooder_are_dropped_and_counted(
    tmp_path: Path,
) -> None:
    settings = with_loop(most_queued=6)
    async with running(tmp_path, settings=settings) as rig:
        for number in range(6):
            await say(rig, f"灌水{number}", where=FLOODER, who=person(6666))
        refused = await rig.engine.service.observe(
            Turn(person(6666), "还要灌水", "嗯"), conversation_id=FLOODER
        )
        assert refused == NotObserved(note="full")
        tickets = [await say(rig, f"家里的事{number}", who=person(2001)) for number in range(3)]
        tickets.append(await say(rig, "陌生人的一句", where=private(5), who=person(5)))
        # Full for the flooder still, so the notice stays.
        assert [notice.code for notice in rig.notices] == [NoticeCode.QUEUE_FULL]
        assert (await rig.engine.status()).notices != ()
        queue = (await rig.engine.loop.status()).queue
        assert (queue.waiting, queue.dead) == (6, 0)
    async with running(tmp_path, settings=settings) as rig:
        assert await shares(rig) == [Share(UNMAPPED, dropped=4)]
        turns = rig.engine.parts.turns
        kept = turns.turns([ticket.ticket_id for ticket in tickets])
        assert [turn.user_text for turn in kept][:3] == [f"家里的事{n}" for n in range(3)]
        (line,) = [line for line in turns.lines() if line.conversation == FLOODER.umo]
        assert [turn.user_text for turn in turns.waiting(line, 9)] == ["灌水4", "灌水5"]


@pytest.mark.parametrize(
    "reply", [Completion("长" * 10_000_000), Completion("{}", tokens=9_000_000)]
)
async def test_a_reply_of_any_length_costs_one_replys_cap_and_not_the_day(
    tmp_path: Path, reply: Completion
) -> None:
    chat = ScriptedChat(reply, otherwise=family_is_learned)
    async with running(tmp_path, chat=chat, settings=with_loop(after_turns=1)) as rig:
        await say(rig, "随便说说", where=FLOODER, who=person(6666))
        await rig.engine.loop.reflection.read_due()
        spent = (await rig.engine.loop.status()).spent
        assert spent is not None
        assert 6_000 < spent.tokens < 6_000 + 4 * LEAST_TOKENS + 1_500
        await say(rig, PEANUTS)
        await rig.engine.loop.reflection.read_due()
        assert texts_of(rig) == {"家人": [PEANUTS]}
