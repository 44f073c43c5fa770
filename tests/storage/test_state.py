"""The files of small facts at an engine's door: what they hold, and what a broken one costs."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    EnginePaths,
    EngineSettings,
    MemoryDraft,
    Refused,
    Stored,
    Turn,
    build_engine,
)
from astrbot_plugin_scoped_memory.llm_memory.storage.sqlite_file import SqliteFile
from astrbot_plugin_scoped_memory.llm_memory.storage.state_store import SqliteStateStore
from astrbot_plugin_scoped_memory.tests.support.engines import (
    MAP,
    Rig,
    group,
    person,
    private,
    running,
)

pytestmark = pytest.mark.engine

PEANUTS, QUESTION = "奶奶对花生过敏", "奶奶能吃花生吗"
TURN = Turn(person(1), "奶奶吃了花生就起疹子", "记下了")
ADMIN = person(9, admin=True)


async def test_a_command_line_that_knows_no_conversation_touches_no_queue(tmp_path: Path) -> None:
    path = tmp_path / "state" / "loop.sqlite"
    path.parent.mkdir()
    path.write_bytes(b"broken")
    async with build_engine(EnginePaths.under(tmp_path), EngineSettings(), remembers=False):
        pass
    assert path.read_bytes() == b"broken"
    assert [p.name for p in path.parent.glob("loop*")] == ["loop.sqlite"]


async def observed(rig: Rig, number: int = 777) -> str:
    """What became of a turn: empty for a ticket."""
    outcome = await rig.engine.service.observe(TURN, conversation_id=group(number))
    return outcome.reason if isinstance(outcome, Refused) else ""


async def test_after_a_broken_queue_pauses_hold_and_the_rest_goes_on(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        await rig.engine.service.pause(conversation_id=group(777), actor=ADMIN)
    (tmp_path / "state" / "loop.sqlite").write_bytes(b"broken")
    async with running(tmp_path) as rig:
        assert [notice.code for notice in rig.notices] == ["loop_reset"]
        assert (await observed(rig), await observed(rig, 888)) == ("off_the_record", "")
    async with running(tmp_path) as rig:
        assert rig.notices == []


# What cannot be opened


def state_is_a_file(state: Path, _: pytest.MonkeyPatch) -> None:
    shutil.rmtree(state)
    state.write_bytes(b"a file")


def both_are_folders(state: Path, _: pytest.MonkeyPatch) -> None:
    shutil.rmtree(state)
    for name in ("state", "loop"):
        (state / f"{name}.sqlite").mkdir(parents=True)


def full_disk(_: Path, patch: pytest.MonkeyPatch) -> None:
    """As SQLite says it where it makes its files."""

    def full(_: SqliteFile) -> sqlite3.Connection:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    patch.setattr(SqliteFile, "connect", full)


@pytest.mark.parametrize("break_it", [state_is_a_file, both_are_folders, full_disk])
async def test_files_that_cannot_be_opened_stop_no_memory_and_are_named_with_their_cause(
    tmp_path: Path,
    break_it: Callable[[Path, pytest.MonkeyPatch], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with running(tmp_path) as rig:
        await rig.remember(PEANUTS, group(777))
    break_it(tmp_path / "state", monkeypatch)
    async with running(tmp_path) as rig:
        told = {notice.code: notice.params for notice in rig.notices}
        for name in ("state", "loop"):
            params = told[f"{name}_unavailable"]
            assert params["path"] == str(tmp_path / "state" / f"{name}.sqlite")
            assert params["detail"]
            assert str(tmp_path) not in params["detail"]
        assert await rig.texts(QUESTION, group(777)) == [PEANUTS]
        assert await rig.texts(QUESTION, group(888)) == []
        await rig.remember("公司的门禁密码每周换", group(888))
        await rig.engine.service.meet(group(777), person(1))
        assert await observed(rig), "a ticket would promise that the turn is on the disk"
        await rig.engine.service.pause(conversation_id=group(777), actor=ADMIN)
        assert await observed(rig) == "off_the_record"
        status = await rig.engine.status()
        assert (status.ready, status.loop.queue.waiting) == (True, 0)
    monkeypatch.undo()
    if (tmp_path / "state").is_file():
        assert (tmp_path / "state").read_bytes() == b"a file"


# What the state alone remembers: the owner's map


async def test_what_can_still_be_read_of_a_locked_state_keeps_a_lost_map_on_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path, MAP) as rig:
        await rig.engine.service.meet(group(777), person(1))
    monkeypatch.setattr(SqliteStateStore, "WAIT_SECONDS", 0.1)
    path = tmp_path / "state" / "state.sqlite"
    before = path.read_bytes()
    with contextlib.closing(sqlite3.connect(path)) as holder:
        holder.execute("PRAGMA locking_mode=EXCLUSIVE")
        holder.execute("BEGIN EXCLUSIVE")
        for lost in ({}, {"aiocqhttp:GroupMessage:1": "别人"}):
            async with running(tmp_path, lost) as rig:
                assert {n.code for n in rig.notices} >= {"state_unavailable", "map_damaged"}
                assert await whys(rig) == UNKNOWN
    assert path.read_bytes() == before


async def whys(rig: Rig) -> list[str]:
    """Why two groups and a private chat, none of them in the map, have their scopes."""
    places = (group(777), group(999), private(5))
    reports = [await rig.engine.service.describe(conversation_id=where) for where in places]
    return [report.resolution.code for report in reports]


UNKNOWN = ["map_withheld"] * 3
BY_POLICY = ["group_policy", "group_policy", "dm_policy"]


def state_is_broken(state: Path, _: pytest.MonkeyPatch) -> None:
    (state / "state.sqlite").write_bytes(b"broken")


@pytest.mark.parametrize("lost", [{}, {"aiocqhttp:GroupMessage:9": "public"}])
@pytest.mark.parametrize("break_it", [state_is_a_file, both_are_folders, state_is_broken])
async def test_where_nobody_remembers_the_map_an_empty_one_publishes_nothing_until_confirmed(
    tmp_path: Path,
    break_it: Callable[[Path, pytest.MonkeyPatch], None],
    lost: dict[str, object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with running(tmp_path) as rig:
        await rig.remember(PEANUTS, group(777))
        await rig.remember("图书馆周一闭馆", group(999))
    break_it(tmp_path / "state", monkeypatch)
    for reset in (break_it is state_is_broken, False):
        async with running(tmp_path, lost) as rig:
            assert ("state_reset" in {notice.code for notice in rig.notices}) is reset
            assert await whys(rig) == UNKNOWN
    async with running(tmp_path, lost) as rig:
        assert await rig.texts("图书馆哪天闭馆", group(777)) == ["图书馆周一闭馆"]
        service = rig.engine.service
        refused = await service.remember(MemoryDraft("爷爷住院了"), conversation_id=group(777))
        assert not isinstance(refused, Stored)
        await service.confirm_map(actor=person(1))
        assert await whys(rig) == UNKNOWN
        await service.confirm_map(actor=ADMIN)
        assert await whys(rig) == BY_POLICY
    async with running(tmp_path) as rig:  # the map is back
        assert "map_damaged" not in {notice.code for notice in rig.notices}
        assert (await whys(rig))[1:] == BY_POLICY[1:]
        assert await rig.texts(QUESTION, group(777)) == [PEANUTS]
