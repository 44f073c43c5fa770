"""A turn's scope is fixed when it is observed; nothing learned from it leaves that scope."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    EngineSettings,
    Feedback,
    FeedbackReport,
    MemoryDraft,
    NotObserved,
    Rejected,
    RejectReason,
    Source,
    Stored,
    Ticket,
    Turn,
    WhyCode,
)
from astrbot_plugin_scoped_memory.llm_memory.storage import files
from astrbot_plugin_scoped_memory.tests.support.engines import (
    MAP,
    Rig,
    group,
    person,
    running,
)

pytestmark = pytest.mark.engine

TURN = Turn(person(1), "奶奶吃了花生就起疹子", "记下了")
LEARNED = MemoryDraft("奶奶对花生过敏", source=Source.REFLECTION, active=False)


async def observed(rig: Rig, turn: Turn = TURN) -> Ticket:
    """A ticket for a turn of the family."""
    ticket = await rig.engine.service.observe(turn, conversation_id=group(777))
    assert isinstance(ticket, Ticket)
    return ticket


async def settle(rig: Rig, ticket: Ticket, *useful: str) -> FeedbackReport:
    """What was learned, applied."""
    return await rig.engine.service.feedback(Feedback(useful, (LEARNED,)), ticket=ticket)


async def test_a_ticket_is_settled_once(rig: Rig) -> None:
    ticket = await observed(rig)
    assert (await settle(rig, ticket)).known
    assert await settle(rig, ticket) == FeedbackReport(known=False)
    assert await settle(rig, Ticket("t-unknown")) == FeedbackReport(known=False)
    assert (await rig.engine.status()).by_scope == {"家人": 1}


async def test_a_ticket_of_several_turns_of_two_conversations_is_none(rig: Rig) -> None:
    here = await observed(rig)
    there = await rig.engine.service.observe(TURN, conversation_id=group(888))
    assert isinstance(there, Ticket)
    mixed = Ticket(here.ticket_id, (there.ticket_id,))
    assert await settle(rig, mixed) == FeedbackReport(known=False)
    status = await rig.engine.status()
    assert (status.queue, status.total) == (2, 0)


async def test_a_draft_of_a_person_who_did_not_speak_in_the_turn_has_no_speaker(rig: Rig) -> None:
    forged = replace(LEARNED, actor=person(9, "管理员", admin=True), active=True)
    forged = replace(forged, source=Source.PERSON)
    report = await rig.engine.service.feedback(
        Feedback(drafts=(forged,)), ticket=await observed(rig)
    )
    (outcome,) = report.outcomes
    assert isinstance(outcome, Stored)
    origin = outcome.memory.memory.provenance
    assert (origin.person, origin.who, origin.trusted) == ("", "", False)
    assert origin.source is Source.REFLECTION


@pytest.mark.parametrize(
    ("scope_map", "settings", "code"),
    [
        ({"aiocqhttp:GroupMessage:777": "家 人"}, EngineSettings(), WhyCode.ILLEGAL_NAME),
        ({}, EngineSettings(group_scope=None), WhyCode.UNKNOWN_POLICY),
        (MAP, EngineSettings(scope_filter_enabled=False), None),
    ],
)
async def test_a_conversation_that_may_not_learn_queues_nothing(
    tmp_path: Path, scope_map: dict[str, object], settings: EngineSettings, code: WhyCode | None
) -> None:
    async with running(tmp_path, scope_map, settings=settings) as rig:
        outcome = await rig.engine.service.observe(TURN, conversation_id=group(777))
        assert isinstance(outcome, NotObserved)
        assert (outcome.why.code if outcome.why else None) is code
        assert (await rig.engine.status()).queue == 0


async def test_any_words_and_any_name_can_be_queued(rig: Rig) -> None:
    odd = ("\ud83d", "\0", "x y " * 99_000, "'; DROP TABLE turn; --", "")
    for number, text in enumerate(odd, 1):
        await observed(rig, Turn(Actor("aiocqhttp:1", text), f"我说{text}", text))
        assert (await rig.engine.status()).queue == number


async def test_what_the_disk_refused_stays_in_the_queue(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    ticket = await observed(rig)
    with monkeypatch.context() as patch:
        patch.setattr(files, "write_all", full)
        (refused,) = (await settle(rig, ticket)).outcomes
    assert isinstance(refused, Rejected)
    assert refused.reason is RejectReason.NOT_WRITTEN
    assert (await rig.engine.status()).queue == 1
    (stored,) = (await settle(rig, ticket)).outcomes
    assert isinstance(stored, Stored)
    assert (await rig.engine.status()).queue == 0
