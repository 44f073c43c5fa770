"""What the index is told about a memory beside its vector, and what it does not know yet is counted
as it is listed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory import MemoryDraft, MemoryKind, Stored
from astrbot_plugin_scoped_memory.llm_memory.catalogue.catalogue import key_of
from astrbot_plugin_scoped_memory.llm_memory.index.index_queue import IndexQueue
from astrbot_plugin_scoped_memory.llm_memory.index.vector.names import record_id
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory, StoredMemory
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key, Passage
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC
from astrbot_plugin_scoped_memory.tests.fakes.vector_store import InMemoryVectorStore
from astrbot_plugin_scoped_memory.tests.support.engines import group, person, running

pytestmark = pytest.mark.unit


AT = datetime(2026, 11, 21, tzinfo=UTC)


def stored(number: int, text: str = "奶奶对花生过敏") -> StoredMemory:
    memory = Memory(f"m-aaaaaaaaa{number}", text, AT)
    return StoredMemory(PUBLIC, "entities.md", memory)


Act = Callable[[IndexQueue, int], None]
ACTS: dict[str, Act] = {
    "put": lambda queue, number: queue.put(stored(number, f"第{len(queue)}句")),
    "remove": lambda queue, number: queue.remove(stored(number)),
    "suggest": lambda queue, number: queue.suggest(key_of(stored(number)), stored(number)),
    "suggest gone": lambda queue, number: queue.suggest(key_of(stored(number)), None),
    "mark_written": lambda queue, number: queue.mark_written(queue.first(number)),
    "park": lambda queue, _: [queue.park(entry) for entry in queue.first(1)] and None,
    "unpark": lambda queue, _: queue.unpark(),
    "postpone": lambda queue, _: [queue.postpone(entry) for entry in queue.first(1)] and None,
}


STORIES = st.lists(st.tuples(st.sampled_from([*ACTS]), st.integers(0, 3)), max_size=40)


def listed(queue: IndexQueue) -> dict[Key, Passage | None]:
    """What a lag that begins now tells of a few keys: None for what is gone."""
    with queue.lag() as lag:
        living = {key_of(passage): passage for passage in lag.living()}
        keys = [key_of(stored(number)) for number in range(4)]
        return {key: living.get(key) for key in keys if key in lag}


@given(STORIES, STORIES)
def test_a_lag_knows_all_that_was_on_the_list_at_some_time_and_the_newest_state_of_it(
    before: list[tuple[str, int]], while_it_is_asked: list[tuple[str, int]]
) -> None:
    queue = IndexQueue()
    for act, number in before:
        ACTS[act](queue, number)
    with queue.lag() as lag:
        seen = listed(queue)
        for act, number in while_it_is_asked:
            ACTS[act](queue, number)
            now = listed(queue)
            gone = sum(passage is None for passage in now.values())
            assert (queue.removals, queue.lacking) == (gone, len(now) - gone)
            assert queue.lacking == len(queue.living)
            seen |= now
        assert {key for key in seen if key in lag} == {*seen}
        assert {key_of(one): one for one in lag.living()} == {
            key: passage for key, passage in seen.items() if passage is not None
        }


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
        (chunk,) = rig.engine.parts.note_book.all()
        assert identifier == f"@shared/{chunk.note_id}"
        assert row.metadata.keys() == {"kind", "topic", "memory_scope", "content_hash"}
        assert row.metadata["topic"] == "ops/RUNBOOK.md"
        file.write_text("\n\n# 备份\n先停机。\n", "utf-8")
        await rig.engine.parts.note_book.refresh()
        await rig.until_indexed()
        assert rows[identifier] is row
        assert [chunk.first for chunk in rig.engine.parts.note_book.all()] == [3]
