"""The state file: what it may hold, and what a broken one costs."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    EngineOff,
    MemoryDraft,
    NoticeCode,
    NotObserved,
    Stored,
    Turn,
)
from astrbot_plugin_scoped_memory.llm_memory.components.state_store import SqliteStateStore
from astrbot_plugin_scoped_memory.llm_memory.errors import EngineClosed, StateUnavailable
from astrbot_plugin_scoped_memory.llm_memory.ports import Key, QueuedTurn
from astrbot_plugin_scoped_memory.tests.support.engines import MAP, group, person, running

NOW = datetime(2026, 11, 21, 18, 0, tzinfo=UTC)
# Ids of conversations and persons, and no word of what was said.
WITHOUT_WORDS = {"meta", "seen_conversation", "map_key", "lost_map_key", "public_peer"}


def turn(number: int = 1, scope: str = "家人", text: str = "说过的话") -> QueuedTurn:
    """A queued turn."""
    where = "aiocqhttp:GroupMessage:777"
    return QueuedTurn(f"t-{number}", scope, where, NOW, "qq:1", "小明", text, "回答")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the state lies."""
    return tmp_path / "state" / "state.sqlite"


@pytest.fixture
def store(path: Path) -> SqliteStateStore:
    """An open state store."""
    made = SqliteStateStore(path)
    assert made.open()
    return made


def test_every_table_that_could_hold_words_carries_the_scope(
    store: SqliteStateStore, path: Path
) -> None:
    store.put_turn(turn())
    connection = sqlite3.connect(path)
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    tables = {name for name in tables if not name.startswith("sqlite_")}
    columns = {
        table: {row[1]: bool(row[3]) for row in connection.execute(f"PRAGMA table_info({table})")}
        for table in tables
    }
    connection.close()
    assert {"turn", "use_count"} <= tables
    without = {table for table, found in columns.items() if not found.get("scope")}
    assert without <= WITHOUT_WORDS
    assert all(len(columns[table]) <= 2 for table in without)


def test_what_was_stored_is_there_after_a_restart(store: SqliteStateStore, path: Path) -> None:
    store.mark_seen("a:GroupMessage:1")
    store.mark_seen("a:GroupMessage:1")
    store.add_public_peer("qq:1")
    store.remember_map_keys(["k1", "k2"], lost=["k0"])
    store.put_turn(turn(text="话" * 100_000))
    store.count_use([Key("家人", "m-1"), Key("家人", "m-1"), Key("公司", "m-1")])
    store.close()
    again = SqliteStateStore(path)
    assert again.open()
    assert again.seen_conversations() == {"a:GroupMessage:1"}
    assert again.public_peers() == {"qq:1"}
    assert again.remembered_map_keys() == {"k1", "k2"}
    assert again.lost_map_keys() == {"k0"}
    assert again.get_turn("t-1") == turn(text="话" * 100_000)
    assert again.get_turn("t-2") is None
    assert again.queue_length() == 1
    assert [again.uses(Key(s, "m-1")) for s in ("家人", "公司", "public")] == [2, 1, 0]
    again.remember_map_keys(["k3"], lost=())
    assert (again.remembered_map_keys(), again.lost_map_keys()) == ({"k3"}, set())
    again.drop_turn("t-1")
    again.drop_turn("t-1")
    assert again.queue_length() == 0


