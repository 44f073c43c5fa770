"""A proposal is recalled as not decided; what was accepted is replaced, merged and faded by nothing
that is said later."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    How,
    Memory,
    MemoryDraft,
    Provenance,
    RememberOutcome,
    Source,
    Stored,
    is_stored,
)
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.closing import is_over
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.proposals import (
    accepted,
    is_accepted,
    is_proposed,
    proposed,
    rejected,
)
from astrbot_plugin_scoped_memory.llm_memory.consolidation.decay_step import may_leave
from astrbot_plugin_scoped_memory.llm_memory.consolidation.merging import weaker_of
from astrbot_plugin_scoped_memory.llm_memory.index.rules.deduplication import MergeThresholds
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import StoredMemory
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope
from astrbot_plugin_scoped_memory.llm_memory.text.attribution import standing
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running
from astrbot_plugin_scoped_memory.tests.support.reflecting import (
    StandingClock,
    learned,
    reflect,
    say,
)

pytestmark = pytest.mark.engine

HOME = group(777)
FAMILY = Scope.parse("家人")
EARLIER = datetime(2026, 11, 20, tzinfo=UTC)
WORDS = "我们决定检索面用 PostgreSQL"


async def tell(rig: Rig, text: str, *, proposed: bool = False) -> RememberOutcome:
    draft = MemoryDraft(text, actor=person(10001), proposed=proposed)
    return await rig.engine.service.remember(draft, conversation_id=HOME)


def as_accepted(judgment: str, memory_id: str = "m-aaaa", **more: object) -> Memory:
    """An entry of 小明 that became D-0007."""
    origin = Provenance("小明", "aiocqhttp:10001", HOME.umo, Source.TOOL)
    said = replace(Memory(memory_id, judgment, EARLIER, provenance=origin), **more)  # type: ignore[arg-type]
    return accepted(said, 7, "2026-11-23")


async def test_a_proposal_is_stored_among_the_decisions_and_shown_as_not_decided(
    tmp_path: Path,
) -> None:
    file = tmp_path / "memory" / "scopes" / "家人" / "decisions.md"
    async with running(tmp_path) as rig:
        outcome = await tell(rig, "奶奶对花生过敏", proposed=True)  # words of a preference
        assert isinstance(outcome, Stored)
        assert outcome.memory.path == "decisions.md"
        assert is_proposed(outcome.memory.memory)
        (hit,) = (await rig.recall("奶奶对什么过敏", HOME)).hits
        assert standing(hit, lambda code, **_: code)[0] == "inject.undecided"
    text = file.read_text("utf-8")
    assert "> 状态：提议\n" in text
    file.write_text(text.replace("状态：提议", "状态：已否决 · 否决：2026-11-24"), "utf-8")
    async with running(tmp_path) as rig:
        # It is over, as what a later statement settled, until it is proposed again.
        (hit,) = (await rig.recall("奶奶对什么过敏", HOME)).hits
        assert standing(hit, lambda code, **_: code)[0] == "inject.closed"
        again = await tell(rig, "奶奶对花生过敏", proposed=True)
        assert is_stored(again, How.AGAIN)
        assert is_proposed(again.memory.memory)


async def test_a_proposal_gives_way_and_what_was_accepted_does_not(rig: Rig) -> None:
    for proposes, is_one in ((False, False), (True, True), (False, True)):
        said = await tell(rig, WORDS, proposed=proposes)
        assert isinstance(said, Stored)
        assert is_proposed(said.memory.memory) is is_one
    await rig.engine.parts.intake.take(FAMILY, [as_accepted("小李住在上海")])
    said = await tell(rig, "更正：小李住在杭州")
    assert is_stored(said, How.NEW)
    assert said.conflict is not None
    assert said.conflict.memory.memory_id == "m-aaaa"
    again = await tell(rig, "小李住在上海", proposed=True)
    assert is_stored(again, How.AGAIN)
    assert is_accepted(again.memory.memory)
    assert is_stored(await tell(rig, "小王住在上海", proposed=True), How.NEW)
    assert is_stored(await tell(rig, "更正：小王住在杭州"), How.REPLACED)


@pytest.mark.parametrize("is_record", [True, False])
async def test_what_was_accepted_is_not_settled_by_what_is_said_later(
    tmp_path: Path, is_record: bool
) -> None:
    chat, hong = ScriptedChat(), person(2, "小红")
    clock = StandingClock(EARLIER)
    debt = as_accepted("小红欠小明三百块", created_at=EARLIER + timedelta(minutes=1))
    async with running(tmp_path, chat=chat, clock=clock) as rig:
        await rig.remember("蓝伞在门后", HOME, hong)
        await rig.engine.parts.intake.take(FAMILY, [debt if is_record else replace(debt, extra=())])
        clock.forward(minutes=5)
        paid = learned("小红已经把三百块还给小明了")
        chat.say([json.dumps({"contradictions": [{"old_id": "m-aaaa", "new": paid}]})])
        await say(rig, "三百块我还给小明了", who=hong)
        await reflect(rig, HOME)
        found = {s.memory.memory_id: s.memory for s in rig.living()}
        assert is_over(found["m-aaaa"]) is not is_record


def test_what_was_decided_neither_fades_nor_merges_with_the_same_words() -> None:
    kept = StoredMemory(FAMILY, "decisions.md", as_accepted(WORDS, active=False))
    plain = replace(kept, memory=replace(kept.memory, extra=()))
    again = replace(plain, memory=replace(plain.memory, memory_id="m-bbbb"))
    thresholds = MergeThresholds(reinforce=0.5, replace=0.5)
    assert may_leave(plain)
    assert weaker_of(again, [(plain, 1.0)], thresholds)
    for memory in (kept.memory, rejected(kept.memory, "2026-11-24")):
        assert not may_leave(replace(kept, memory=memory))
    for memory in (proposed(plain.memory), rejected(plain.memory, "2026-11-24")):
        assert weaker_of(again, [(replace(plain, memory=memory), 1.0)], thresholds) == []
