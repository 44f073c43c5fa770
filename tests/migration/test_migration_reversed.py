"""A scope migration can be taken back: the metadata to the last field, the memories by their
batch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.models.migration import (
    MigrationState,
    ReverseReport,
    Tally,
)
from astrbot_plugin_scoped_memory.llm_memory.models.settings import WalkPace
from astrbot_plugin_scoped_memory.tests.fakes.foreign_collection import InMemoryForeign
from astrbot_plugin_scoped_memory.tests.migration.test_migration_interrupted import (
    ALL,
    RECORDS,
    SMALL,
    memories,
)
from astrbot_plugin_scoped_memory.tests.support.engines import group, person, running
from astrbot_plugin_scoped_memory.tests.support.migrating import (
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
SLOW = replace(SMALL, walk_pace=WalkPace(batch=5, least_pause=0.1, most_pause=0.1))
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
        assert report == ReverseReport(restored=54, left=0)
        assert source.records == snapshot
        status = await until_state(rig, MigrationState.IDLE)
        assert (status.reversed, status.tally, status.remaining) == (True, Tally(), 0)
        assert (await rig.texts("迁移之后新记的一句", ELSEWHERE))[0] == "迁移之后新记的一句"
        assert (await memories(rig))["public"] == 54
    async with running(tmp_path, legacy=source, settings=SMALL) as rig:
        assert (await status_of(rig)).reversed  # also before anything runs
    async with running(tmp_path, legacy=source, settings=SMALL) as rig, migrating(rig):
        assert (await until_state(rig, MigrationState.IDLE)).reversed  # not by itself
        assert source.records == snapshot
        assert await rig.engine.migrations.begin_again() == 1
        status = await until_done(rig)
        assert (status.tally.adopted, status.tally.patched) == (54, 54)
        assert not status.reversed
        assert (await memories(rig))["public"] == 54
    async with running(tmp_path, legacy=source, settings=SMALL) as rig:  # as the command line does
        status = await status_of(rig)
        assert (status.state, status.tally.adopted) == (MigrationState.DONE, 54)
        assert len(status.batches) == 1


async def test_reversed_in_the_middle_nothing_is_half_done(tmp_path: Path) -> None:
    source = odd()
    snapshot = dict(source.records)
    async with running(tmp_path, legacy=source, settings=SLOW) as rig, migrating(rig):
        await until_status(rig, lambda status: status.tally.scanned >= 20)
        report = await rig.engine.migrations.reverse()
        assert 0 < report.restored < 54
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
        assert await rig.engine.migrations.take_back(batch) == ReverseReport(49, 3)
        assert await memories(rig) == {"public": 2, "家人": 1, "quarantine": 0}
        assert not [t for t in await rig.texts("第20号柜子放了什么工具", ELSEWHERE) if "20x" in t]
        assert (await rig.texts("迁移之后新记的一句", ELSEWHERE))[0] == "迁移之后新记的一句"
        assert await rig.engine.migrations.take_back("b-nothing") is None
        # What was interrupted goes on, and finds nothing to do.
        assert (await until_state(rig, MigrationState.IDLE)).reversed
    async with running(tmp_path, legacy=source, settings=SMALL) as rig, migrating(rig):
        await until_state(rig, MigrationState.IDLE)
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
