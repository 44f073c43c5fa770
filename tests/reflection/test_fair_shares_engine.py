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
    Ticket,
    Turn,
)
from astrbot_plugin_scoped_memory.llm_memory.models.loop import HeldBack, Party, Share
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
    FAMILY,
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
            (share,) = status.shares
            assert (share.party, share.held) == (
                Party("public", "aiocqhttp:6666", known=False),
                HeldBack.STRANGERS,
            )
            assert (share.use.tokens, share.waiting) == (
                status.spent.tokens,
                status.queue.waiting,
            )
        await say(rig, PEANUTS)
        await reader.read_due()
        assert texts_of(rig) == {"家人": [PEANUTS]}
        first = next(n for n, call in enumerate(chat.calls) if "花生" in call.prompt)
        assert before or first == 0


async def test_the_flooder_gets_the_rest_of_the_day_if_no_other_party_wants_it(
    tmp_path: Path,
) -> None:
    chat, clock = ScriptedChat(), StandingClock(NIGHT)
    async with running(tmp_path, chat=chat, clock=clock, settings=with_loop(after_turns=1)) as rig:
        await flood(rig, 60)
        await rig.engine.loop.reflection.read_due()
        clock.forward(hours=19, minutes=59)
        report = await rig.engine.loop.reflection.read_due()
        assert report.resting in (Resting.SHARE, Resting.BUDGET)
        spent = (await rig.engine.loop.status()).spent
        assert spent is not None
        assert 42_000 < spent.tokens <= 50_000


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


async def test_in_a_full_queue_the_oldest_turns_of_a_flooder_give_way_and_are_counted(
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
        (share,) = await shares(rig)
        assert (share.party.speaker, share.use.gave_way, share.waiting) == ("aiocqhttp:6666", 4, 2)
        turns = rig.engine.parts.turns
        kept = turns.turns([ticket.ticket_id for ticket in tickets])
        assert [turn.user_text for turn in kept][:3] == [f"家里的事{n}" for n in range(3)]
        (line,) = [line for line in turns.lines() if line.conversation == FLOODER.umo]
        assert [turn.user_text for turn in turns.waiting(line, 9)] == ["灌水4", "灌水5"]


async def test_turns_of_parties_within_their_share_are_never_evicted(tmp_path: Path) -> None:
    async with running(tmp_path, settings=with_loop(most_queued=4)) as rig:
        for who in (1, 2):
            for number in range(2):
                await say(rig, f"{who}说的{number}", who=person(who))
        for where, who in ((FLOODER, 6666), (FAMILY, 1)):
            outcome = await rig.engine.service.observe(
                Turn(person(who), "又一句", "好"), conversation_id=where
            )
            assert outcome == NotObserved(note="full")
        assert await shares(rig) == []
        work = await say(rig, "公司的一句", where=group(888), who=person(3))
        assert isinstance(work, Ticket)


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