def test_a_closed_store_says_so(store: SqliteStateStore) -> None:
    store.close()
    store.close()
    with pytest.raises(EngineClosed):
        store.queue_length()
    with pytest.raises(EngineClosed):
        store.remember_map_keys([], lost=())


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_file_that_is_no_database_is_set_aside_and_kept(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    store = SqliteStateStore(path)
    assert store.open() is (content == b"")
    store.put_turn(turn())
    store.close()
    kept = [p.read_bytes() for p in path.parent.iterdir() if ".broken-" in p.name]
    assert kept == ([] if content == b"" else [content])


def test_a_database_with_damaged_pages_is_set_aside_with_its_log(
    store: SqliteStateStore, path: Path
) -> None:
    for number in range(200):
        store.put_turn(turn(number, text="话" * 500))
    store.close()
    raw = bytearray(path.read_bytes())
    raw[4096:-4096] = b"\xaa" * (len(raw) - 8192)
    path.write_bytes(raw)
    path.with_name("state.sqlite-wal").write_bytes(b"left over")
    again = SqliteStateStore(path)
    assert not again.open()
    assert again.queue_length() == 0
    again.put_turn(turn())
    again.close()
    third = SqliteStateStore(path)
    assert third.open()
    assert third.get_turn("t-1") == turn()
    assert any(bytes(raw) == p.read_bytes() for p in path.parent.iterdir())


def test_two_broken_files_in_one_second_are_both_kept(path: Path) -> None:
    path.parent.mkdir()
    for content in (b"first broken", b"second broken"):
        path.write_bytes(content)
        store = SqliteStateStore(path)
        assert not store.open()
        store.close()
    kept = {p.read_bytes() for p in path.parent.iterdir() if ".broken-" in p.name}
    assert kept == {b"first broken", b"second broken"}


def test_a_database_that_another_holds_is_not_set_aside(
    store: SqliteStateStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put_turn(turn())
    store.close()
    monkeypatch.setattr(SqliteStateStore, "WAIT_SECONDS", 0.1)
    holder = sqlite3.connect(path)
    holder.execute("PRAGMA locking_mode=EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    again = SqliteStateStore(path)
    with pytest.raises(StateUnavailable):
        again.open()
    holder.close()
    assert again.open()
    assert again.get_turn("t-1") == turn()


async def test_an_engine_whose_state_cannot_be_opened_is_off_and_keeps_nobody_waiting(
    tmp_path: Path,
) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "state.sqlite").mkdir()
    with pytest.raises(EngineOff):
        async with running(tmp_path):
            pass


async def test_a_broken_state_file_is_said_and_costs_no_memory(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        await rig.remember("奶奶对花生过敏", group(777))
    (tmp_path / "state" / "state.sqlite").write_bytes(b"broken")
    async with running(tmp_path) as rig:
        assert NoticeCode.STATE_RESET in {notice.code for notice in rig.notices}
        assert await rig.texts("奶奶能吃花生吗", group(777)) == ["奶奶对花生过敏"]


async def test_a_state_that_fails_later_stops_neither_recall_nor_remembering(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as rig:
        damage = sqlite3.connect(tmp_path / "state" / "state.sqlite")
        for table in ("seen_conversation", "public_peer", "turn", "use_count", "map_key"):
            damage.execute(f"DROP TABLE {table}")
        damage.commit()
        damage.close()
        service = rig.engine.service
        meeting = await service.meet(group(777), person(1))
        assert meeting.first
        outcome = await service.remember(MemoryDraft("奶奶对花生过敏"), conversation_id=group(777))
        assert isinstance(outcome, Stored)
        assert await rig.texts("奶奶能吃花生吗", group(777)) == ["奶奶对花生过敏"]
        observed = await service.observe(Turn(person(1), "问", "答"), conversation_id=group(777))
        assert isinstance(observed, NotObserved)
        assert (await rig.engine.status()).ready


async def test_a_map_that_lost_everything_is_held_by_the_engine_until_an_admin_confirms(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, MAP) as rig:
        await rig.remember("奶奶对花生过敏", group(777))
    for _ in range(2):
        async with running(tmp_path, None) as rig:
            report = await rig.engine.service.describe(conversation_id=group(777))
            assert report.damaged
            assert await rig.texts("奶奶能吃花生吗", group(777)) == []
            refused = await rig.engine.service.remember(
                MemoryDraft("爷爷的生日在五月"), conversation_id=group(777)
            )
            assert not isinstance(refused, Stored)
            assert await rig.engine.service.confirm_map(actor=person(1)) is None
    async with running(tmp_path, None) as rig:
        assert await rig.engine.service.confirm_map(actor=person(1, admin=True)) == len(MAP)
        await rig.remember("图书馆周一闭馆", group(777))
    async with running(tmp_path, MAP) as rig:
        assert await rig.texts("奶奶能吃花生吗", group(777)) == ["奶奶对花生过敏"]
