"""A default installation, the weights of its model and the process of its Chroma: a scope stands
on every record, and what lies in another scope is found by no meaning."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import chromadb
import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    EnginePaths,
    MemoryDraft,
    MemoryKind,
    TaskChange,
    build_engine,
)
from astrbot_plugin_scoped_memory.llm_memory.models.recall import Arm
from astrbot_plugin_scoped_memory.llm_memory.models.scope import SCOPE_FIELD
from astrbot_plugin_scoped_memory.tests.support.arms_alone import recall_by
from astrbot_plugin_scoped_memory.tests.support.engines import (
    MAP,
    QUICK,
    Rig,
    Ticker,
    group,
    person,
)

pytestmark = [pytest.mark.engine, pytest.mark.model]

HOME, WORK, OPEN = group(777), group(888), group(999)
SAID = {HOME: "奶奶一吃花生就起疹子", WORK: "机房的空调坏了没人修", OPEN: "图书馆周一不开门"}
IN_OTHER_WORDS = {
    HOME: "老人家对什么坚果过敏？",
    WORK: "制冷设备出了什么故障？",
    OPEN: "星期一能去借书吗？",
}
SHOWN = {HOME: {"家人", "public"}, WORK: {"公司", "public"}, OPEN: {"public"}}
NOTES = ("shared/手册.md", "roles/猫娘/喜好.md", "scopes/家人/菜谱.md", "scopes/公司/值班.md")
SETTINGS = replace(
    QUICK, scope_map=MAP, relevance_floor=0.0, embed_query_seconds=60.0, embed_write_seconds=60.0
)


def write_notes(root: Path) -> None:
    """What people wrote, before the bot starts."""
    for name in NOTES:
        path = root / "memory" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {path.stem}\n\n做饭之前先洗手，花生另放一处。\n", "utf-8")


async def fill(rig: Rig) -> None:
    """Memories of every kind, journals and tasks in two private scopes and in public."""
    service = rig.engine.service
    for where, text in SAID.items():
        for kind in MemoryKind:
            draft = MemoryDraft(f"{text}，{kind.value}", kind=kind, actor=person(10001))
            await service.remember(draft, conversation_id=where)
        task = TaskChange("add", (f"处理{text}",))
        await service.update_tasks(task, conversation_id=where, actor=person(10001))
    await rig.until_indexed()


def stored(index: Path) -> list[Mapping[str, Any]]:
    """All that stands in Chroma, read past the engine, which must be closed."""
    settings = chromadb.Settings(anonymized_telemetry=False)
    client = chromadb.PersistentClient(index / "chroma", settings)
    try:
        return [
            metadata or {}
            for collection in client.list_collections()
            for metadata in collection.get(include=["metadatas"])["metadatas"] or ()
        ]
    finally:
        client.close()


async def check(rig: Rig) -> None:
    """By the meaning alone, each place is shown what it sees, best what it was asked for."""
    async with asyncio.timeout(60):
        while not rig.engine.parts.trust.cohorts:  # noqa: ASYNC110  (the model is examined)
            await asyncio.sleep(0.01)
    for where, scopes in SHOWN.items():
        for asked, question in IN_OTHER_WORDS.items():
            recall = await recall_by(
                rig.engine,
                {Arm.DENSE},
                question,
                conversation_id=where,
                limit=90,
                token_budget=20_000,
            )
            assert recall.trace.arm is Arm.DENSE
            shown = [hit.scope_name for hit in recall.hits]
            assert scopes <= set(shown) <= {*scopes, "@shared"}, (where, question)
            if SHOWN[asked] <= scopes:
                assert SAID[asked] in recall.hits[0].preview
    assert (await rig.engine.status()).scope_check_drops == 0


async def test_a_default_installation_keeps_and_shows_each_record_in_its_scope(
    tmp_path: Path,
) -> None:
    write_notes(tmp_path)
    clock = Ticker()
    paths = EnginePaths.under(tmp_path)
    engine = build_engine(paths, SETTINGS, clock=clock)
    assert engine.parts.bundled is not None  # what ``auto`` takes where nobody has chosen
    rig = Rig(engine, engine.parts.bundled, tmp_path, [], clock)
    await engine.open()
    following = asyncio.create_task(engine.run(engine.parts.bundled))
    try:
        await fill(rig)
        await check(rig)
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await engine.close()
    records = stored(paths.index)
    scopes = [record.get(SCOPE_FIELD) for record in records]
    said = len(MemoryKind) + 1
    assert Counter(scopes) == {
        "家人": said + 1,
        "公司": said + 1,
        "public": said,
        "@shared": 1,
        "@role:猫娘": 1,
    }
