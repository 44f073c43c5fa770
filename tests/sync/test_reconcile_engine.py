"""The whole engine follows the files: the index, recall, the notes."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.llm_memory import StoredMemory
from astrbot_plugin_scoped_memory.llm_memory.errors import StateUnavailable
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Refused
from astrbot_plugin_scoped_memory.llm_memory.text.hit_line import fence
from astrbot_plugin_scoped_memory.llm_memory.vault.ledger import SqliteLedger
from astrbot_plugin_scoped_memory.tests.fakes.watcher import FakeWatcher
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running
from astrbot_plugin_scoped_memory.tests.sync.desk import edited

pytestmark = pytest.mark.engine

PEANUTS = "奶奶对花生过敏"


@contextlib.asynccontextmanager
async def following(rig: Rig) -> AsyncIterator[None]:
    """The engine keeps up with the files inside."""
    task = asyncio.create_task(rig.engine.follow())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def contents(folder: Path) -> dict[Path, bytes]:
    """Every file below it."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def test_entries_and_notes_are_followed(tmp_path: Path) -> None:
    watcher = FakeWatcher()
    async with running(tmp_path, watcher=watcher) as rig, following(rig):
        await rig.remember(PEANUTS, group(777))
        await watcher.started.wait()
        edited(tmp_path / "memory/scopes/家人/preferences.md", ("花生", "核桃"))
        note = tmp_path / "memory/scopes/家人/旅行.md"
        note.write_text("# 京都\n\n住在四条的旅馆\n", "utf-8")
        watcher.change()
        service = rig.engine.service

        async def followed() -> bool:
            (entry,) = await service.newest(conversation_id=group(777), limit=5)
            return entry.memory.judgment == "奶奶对核桃过敏" and bool(
                len(rig.engine.parts.note_book)
            )

        await until(followed, within=30, what="an entry and a note as they are in the files")
        (chunk,) = rig.engine.parts.note_book.all()
        found = await service.expand(chunk.pointer, conversation_id=group(777))
        assert not isinstance(found, StoredMemory | Refused)


CONTROLS = "\x00\x01\x08\x0b\x1b\x7f\x85"
BY_HAND = (
    f"## 水表在{CONTROLS}楼道里 ^m-hand0001\n> 谁：小{CONTROLS}明 · 标签：水{CONTROLS}表\n\n"
    f"每{CONTROLS}月抄一次。\n\n## 另外\n\n- 电表\\{CONTROLS}在门{CONTROLS}外 ^m-hand0002\n"
)


async def test_control_characters_of_a_persons_file_are_told_nowhere(tmp_path: Path) -> None:
    """The file keeps them."""
    entries, note = (
        tmp_path / "memory/scopes/家人/entities.md",
        tmp_path / "memory/scopes/家人/旅行.md",
    )
    entries.parent.mkdir(parents=True)
    entries.write_text(BY_HAND, "utf-8")
    note.write_text(f"# 京{CONTROLS}都\n\n旅馆{CONTROLS}在四条，水表在地下\n", "utf-8")
    async with running(tmp_path) as rig:
        await rig.until_words()
        service, here = rig.engine.service, group(777)
        told: list[object] = [rig.living(), rig.engine.parts.note_book.all()]
        for query in ("水表在哪", "电表在哪", "旅馆在哪"):
            found = await rig.recall(query, here)
            assert found.hits
            told += [found, fence(found.hits, rig.engine.parts.texts)]
        told += await service.newest(conversation_id=here, limit=5)
        told += [
            await service.read(path, conversation_id=here) for path in ("entities.md", "旅行.md")
        ]
        told += [await service.expand("m-hand0001", conversation_id=here)]
        assert not [one for one in map(repr, told) if re.search(r"\\x[0189]|\\x7f", one)]
        name = await service.export(conversation_id=here, actor=person(9, admin=True))
        exported = "".join(path.read_text("utf-8") for path in (tmp_path / "exports").glob("*"))
        assert "水表在楼道里" in exported, name
    assert entries.read_text("utf-8") == BY_HAND


async def test_a_closed_engine_writes_nothing_more(tmp_path: Path) -> None:
    """Although it is told of a change, of what would be given an id."""
    watcher = FakeWatcher()
    async with running(tmp_path, watcher=watcher) as rig:
        await rig.remember(PEANUTS, group(777))
        follow = asyncio.create_task(rig.engine.follow())
        async with asyncio.timeout(30):
            await watcher.started.wait()
        await rig.engine.close()
        path = tmp_path / "memory/scopes/家人/preferences.md"
        path.write_text(path.read_text("utf-8") + "\n## 没有编号\n", "utf-8")
        before = contents(tmp_path / "memory")
        watcher.change()
        await asyncio.wait([follow], timeout=30)
        assert contents(tmp_path / "memory") == before
        assert follow.done()


async def test_before_the_files_were_compared_no_backup_may_be_thrown_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise StateUnavailable("disk full")

    async with running(tmp_path, watcher=FakeWatcher()) as rig:
        await rig.remember(PEANUTS, group(777))
    path = tmp_path / "memory/scopes/家人/preferences.md"
    path.write_text(path.read_text("utf-8").replace("花生", "核桃"), "utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(SqliteLedger, "record", full)
        async with running(tmp_path, watcher=FakeWatcher()) as rig:
            assert not rig.engine.parts.backup.may_rotate()
            patch.undo()
            await rig.engine.reconcile()
            assert rig.engine.parts.backup.may_rotate()
