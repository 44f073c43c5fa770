"""What the index is told about a memory beside its vector."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import MemoryDraft, MemoryKind, Stored
from astrbot_plugin_scoped_memory.llm_memory.index.vector.names import record_id
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.tests.fakes.vector_store import InMemoryVectorStore
from astrbot_plugin_scoped_memory.tests.support.engines import group, person, running

pytestmark = pytest.mark.unit


def metadata(store: InMemoryVectorStore, stored: Stored) -> Mapping[str, object]:
    """The record of a memory in the one collection."""
    (rows,) = store.disk.collections.values()
    key = Key(stored.memory.scope.name, stored.memory.memory.memory_id)
    return rows[record_id(key)].metadata


async def test_a_record_tells_what_its_memory_is_and_follows_it(tmp_path: Path) -> None:
    store = InMemoryVectorStore()
    where = group(777, persona="管家")
    draft = MemoryDraft(
        "奶奶对花生过敏", kind=MemoryKind.EVENT, strength=50, actor=person(1001, "小明")
    )
    async with running(tmp_path, store=store) as rig:
        stored = await rig.engine.service.remember(draft, conversation_id=where)
        assert isinstance(stored, Stored)
        await rig.until_indexed()
        found = dict(metadata(store, stored))
        assert found.pop("content_hash")
        assert found == {
            "kind": "事件记忆",
            "topic": stored.memory.path,
            "role": "管家",
            "strength": 50,
            "active": True,
            "created_at": stored.memory.memory.created_at.timestamp(),
            "who": "小明",
            "conversation_id": "aiocqhttp:GroupMessage:777",
            "memory_scope": "家人",
        }
        await rig.engine.service.remember(draft, conversation_id=where)
        await rig.until_indexed()
        (now,) = await rig.engine.service.newest(conversation_id=where, limit=5)
        assert metadata(store, stored)["strength"] == now.memory.strength > 50


async def test_a_record_of_a_note_tells_its_file_and_stays_when_the_file_is_saved_again(
    tmp_path: Path,
) -> None:
    store = InMemoryVectorStore()
    file = tmp_path / "memory/shared/ops/RUNBOOK.md"
    file.parent.mkdir(parents=True)
    file.write_text("# 备份\n先停机。", "utf-8")
    async with running(tmp_path, store=store) as rig:
        await rig.until_indexed()
        (rows,) = store.disk.collections.values()
        ((identifier, row),) = rows.items()
        (chunk,) = rig.engine.notes.all()
        assert identifier == f"@shared/{chunk.note_id}"
        assert row.metadata.keys() == {"kind", "topic", "memory_scope", "content_hash"}
        assert row.metadata["topic"] == "ops/RUNBOOK.md"
        file.write_text("\n\n# 备份\n先停机。\n", "utf-8")
        await rig.engine.notes.refresh()
        await rig.until_indexed()
        assert rows[identifier] is row
        assert [chunk.first for chunk in rig.engine.notes.all()] == [3]
