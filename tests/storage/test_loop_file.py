"""The file of the memory loop: what it may hold, and what a broken one costs."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    EnginePaths,
    EngineSettings,
    Refused,
    Ticket,
    Turn,
    build_engine,
)
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_file import SqliteLoopFile
from astrbot_plugin_scoped_memory.tests.support.engines import (
    Rig,
    group,
    person,
    private,
    running,
)

pytestmark = pytest.mark.engine

PEANUTS, QUESTION = "奶奶对花生过敏", "奶奶能吃花生吗"
TURN = Turn(person(1), "奶奶吃了花生就起疹子", "记下了")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where it lies."""
    return tmp_path / "state" / "loop.sqlite"


async def test_each_row_of_a_turn_lies_in_the_file_with_its_scope(
    tmp_path: Path, path: Path
) -> None:
    said = {group(777): "家人", private(1002): "家人", group(888): "公司", group(999): "public"}
    async with running(tmp_path) as rig:
        for where in said:
            turn = Turn(person(1), f"我在{where}说话", "好")
            assert isinstance(await rig.engine.service.observe(turn, conversation_id=where), Ticket)
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT conversation, scope, user_text FROM turn").fetchall()
    assert {conversation: scope for conversation, scope, _ in rows} == {
        str(where): scope for where, scope in said.items()
    }
    assert all(conversation in text for conversation, _, text in rows)


async def test_a_command_line_that_knows_no_conversation_touches_it_not(
    tmp_path: Path, path: Path
) -> None:
    path.parent.mkdir()
    path.write_bytes(b"broken")
    engine = build_engine(EnginePaths.under(tmp_path), EngineSettings(), remembers=False)
    await engine.open()
    await engine.close()
    assert path.read_bytes() == b"broken"
    assert [p.name for p in path.parent.glob("loop*")] == ["loop.sqlite"]


async def observed(rig: Rig, number: int = 777) -> str:
    """What became of a turn: empty for a ticket."""
    outcome = await rig.engine.service.observe(TURN, conversation_id=group(number))
    return outcome.reason if isinstance(outcome, Refused) else ""


async def test_after_a_broken_file_pauses_hold_and_the_rest_goes_on(
    tmp_path: Path, path: Path
) -> None:
    async with running(tmp_path) as rig:
        await rig.engine.service.pause(conversation_id=group(777), actor=person(9, admin=True))
    path.write_bytes(b"broken")
    async with running(tmp_path) as rig:
        assert [notice.code for notice in rig.notices] == ["loop_reset"]
        assert await observed(rig) == "off_the_record"
        assert await observed(rig, 888) == ""
    async with running(tmp_path) as rig:
        assert rig.notices == []


Break = Callable[[Path, pytest.MonkeyPatch], None]


def is_a_folder(path: Path, _: pytest.MonkeyPatch) -> None:
    path.mkdir(parents=True)


def full_disk(_: Path, patch: pytest.MonkeyPatch) -> None:
    """As SQLite says it where it makes its files."""

    def full(_: SqliteLoopFile) -> sqlite3.Connection:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    patch.setattr(SqliteLoopFile, "connect", full)


@pytest.mark.parametrize("break_it", [is_a_folder, full_disk])
async def test_a_file_that_cannot_be_opened_stops_the_loop_alone_and_is_named_with_its_cause(
    tmp_path: Path, path: Path, break_it: Break, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_it(path, monkeypatch)
    async with running(tmp_path) as rig:
        (notice,) = rig.notices
        assert notice.code == "loop_unavailable"
        assert notice.params["path"] == str(path)
        assert notice.params["detail"]
        await rig.remember(PEANUTS, group(777))
        assert await rig.texts(QUESTION, group(777)) == [PEANUTS]
        assert await rig.texts(QUESTION, group(888)) == []
        await rig.engine.service.pause(conversation_id=group(777), actor=person(9, admin=True))
        assert await observed(rig) == "off_the_record"
        status = await rig.engine.status()
        assert (status.ready, status.loop.queue.waiting) == (True, 0)
