"""What recall gives of a decision: its record, with its day and reference, not what it was."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import ConversationId, Hit, MemoryDraft, Stored
from astrbot_plugin_scoped_memory.llm_memory.models.decisions import Recorded, Reference, Withdraw
from astrbot_plugin_scoped_memory.tests.decisions.test_deciding import (
    ELSEWHERE,
    HOME,
    WORDS,
    accepted,
    decide,
    deciding,
)
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, person

pytestmark = pytest.mark.engine

LONG = "连接池已经有了，不必再加一套。" * 30
BOTH = Reference("12", "o/r#34")


async def hits(rig: Rig, where: ConversationId = HOME) -> list[Hit]:
    return list((await rig.recall("检索面为什么用 PostgreSQL", where)).hits)


async def test_the_record_stands_for_its_proposal_with_its_day_and_reference(
    tmp_path: Path,
) -> None:
    async with deciding(tmp_path) as (rig, (memory_id,)):
        (before,) = await hits(rig)
        assert (before.memory_id, before.undecided) == (memory_id, True)
        await accepted(rig, memory_id, reference=BOTH)
        for where in (HOME, ELSEWHERE):
            (hit,) = await hits(rig, where)
            assert hit.headings[-1] == f"D-0001 {WORDS}"
            assert hit.day.date() == date(2026, 11, 21)
            assert hit.preview == "Issue #12 · PR o/r#34 · 连接池已经有了。"
            assert hit.pointer.startswith("shared/DECISIONS.md#n-")
            assert not hit.closed
            assert not hit.unvouched
            assert hit.relevance == pytest.approx(before.relevance, abs=0.05)
        recall = await rig.recall("检索面 PostgreSQL", HOME)
        assert (len(recall.hits), recall.trace.holding) == (1, 1), "one decision, told once"


async def test_a_long_reason_hides_neither_day_nor_reference(tmp_path: Path) -> None:
    async with deciding(tmp_path, ()) as (rig, _):
        draft = MemoryDraft(WORDS, LONG, actor=person(10001), proposed=True)
        stored = await rig.engine.service.remember(draft, conversation_id=HOME)
        assert isinstance(stored, Stored)
        await accepted(rig, stored.memory.memory.memory_id, reference=BOTH)
        pieces = await hits(rig, ELSEWHERE)
        assert len(pieces) == 2
        for hit in pieces:
            assert hit.day.date() == date(2026, 11, 21)
            assert hit.preview.startswith("Issue #12 · PR o/r#34")


async def test_a_decision_that_no_longer_holds_is_not_told_as_one_that_does(
    tmp_path: Path,
) -> None:
    async with deciding(tmp_path) as (rig, (memory_id,)):
        await accepted(rig, memory_id)
        assert isinstance(await decide(rig, Withdraw(1, "太慢", unseen=True)), Recorded)
        told = {hit.headings[-1]: hit.closed for hit in await hits(rig)}
        assert told[f"D-0001 {WORDS}"]
        assert all(number.startswith("D-") for number in told)
