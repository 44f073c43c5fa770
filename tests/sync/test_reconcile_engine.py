"""The whole engine follows the files: the index, recall, the notes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.llm_memory import StoredMemory
from astrbot_plugin_scoped_memory.llm_memory.errors import StateUnavailable
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Refused
from astrbot_plugin_scoped_memory.llm_memory.vault.ledger import SqliteLedger
from astrbot_plugin_scoped_memory.tests.fakes.watcher import FakeWatcher
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, running
from astrbot_plugin_scoped_memory.tests.sync.test_reconcile import edited

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
