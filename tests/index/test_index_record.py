"""What the index is told about a memory beside its vector."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import MemoryDraft, MemoryKind, Stored
from astrbot_plugin_scoped_memory.llm_memory.index.vector.names import record_id
from astrbot_plugin_scoped_memory.llm_memory.models.key import Key
from astrbot_plugin_scoped_memory.tests.fakes.vector_store import InMemoryVectorStore
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running

pytestmark = pytest.mark.unit

FIELDS = {
    "kind", "topic", "role", "strength", "active", "created_at", "who", "conversation_id",
    "memory_scope", "content_hash",
}  # fmt: skip


def metadata(store: InMemoryVectorStore, stored: Stored) -> Mapping[str, object]:
    """The record of a memory in the one collection."""
    (rows,) = store.disk.collections.values()
    key = Key(stored.memory.scope.name, stored.memory.memory.memory_id)
    return rows[record_id(key)].metadata


async def store_draft(rig: Rig, draft: MemoryDraft, persona: str | None = "") -> Stored:
    """Store in the group 777."""
    where = group(777, persona=persona)
    outcome = await rig.engine.service.remember(draft, conversation_id=where)
    assert isinstance(outcome, Stored), outcome
    await rig.until_indexed()
    return outcome


async def test_a_record_tells_what_its_memory_is(tmp_path: Path) -> None:
    store = InMemoryVectorStore()
    draft = MemoryDraft(
        "奶奶对花生过敏",
        kind=MemoryKind.EVENT,
        strength=83,
        actor=person(1001, "小明"),
    )
    async with running(tmp_path, store=store) as rig:
        stored = await store_draft(rig, draft, persona="管家")
        found = metadata(store, stored)
    assert {name: type(value) for name, value in found.items()} == {
        **dict.fromkeys(FIELDS, str),
        "strength": int,
        "active": bool,
        "created_at": float,
    }
    assert {name: found[name] for name in FIELDS - {"content_hash"}} == {
        "kind": "事件记忆",
        "topic": stored.memory.path,
        "role": "管家",
        "strength": 83,
        "active": True,
        "created_at": stored.memory.memory.created_at.timestamp(),
        "who": "小明",
        "conversation_id": "aiocqhttp:GroupMessage:777",
        "memory_scope": "家人",
    }
    assert stored.memory.path.endswith(".md")


async def test_a_record_of_a_passive_memory_of_nobody_has_the_same_fields(tmp_path: Path) -> None:
    store = InMemoryVectorStore()
    async with running(tmp_path, store=store) as rig:
        stored = await store_draft(rig, MemoryDraft("窗台上有猫", active=False), persona=None)
        found = metadata(store, stored)
    assert found.keys() == FIELDS
    assert found["active"] is False
    assert (found["role"], found["who"]) == ("", "")
    assert found["conversation_id"] == "aiocqhttp:GroupMessage:777"


async def test_a_stronger_memory_has_a_stronger_record(tmp_path: Path) -> None:
    store = InMemoryVectorStore()
    draft = MemoryDraft("奶奶对花生过敏", strength=50, actor=person(1001))
    async with running(tmp_path, store=store) as rig:
        stored = await store_draft(rig, draft)
        assert metadata(store, stored)["strength"] == 50
        await rig.engine.service.remember(draft, conversation_id=group(777))
        await rig.until_indexed()
        (now,) = await rig.engine.service.newest(conversation_id=group(777), limit=5)
        assert now.memory.strength > 50
        assert metadata(store, stored)["strength"] == now.memory.strength


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
