"""Chroma as a default installation has it: a scope on every record, and in every question."""

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
    TaskAction,
    TaskChange,
    build_engine,
)
from astrbot_plugin_scoped_memory.llm_memory.models.scope import SCOPE_FIELD
from astrbot_plugin_scoped_memory.tests.support.engines import (
    MAP,
    QUICK,
    Rig,
    Ticker,
    group,
    person,
)

pytestmark = pytest.mark.engine

HOME, WORK, OPEN = group(777), group(888), group(999)
SAID = {HOME: "奶奶对花生过敏", WORK: "机房的空调坏了", OPEN: "公园周一闭园"}
NOTES = ("shared/手册.md", "roles/猫娘/喜好.md", "scopes/家人/菜谱.md", "scopes/公司/值班.md")


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
        task = TaskChange(TaskAction.ADD, (f"处理{text}",))
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


async def test_every_record_of_a_default_installation_carries_its_scope(tmp_path: Path) -> None:
    write_notes(tmp_path)
    clock = Ticker()
    paths = EnginePaths.under(tmp_path)
    engine = build_engine(paths, replace(QUICK, scope_map=MAP), clock=clock)
    assert engine.bundled is not None  # what ``auto`` takes where nobody has chosen
    rig = Rig(engine, engine.bundled, tmp_path, [], clock)
    await engine.open()
    following = asyncio.create_task(engine.run(engine.bundled))
    try:
        await fill(rig)
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
