"""A pre-scope plugin's records come along behind the bot, whatever gets in between."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.llm_memory import ConversationId, EngineSettings, MigrationMode
from astrbot_plugin_scoped_memory.llm_memory.migration.ports import ForeignRecord
from astrbot_plugin_scoped_memory.llm_memory.models.migration import Tally
from astrbot_plugin_scoped_memory.tests.support.engines import QUICK, Rig, group, running
from astrbot_plugin_scoped_memory.tests.support.migrating import (
    adds_up,
    fields,
    filled,
    held_at,
    legacy,
    migrating,
    status_of,
    until_done,
    until_state,
    until_status,
    until_told,
)

pytestmark = pytest.mark.engine

FAMILY, WORK, ELSEWHERE = group(777), group(888), group(1)


async def test_every_record_ends_in_the_vault_under_its_scope(
    tmp_path: Path,
) -> None:
    source = filled(
        {
            **legacy(250),
            "blank": fields("空白也是公共的", memory_scope="  "),
            "home": fields("奶奶的存折在衣柜里", memory_scope="家人"),
            "wild": fields("这是越界的密语", memory_scope="../x"),
            "number": fields("这是数字域的密语", memory_scope=7),
            "again": fields("小明在第3号柜子放了工具3x", strength=90),
            "nothing": None,
        }
    )
    async with running(tmp_path, legacy=source) as rig, migrating(rig):
        status = await until_done(rig)
        assert status.tally == Tally(
            scanned=256, patched=252, skipped=4, adopted=252, merged=1, quarantined=2, broken=1
        )
        assert adds_up(status)
        assert status.remaining == 0
        by_scope = (await rig.engine.status()).by_scope
        assert by_scope == {"public": 251, "家人": 1, "quarantine": 2}
        found = await rig.recall("小明在第3号柜子放了什么", ELSEWHERE)
        assert found.hits[0].preview == "小明在第3号柜子放了工具3x"
        assert (await rig.texts("奶奶的存折在哪里", FAMILY))[0] == "奶奶的存折在衣柜里"
        for where in (FAMILY, WORK, ELSEWHERE):
            assert not [text for text in await rig.texts("密语是什么", where) if "密语" in text]
        assert not [t for t in await rig.texts("奶奶的存折在哪里", WORK) if "存折" in t]
        letters = await rig.engine.migrations.dead_letters(10)
        assert {(one.record_id, one.reason, one.scope) for one in letters} == {
            ("nothing", "empty", ""),
            ("number", "illegal", "quarantine"),
            ("wild", "illegal", "quarantine"),
        }


async def test_a_record_is_recalled_from_the_first_second_and_can_be_read_whole(
    tmp_path: Path,
) -> None:
    source = filled(
        {
            **legacy(500),
            "home": fields("奶奶的存折在衣柜里", memory_scope="家人"),
            "wild": fields("越界的存折密语", memory_scope="../x"),
        }
    )
    async with running(tmp_path, legacy=source) as rig, migrating(rig):
        with held_at(source, "read"):
            status = await until_status(rig, lambda status: status.remaining > 0)
            assert (status.remaining, status.tally.scanned) == (502, 0)
            assert (status.mode, status.mode_on) == (MigrationMode.AUTO, True)
            assert (await rig.engine.status()).total == 0
            for number in (0, 250, 499):
                query = f"第{number}号柜子放了什么"
                found = await rig.recall(query, ELSEWHERE)
                assert found.hits[0].preview == f"小明在第{number}号柜子放了工具{number}x"
            expansion = await rig.engine.service.expand(
                found.hits[0].pointer, conversation_id=ELSEWHERE
            )
            assert expansion.memory.reasoning == "他自己说的"  # type: ignore[union-attr]
            assert (await rig.texts("奶奶的存折在哪里", FAMILY))[0] == "奶奶的存折在衣柜里"
            for where in (WORK, ELSEWHERE):
                assert not [t for t in await rig.texts("奶奶的存折密语", where) if "存折" in t]
        await until_done(rig)
        found = await rig.recall("第250号柜子放了什么", ELSEWHERE)
        assert [hit.preview for hit in found.hits].count("小明在第250号柜子放了工具250x") == 1
        assert not (await status_of(rig)).mode_on


async def test_while_the_collection_is_still_being_read_its_server_is_asked(
    tmp_path: Path,
) -> None:
    source = filled(
        {
            **legacy(30),
            "wild": fields("工具密语", memory_scope="../x"),
            "theirs": fields("工具私语", memory_scope="家人"),
        }
    )
    async with running(tmp_path, legacy=source) as rig, migrating(rig):
        with held_at(source, "page"):
            await until_state(rig, "running")
            await until_told(rig, "第17号柜子放了什么工具", ELSEWHERE)
            texts = await rig.texts("第17号柜子放了什么工具", ELSEWHERE, limit=20)
            assert texts[0] == "小明在第17号柜子放了工具17x"
            await until(lambda: _found(rig, "工具私语", FAMILY), within=60, what="a memory")
            for text in ("工具密语", "工具私语"):
                assert text not in await rig.texts(text, ELSEWHERE, limit=20)
            assert (await status_of(rig)).remaining == 0
        assert (await until_done(rig)).tally.scanned == 32


async def test_when_all_is_done_a_record_without_a_scope_is_nobodys(tmp_path: Path) -> None:
    source = filled(legacy(3))
    async with running(tmp_path, legacy=source) as rig, migrating(rig):
        await until_done(rig)
        source.put("late", "晚来的一条旧话", fields("晚来的一条旧话"))
        assert not [t for t in await rig.texts("晚来的一条旧话", ELSEWHERE) if "晚来" in t]
        assert source.records["late"].metadata == fields("晚来的一条旧话")
    async with running(tmp_path, legacy=source) as rig, migrating(rig):
        status = await until_done(rig)  # the next start takes it in
        assert status.tally.adopted == 4
        assert (await rig.texts("晚来的一条旧话", ELSEWHERE))[0] == "晚来的一条旧话"


def in_mode(mode: MigrationMode) -> EngineSettings:
    """Settings with this migration mode."""
    return replace(QUICK, migration_mode=mode)


async def test_mode_on_recalls_what_is_written_there_after_the_end_as_public(
    tmp_path: Path,
) -> None:
    source = filled(legacy(3))
    settings = in_mode(MigrationMode.ON)
    async with running(tmp_path, legacy=source, settings=settings) as rig, migrating(rig):
        await until_done(rig)
        late = {
            "late": fields("晚来的一条旧话"),
            "theirs": fields("晚来的一条家话", memory_scope="家人"),
            "wild": fields("晚来的一条野话", memory_scope="../x"),
        }
        for name, metadata in late.items():
            source.put(name, str(metadata["judgment"]), metadata)
        await until(lambda: _found(rig, "晚来的一条旧话", ELSEWHERE), within=60, what="a memory")
        texts = await rig.texts("晚来的一条话", ELSEWHERE, limit=20)
        assert not [text for text in texts if "家话" in text or "野话" in text]
        assert source.records["late"].metadata == fields("晚来的一条旧话")
        status = await status_of(rig)
        assert (status.state, status.mode, status.mode_on) == (
            "done",
            MigrationMode.ON,
            True,
        )
        # What an admin takes back does not come back by itself.
        (batch,) = status.batches
        await rig.engine.migrations.take_back(batch)
        await until_status(rig, lambda status: status.reversed and not status.mode_on)
        assert not await _found(rig, "晚来的一条旧话", ELSEWHERE)


async def test_mode_off_recalls_what_states_its_scope_and_the_rest_once_it_is_taken_in(
    tmp_path: Path,
) -> None:
    source = filled({**legacy(5), "home": fields("奶奶的存折在衣柜里", memory_scope="家人")})
    settings = in_mode(MigrationMode.OFF)
    async with running(tmp_path, legacy=source, settings=settings) as rig, migrating(rig):
        with held_at(source, "read"):
            status = await until_status(rig, lambda status: status.remaining > 0)
            assert (status.mode, status.mode_on) == (MigrationMode.OFF, False)
            assert await _found(rig, "奶奶的存折在衣柜里", FAMILY)
            assert not [t for t in await rig.texts("第3号柜子放了什么", ELSEWHERE) if "柜子" in t]
        await until_done(rig)
        assert await _found(rig, "小明在第3号柜子放了工具3x", ELSEWHERE)


async def _found(rig: Rig, text: str, where: ConversationId) -> bool:
    return text in await rig.texts(text, where, limit=20)


async def test_only_what_was_listed_at_the_start_is_touched(tmp_path: Path) -> None:
    source = filled(legacy(300))
    grown = threading.Event()

    def grow(what: str) -> None:
        if what == "read" and not grown.is_set():
            grown.set()
            source.records["new"] = ForeignRecord("new", "新写的", fields("新写的一句话"))

    source.before_call = grow
    async with running(tmp_path, legacy=source) as rig, migrating(rig):
        status = await until_done(rig)
        assert status.tally.scanned == 300
    assert source.records["new"].metadata == fields("新写的一句话")
    assert "new" not in source.changes


async def test_a_record_that_its_owner_changes_meanwhile_is_taken_as_it_is_then(
    tmp_path: Path,
) -> None:
    source = filled(legacy(3))
    calls: list[str] = []

    def change(what: str) -> None:
        calls.append(what)
        if calls.count("read") == 2 and what == "read":  # between our reading and our writing
            theirs = fields("小明在第1号柜子放了秘密", memory_scope="家人")
            source.records["old-00001"] = ForeignRecord("old-00001", None, theirs)

    source.before_call = change
    async with running(tmp_path, legacy=source) as rig, migrating(rig):
        status = await until_done(rig)
        assert adds_up(status)
        assert status.tally.scanned == 3
        assert (await rig.engine.status()).by_scope["家人"] == 1
        found = await rig.texts("小明在第1号柜子放了什么秘密", FAMILY)
        assert found[0] == "小明在第1号柜子放了秘密"
        found = await rig.texts("小明在第1号柜子放了什么秘密", ELSEWHERE)
        assert not [text for text in found if "秘密" in text]
    assert source.records["old-00001"].metadata == fields(
        "小明在第1号柜子放了秘密", memory_scope="家人"
    )


async def test_our_own_records_are_nobodys_to_migrate(tmp_path: Path) -> None:
    mine = {"memory_scope": "家人", "has_scope": 1, "content_hash": "x", "judgment": "不该被收"}
    lost = {"has_scope": 1, "content_hash": "x", "judgment": "丢了域的一条"}
    source = filled({"a": mine, "b": lost})
    async with running(tmp_path, legacy=source) as rig, migrating(rig):
        await until_state(rig, "idle")
        assert (await rig.engine.status()).total == 0
    assert source.changes == []
    assert not (tmp_path / "state" / "migration.sqlite").exists()
