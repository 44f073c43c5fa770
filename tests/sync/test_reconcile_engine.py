"""The whole engine follows the files: the index, recall, the notes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import Expanded, PointerNotVisible, Restored
from astrbot_plugin_scoped_memory.llm_memory.errors import EngineClosed, StateUnavailable
from astrbot_plugin_scoped_memory.llm_memory.index.vector.names import parse_id
from astrbot_plugin_scoped_memory.llm_memory.vault.ledger import SqliteLedger
from astrbot_plugin_scoped_memory.tests.fakes.vector_store import InMemoryVectorStore
from astrbot_plugin_scoped_memory.tests.fakes.watcher import FakeWatcher
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running
from astrbot_plugin_scoped_memory.tests.sync.test_reconcile import edited

pytestmark = pytest.mark.engine

ADMIN = person(1, "管理员", admin=True)
PEANUTS, WALNUTS = "奶奶对花生过敏", "奶奶对核桃过敏"


@contextlib.asynccontextmanager
async def following(rig: Rig) -> AsyncIterator[None]:
    """The engine keeps up with the files inside."""
    task = asyncio.create_task(rig.engine.follow())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def indexed(store: InMemoryVectorStore) -> dict[str, str]:
    """Scope by id, of all that the index holds."""
    (rows,) = store.disk.collections.values()
    return {parse_id(row).memory_id: parse_id(row).scope for row in rows}


def contents(folder: Path) -> dict[Path, bytes]:
    """Every file below it."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def until_known(rig: Rig, where: int, *texts: str) -> None:
    """Wait for a conversation to see just these."""
    async with asyncio.timeout(30):
        while True:
            newest = await rig.engine.service.newest(conversation_id=group(where), limit=50)
            if sorted(stored.memory.judgment for stored in newest) == sorted(texts):
                return
            await asyncio.sleep(0.01)


async def test_index_and_recall_follow_edits_moves_and_deletions(tmp_path: Path) -> None:
    store, watcher = InMemoryVectorStore(), FakeWatcher()
    async with running(tmp_path, store=store, watcher=watcher) as rig, following(rig):
        memory_id = (await rig.remember(PEANUTS, group(777))).memory.memory.memory_id
        await rig.until_indexed()
        (rows,) = store.disk.collections.values()
        (before,) = [row.metadata["content_hash"] for row in rows.values()]
        path = tmp_path / "memory/scopes/家人/preferences.md"
        edited(path, ("花生", "核桃"))
        watcher.change()
        await until_known(rig, 777, WALNUTS)
        await rig.until_indexed()
        assert [row.metadata["content_hash"] for row in rows.values()] != [before]
        assert WALNUTS in await rig.texts("奶奶能吃核桃吗", group(777))

        target = tmp_path / "memory/scopes/公司/别处.md"
        target.parent.mkdir(parents=True)
        path.rename(target)
        watcher.change()
        await until_known(rig, 888, WALNUTS)
        await rig.until_indexed()
        assert indexed(store) == {memory_id: "公司"}
        expansion = await rig.engine.service.expand(memory_id, conversation_id=group(777))
        assert isinstance(expansion, PointerNotVisible)

        target.unlink()
        watcher.change()
        await until_known(rig, 888)
        await rig.until_indexed()
        assert indexed(store) == {}
        back = await rig.engine.service.restore(
            memory_id, conversation_id=group(888), actor=person(10001)
        )
        assert isinstance(back, Restored)
        await until_known(rig, 888, WALNUTS)


async def test_notes_are_followed_too(tmp_path: Path) -> None:
    watcher = FakeWatcher()
    async with running(tmp_path, watcher=watcher) as rig, following(rig):
        await rig.remember(PEANUTS, group(777))
        await watcher.started.wait()
        note = tmp_path / "memory/scopes/家人/旅行.md"
        note.write_text("# 京都\n\n住在四条的旅馆\n", "utf-8")
        watcher.change()
        async with asyncio.timeout(30):
            while not len(rig.engine.notes):  # noqa: ASYNC110  (no event to wait for)
                await asyncio.sleep(0.01)
        (chunk,) = rig.engine.notes.all()
        found = await rig.engine.service.expand(chunk.pointer, conversation_id=group(777))
        assert not isinstance(found, Expanded | PointerNotVisible)


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
        assert isinstance(follow.exception(), EngineClosed)


async def test_while_most_of_a_scope_is_missing_no_backup_may_be_thrown_away(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, watcher=FakeWatcher()) as rig:
        for number in range(6):
            await rig.remember(f"奶奶喜欢第{number}种茶", group(777))
        await rig.engine.reconcile()
        assert rig.engine.rooms.backup.may_rotate()
        path = tmp_path / "memory/scopes/家人/preferences.md"
        whole = path.read_bytes()
        path.unlink()
        await rig.engine.reconcile()
        assert not rig.engine.rooms.backup.may_rotate()
        path.write_bytes(whole)
        await rig.engine.reconcile()
        assert rig.engine.rooms.backup.may_rotate()
        path.unlink()
    engine = rig.engine
    assert not engine.rooms.backup.may_rotate()
    async with running(tmp_path, watcher=FakeWatcher()) as rig:
        assert not rig.engine.rooms.backup.may_rotate()
        assert await rig.engine.service.admin.confirm_deletions(actor=ADMIN) == 6
        assert rig.engine.rooms.backup.may_rotate()


async def test_before_the_files_were_compared_none_may_be_thrown_away_either(
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
            assert not rig.engine.rooms.backup.may_rotate()
            patch.undo()
            await rig.engine.reconcile()
            assert rig.engine.rooms.backup.may_rotate()
