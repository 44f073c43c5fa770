"""Whatever stops a scope migration, every record is there once, and counted once; and it can be
taken back: the metadata to the last field, the memories by their batch."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.migration.migration_store import SqliteMigrationStore
from astrbot_plugin_scoped_memory.llm_memory.models.migration import (
    Tally,
)
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown_vault import MarkdownVault
from astrbot_plugin_scoped_memory.tests.fakes.foreign_collection import InMemoryForeign
from astrbot_plugin_scoped_memory.tests.support.engines import (
    QUICK,
    Rig,
    group,
    person,
    running,
    with_pace,
)
from astrbot_plugin_scoped_memory.tests.support.migrating import (
    adds_up,
    fields,
    filled,
    legacy,
    migrating,
    status_of,
    until_done,
    until_state,
    until_status,
    until_told,
)

pytestmark = pytest.mark.engine

ELSEWHERE = group(1)
SMALL = replace(QUICK, migration_batch=20)
RECORDS = {
    **legacy(50),
    "home": fields("奶奶的存折在衣柜里", memory_scope="家人"),
    "wild": fields("这是越界的密语", memory_scope="../x"),
    "again": fields("小明在第3号柜子放了工具3x", strength=90),
    "nothing": None,
}
ALL = Tally(scanned=54, patched=51, skipped=3, adopted=51, merged=1, quarantined=1, broken=1)


async def memories(rig: Rig) -> dict[str, int]:
    """How many there are in each scope, by what the files say."""
    vault = MarkdownVault(rig.root / "memory")
    return {scope.name: len(vault.read(scope).memories) for scope in vault.scopes()}


async def settled(root: Path, source: object) -> None:
    """A last start, and what must be true after it."""
    async with running(root, legacy=source, settings=SMALL, follow=False) as rig, migrating(rig):  # type: ignore[arg-type]
        status = await until_done(rig)
        assert status.tally == ALL
        assert adds_up(status)
        assert await memories(rig) == {"public": 50, "家人": 1, "quarantine": 1}


async def test_a_server_that_goes_and_comes_back_is_waited_for(tmp_path: Path) -> None:
    source = filled(RECORDS)
    down = threading.Event()
    calls = 0

    def watch(what: str) -> None:
        nonlocal calls
        if not down.is_set():
            calls += 1
            if calls == 8:
                down.set()
        if down.is_set():
            raise IndexUnavailable("down", code="server_down")

    source.before_call = watch
    down.set()  # at the start already
    async with running(tmp_path, legacy=source, settings=SMALL) as rig, migrating(rig):
        await until_status(rig, lambda status: status.waiting == "server_down")
        down.clear()
        await until_status(rig, lambda status: status.remaining > 0 and bool(status.waiting))
        assert (await status_of(rig)).state == "running"
        await rig.remember("其间照常记住", group(777), person(1))
        assert (await rig.texts("其间照常记住", group(777)))[0] == "其间照常记住"
        down.clear()
        status = await until_done(rig)
        assert status.tally == ALL
        assert status.waiting == ""


async def test_where_every_record_fails_it_says_so_and_takes_none_for_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = filled(legacy(120))

    def change(ids: Sequence[str], decide: Any) -> None:
        raise ValueError("strange")

    monkeypatch.setattr(source, "change", change)
    async with running(tmp_path, legacy=source, settings=SMALL) as rig, migrating(rig):
        status = await until_state(rig, "failed")
        assert "strange" in status.detail
    monkeypatch.undo()
    async with running(tmp_path, legacy=source, settings=SMALL) as rig, migrating(rig):
        status = await until_done(rig)
        assert (status.tally.adopted, status.tally.broken) == (120, 0)


async def test_paused_it_waits_and_everything_is_recalled_all_the_same(tmp_path: Path) -> None:
    source = filled(legacy(300))
    paused = replace(SMALL, migration_paused=True)
    async with running(tmp_path, legacy=source, settings=paused) as rig, migrating(rig):
        await until_status(rig, lambda status: status.remaining == 300)
        await until_told(rig, "第299号柜子放了什么工具", ELSEWHERE)
        status = await until_state(rig, "paused")
        assert (status.remaining, status.tally.scanned) == (300, 0)
        assert source.changes == []
    async with running(tmp_path, legacy=source, settings=SMALL) as rig, migrating(rig):
        assert (await until_done(rig)).tally.adopted == 300


async def test_what_was_forgotten_or_moved_before_a_restart_does_not_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = filled(RECORDS)
    admin = person(9, admin=True)
    async with running(tmp_path, legacy=source, settings=SMALL) as rig:
        # All is in the vault, and nobody has noted that it is.
        monkeypatch.setattr(SqliteMigrationStore, "note_outcomes", lambda *_: None)
        await rig.engine.migrations.run_once()
        service = rig.engine.service
        for number, is_moved, is_forgotten in ((5, False, True), (6, True, False), (7, True, True)):
            (hit, *_) = (await rig.recall(f"第{number}号柜子放了什么工具", ELSEWHERE)).hits
            if is_moved:
                await service.move(hit.memory_id, "家人", conversation_id=ELSEWHERE, actor=admin)
            if is_forgotten:
                where = group(777) if is_moved else ELSEWHERE
                await service.forget(hit.memory_id, conversation_id=where, actor=admin)
        monkeypatch.undo()

    async def seen_elsewhere(rig: Rig) -> set[str]:
        found = await rig.texts("第5号第6号第7号柜子放了什么工具", ELSEWHERE, limit=50)
        return {text[-3:] for text in found} & {"工具5x", "工具6x", "工具7x"}

    paused = replace(SMALL, migration_paused=True)
    async with running(tmp_path, legacy=source, settings=paused) as rig, migrating(rig):
        await until_status(rig, lambda status: status.remaining == 54)
        assert not await seen_elsewhere(rig)
    async with running(tmp_path, legacy=source, settings=SMALL) as rig, migrating(rig):
        status = await until_done(rig)
        assert status.tally == ALL
        assert await memories(rig) == {"public": 47, "家人": 2, "quarantine": 1}
        assert not await seen_elsewhere(rig)


async def test_one_record_that_cannot_be_brought_is_named_and_the_others_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where what was known of former walks lies in a file that is broken."""
    source, change = filled(RECORDS), InMemoryForeign.change

    def odd(ids: Sequence[str], decide: Any) -> None:
        if "old-00031" in ids:
            raise KeyError("strange")
        change(source, ids, decide)

    monkeypatch.setattr(source, "change", odd)
    state = tmp_path / "state" / "migration.sqlite"
    state.parent.mkdir()
    state.write_bytes(b"no database at all" * 100)
    async with running(tmp_path, legacy=source, settings=SMALL) as rig, migrating(rig):
        status = await until_done(rig)
        assert status.tally == replace(ALL, patched=50, skipped=4, adopted=50, broken=2)
        letters = {one.record_id: one.reason for one in await rig.engine.migrations.dead_letters(9)}
        assert letters == {"old-00031": "KeyError", "nothing": "empty", "wild": ANY}
    assert list(state.parent.glob("migration.broken-*"))


