"""What the engine survives: a close or a cancelled caller in the middle of a write, odd questions,
an emergency. What fails in it stands in tests/laws/test_faults.py."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    Changed,
    ConversationId,
    EngineClosed,
    EngineOff,
    EnginePaths,
    EngineSettings,
    MemoryDraft,
    NoticeCode,
    Reason,
    Refused,
    StoredMemory,
    build_engine,
)
from astrbot_plugin_scoped_memory.llm_memory.recall import find
from astrbot_plugin_scoped_memory.llm_memory.service.turns import TurnRequest
from astrbot_plugin_scoped_memory.llm_memory.storage.state_store import SqliteStateStore
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown_vault import MarkdownVault
from astrbot_plugin_scoped_memory.tests.support.engines import (
    MAP,
    group,
    person,
    private,
    running_on_vectors,
)

pytestmark = [pytest.mark.engine, pytest.mark.process]

HERE, MING = group(777), person(10001)
PEANUTS, QUESTION = "奶奶对花生过敏", "奶奶能吃花生吗"
ALONE = {**MAP, "aiocqhttp:FriendMessage:1001": "小明的"}


def family(root: Path) -> Path:
    """The family's folder."""
    return root / "memory" / "scopes" / "家人"


@pytest.mark.parametrize(
    ("part", "step"), [(MarkdownVault, "look"), (SqliteStateStore, "seen_conversations")]
)
async def test_an_engine_that_cannot_open_says_so_to_whoever_waits(
    tmp_path: Path, part: type, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise ValueError("something that nobody thought of")

    monkeypatch.setattr(part, step, fail)
    family(tmp_path).mkdir(parents=True)
    engine = build_engine(EnginePaths.under(tmp_path), EngineSettings())
    waiting = asyncio.create_task(engine.service.newest(conversation_id=HERE, limit=3))
    with pytest.raises(EngineOff):
        await engine.open()
    async with asyncio.timeout(30):
        with pytest.raises(EngineOff):
            await waiting
    status = await engine.status()
    assert not status.ready
    assert NoticeCode.PART_FAILED in {notice.code for notice in status.notices}
    await engine.close()


async def test_a_closed_engine_answers_with_an_error_and_writes_nothing_more(
    tmp_path: Path,
) -> None:
    async with running_on_vectors(tmp_path) as rig:
        memory_id = (await rig.remember(PEANUTS, HERE)).memory.memory.memory_id
        service = rig.engine.service
        by: dict[str, Any] = {"conversation_id": HERE, "actor": MING}
        await service.forget(memory_id, **by)
        late = asyncio.ensure_future(service.restore(memory_id, **by))
        await asyncio.sleep(0)
        await rig.engine.close()
        with pytest.raises(EngineClosed):
            await service.recall(QUESTION, conversation_id=HERE, limit=3, token_budget=100)
        with pytest.raises(EngineClosed):
            await service.remember(MemoryDraft("x1"), conversation_id=HERE)
        written = sorted(p.read_bytes() for p in family(tmp_path).rglob("*.md"))
        (outcome,) = await asyncio.gather(late, return_exceptions=True)
        assert isinstance(outcome, EngineClosed | Changed), "it began before the close, or never"
        start = await service.begin_turn(TurnRequest(QUESTION, 1.0, 3, 100), **by)
        assert start.contact is not None
        assert await start.contact is None
        assert sorted(p.read_bytes() for p in family(tmp_path).rglob("*.md")) == written


async def test_a_write_whose_caller_goes_away_is_finished(tmp_path: Path) -> None:
    async with running_on_vectors(tmp_path) as rig:
        drafts = [MemoryDraft(f"第{number}件小事") for number in range(20)]
        calls = [rig.engine.service.remember(one, conversation_id=HERE) for one in drafts]
        tasks = list(map(asyncio.ensure_future, calls))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    async with running_on_vectors(tmp_path) as rig:
        assert (await rig.engine.status()).by_scope == {"家人": 20}


@pytest.mark.parametrize(
    ("where", "who", "is_trusted"),
    [
        (HERE, person(5, admin=True), True),
        (private(1001), person(1001), True),  # a private chat with a scope of its own
        (HERE, person(1001), False),
        (private(1002), person(1002), False),
        (private(3003), person(3003), False),
        (private(1001), person(1002), False),
        (private(1001), replace(person(1001), person=""), False),
        (replace(private(1001), peer=None), person("None"), False),
    ],
)
async def test_whose_words_may_become_instructions(
    tmp_path: Path, where: ConversationId, who: Actor, is_trusted: bool
) -> None:
    async with running_on_vectors(tmp_path, ALONE) as rig:
        stored = (await rig.remember("以后都用中文回答", where, who)).memory
    assert stored.memory.provenance.trusted is is_trusted
    assert (stored.path == "instructions.md") is is_trusted


async def test_a_small_scope_does_not_starve_behind_a_busy_public_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find, "SCAN_LIMIT", 20)
    async with running_on_vectors(tmp_path, follow=False) as rig:
        await rig.remember(PEANUTS, HERE)
        for number in range(30):
            await rig.remember(f"公共的第{number}件小事", group(999))
        assert PEANUTS in await rig.texts(QUESTION, HERE)


async def test_no_query_makes_recall_fail(tmp_path: Path) -> None:
    odd = ["", " ", "\u200b", "\ud800", "奶奶\udfff能吃花生吗", "？？", "x" * 200_000, "\0" * 50]
    async with running_on_vectors(tmp_path) as rig:
        await rig.remember(PEANUTS, HERE)
        for _ in range(2):
            for query in odd:
                assert await rig.texts(query, HERE) == ([PEANUTS] if "花生" in query else [])
            await rig.until_indexed()


async def test_the_emergency_downgrade_reads_all_and_learns_nothing(tmp_path: Path) -> None:
    async with running_on_vectors(tmp_path) as rig:
        stored = await rig.remember(PEANUTS, HERE)
    hidden = tmp_path / "memory" / "scopes" / "quarantine"
    hidden.mkdir()
    shutil.copy(family(tmp_path) / "preferences.md", hidden / "preferences.md")
    text = (hidden / "preferences.md").read_text("utf-8").replace("奶奶", "外婆")
    (hidden / "preferences.md").write_text(text, encoding="utf-8")
    off = EngineSettings(scope_filter_enabled=False)
    async with running_on_vectors(tmp_path, settings=off) as rig:
        service = rig.engine.service
        await rig.until_indexed()
        assert NoticeCode.SCOPE_FILTER_OFF in {notice.code for notice in rig.notices}
        assert await rig.texts("花生过敏", group(888)) == [PEANUTS]
        found = await service.expand(stored.memory.pointer, conversation_id=group(888))
        assert isinstance(found, StoredMemory)
        outcome = await service.remember(MemoryDraft("新的一件事"), conversation_id=HERE)
        assert isinstance(outcome, Refused)
        assert outcome.reason is Reason.LEARNING_PAUSED
    async with running_on_vectors(tmp_path) as rig:
        assert await rig.texts("花生过敏", group(888)) == []