SLOW = replace(with_pace(SMALL, rest_seconds=(0.1, 0.1)), migration_batch=5)
ODD = {
    **RECORDS,
    "blank": fields("空白也是公共的", memory_scope=" \t"),
    "bare": None,
    "numbers": fields("数字也要原样", strength="80", created_at=1_750_000_000_123, ratio=0.25),
}


def odd() -> InMemoryForeign:
    """With a record that has a document and no metadata."""
    source = filled(ODD)
    source.put("bare", "只有文本的一条,  日常", None)
    return source


def down(_: str) -> None:
    """A server that does not answer."""
    raise IndexUnavailable("down", code="server_down")


async def test_reversed_the_metadata_equals_the_snapshot_field_by_field_and_new_memories_stay(
    tmp_path: Path,
) -> None:
    source = odd()
    snapshot = dict(source.records)
    async with running(tmp_path, legacy=source, settings=SMALL) as rig, migrating(rig):
        await until_done(rig)
        assert source.records != snapshot
        await rig.remember("迁移之后新记的一句", ELSEWHERE, person(1))
        source.records["old-00007"] = replace(
            source.records["old-00007"],
            metadata={**(source.records["old-00007"].metadata or {}), "strength": 99, "x": 1},
        )
        report = await rig.engine.migrations.reverse()
        assert report == (54, 0)
        assert source.records == snapshot
        status = await until_state(rig, "idle")
        assert (status.reversed, status.tally, status.remaining) == (True, Tally(), 0)
        assert (await rig.texts("迁移之后新记的一句", ELSEWHERE))[0] == "迁移之后新记的一句"
        assert (await memories(rig))["public"] == 54
    async with running(tmp_path, legacy=source, settings=SMALL) as rig:
        assert (await status_of(rig)).reversed  # also before anything runs
    async with running(tmp_path, legacy=source, settings=SMALL) as rig, migrating(rig):
        assert (await until_state(rig, "idle")).reversed  # not by itself
        assert source.records == snapshot
        assert await rig.engine.migrations.begin_again() == 1
        status = await until_done(rig)
        assert (status.tally.adopted, status.tally.patched) == (54, 54)
        assert not status.reversed
        assert (await memories(rig))["public"] == 54
    async with running(tmp_path, legacy=source, settings=SMALL) as rig:  # as the command line does
        status = await status_of(rig)
        assert (status.state, status.tally.adopted) == ("done", 54)
        assert len(status.batches) == 1


async def test_reversed_in_the_middle_nothing_is_half_done(tmp_path: Path) -> None:
    source = odd()
    snapshot = dict(source.records)
    async with running(tmp_path, legacy=source, settings=SLOW) as rig, migrating(rig):
        await until_status(rig, lambda status: status.tally.scanned >= 20)
        report = await rig.engine.migrations.reverse()
        assert 0 < report[0] < 54
        assert source.records == snapshot
        # Strict again: what was not brought yet is nobody's.
        assert not [t for t in await rig.texts("第49号柜子放了什么", ELSEWHERE) if "49x" in t]


async def test_a_reverse_without_its_server_says_so_and_what_it_interrupted_goes_on(
    tmp_path: Path,
) -> None:
    source = odd()
    async with running(tmp_path, legacy=source, settings=SLOW) as rig, migrating(rig):
        await until_status(rig, lambda status: status.tally.scanned >= 10)
        source.before_call = down
        with pytest.raises(IndexUnavailable):
            await rig.engine.migrations.reverse()
        source.before_call = lambda _: None
        assert (await until_done(rig)).tally.scanned == 57


async def test_a_batch_is_taken_back_but_not_what_was_changed_since(tmp_path: Path) -> None:
    source = filled(RECORDS)
    admin = person(9, admin=True)
    async with running(tmp_path, legacy=source, settings=SMALL) as rig, migrating(rig):
        status = await until_done(rig)
        (batch,) = status.batches
        service = rig.engine.service
        await rig.remember("迁移之后新记的一句", ELSEWHERE, person(1))

        async def find(number: int) -> str:
            found = await rig.recall(f"第{number}号柜子放了什么工具", ELSEWHERE)
            assert found.hits[0].preview.endswith(f"{number}x")
            return found.hits[0].memory_id

        await service.edit(
            await find(11), "小明改过第11号柜子", conversation_id=ELSEWHERE, actor=admin
        )
        await service.move(await find(12), "家人", conversation_id=ELSEWHERE, actor=admin)
        await service.forget(await find(13), conversation_id=ELSEWHERE, actor=admin)
        # 53 were brought; three of them are not as they came.
        assert await rig.engine.migrations.take_back(batch) == (49, 3)
        assert await memories(rig) == {"public": 2, "家人": 1, "quarantine": 0}
        assert not [t for t in await rig.texts("第20号柜子放了什么工具", ELSEWHERE) if "20x" in t]
        assert (await rig.texts("迁移之后新记的一句", ELSEWHERE))[0] == "迁移之后新记的一句"
        assert await rig.engine.migrations.take_back("b-nothing") is None
        # What was interrupted goes on, and finds nothing to do.
        assert (await until_state(rig, "idle")).reversed
    async with running(tmp_path, legacy=source, settings=SMALL) as rig, migrating(rig):
        await until_state(rig, "idle")
        assert (await memories(rig))["public"] == 2
        await rig.engine.migrations.begin_again()
        status = await until_done(rig)
        assert status.tally == ALL
        assert await memories(rig) == {"public": 49, "家人": 2, "quarantine": 1}
        assert (await rig.texts("第20号柜子放了什么工具", ELSEWHERE))[0].endswith("20x")


async def test_a_dry_run_tells_what_would_be_and_changes_nothing(tmp_path: Path) -> None:
    source = filled(RECORDS)
    before = dict(source.records)
    async with running(tmp_path, legacy=source, settings=SMALL) as rig:
        assert await rig.engine.migrations.dry_run() == ALL
        assert source.records == before
        assert (await rig.engine.status()).total == 0
        assert not (tmp_path / "state" / "migration.sqlite").exists()
        await rig.engine.migrations.run_once()
        assert await rig.engine.migrations.dry_run() == Tally()


async def test_with_the_filter_switched_off_old_memories_come_and_learning_rests(
    tmp_path: Path,
) -> None:
    source = filled({**legacy(40), "home": fields("奶奶的存折在衣柜里", memory_scope="家人")})
    source.put("wild", "存折的密语", fields("存折的密语", memory_scope="../x"))
    off = replace(SMALL, scope_filter_enabled=False, migration_paused=True)
    async with running(tmp_path, legacy=source, settings=off) as rig, migrating(rig):
        await until_told(rig, "奶奶的存折在哪里", ELSEWHERE)  # everybody reads all
        assert not [t for t in await rig.texts("存折的密语", ELSEWHERE) if "密语" in t]
        assert "scope_filter_off" in {one.code for one in (await rig.engine.status()).notices}
    async with (
        running(tmp_path, legacy=source, settings=replace(off, migration_paused=False)) as rig,
        migrating(rig),
    ):
        await until_done(rig)
        assert (await rig.texts("奶奶的存折在哪里", ELSEWHERE))[0] == "奶奶的存折在衣柜里"
        assert not [t for t in await rig.texts("存折的密语", ELSEWHERE) if "密语" in t]
    async with running(tmp_path, legacy=source, settings=SMALL) as rig, migrating(rig):
        await until_done(rig)
        assert not [t for t in await rig.texts("奶奶的存折在哪里", ELSEWHERE) if "存折" in t]
