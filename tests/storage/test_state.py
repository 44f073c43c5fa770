"""The state file: what it may hold, and what a broken one costs."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    DmScope,
    EngineSettings,
    MemoryDraft,
    Refused,
    Stored,
    Ticket,
    Turn,
)
from astrbot_plugin_scoped_memory.llm_memory.errors import StateUnavailable
from astrbot_plugin_scoped_memory.llm_memory.models.conversation import SeenSender
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.llm_memory.models.settings import MapPast
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


def test_what_was_stored_is_there_after_a_restart(store: SqliteStateStore, path: Path) -> None:
    store.add_public_peer("qq:1")
    past = MapPast(*map(frozenset, (["k1", "k2"], ["家人"], ["qq"])))
    store.put_map_past(past)
    store.count_use([Key("家人", "m-1"), Key("家人", "m-1"), Key("公司", "m-1")])
    store.close()
    again = SqliteStateStore(path)
    assert again.open()
    assert again.public_peers() == {"qq:1"}
    assert again.map_past() == past
    assert again.all_uses() == {Key("家人", "m-1"): 2, Key("公司", "m-1"): 1}
    again.put_map_past(MapPast(frozenset({"k3"})))
    assert again.map_past() == MapPast(frozenset({"k3"}), scopes=past.scopes)


def test_who_was_seen_where_and_in_which_scope_a_history_was_used_stay(
    store: SqliteStateStore, path: Path
) -> None:
    wen = SeenSender("qq:GroupMessage:2_7", "家人", "aiocqhttp", "7", "2", "小雯")
    renamed = wen._replace(name="雯雯", scope="合租")
    elsewhere = wen._replace(group="8")
    for sender in (wen, renamed, elsewhere):
        store.note_sender(sender)
    store.note_model_history("qq:1", "c1", "家人", mixed=False)
    store.note_model_history("qq:1", "c1", "公司", mixed=True)
    store.close()
    again = SqliteStateStore(path)
    assert again.open()
    assert set(again.senders(wen.umo)) == {renamed, elsewhere}
    assert again.senders("qq:GroupMessage:3_7") == []
    assert again.model_history("qq:1", "c1") == ("公司", True)
    assert again.model_history("qq:1", "c2") is None


Break = Callable[[Path, pytest.MonkeyPatch], None]


def state_is_a_file(state: Path, _: pytest.MonkeyPatch) -> None:
    if state.exists():
        shutil.rmtree(state)
    state.write_bytes(b"a file")


def file_is_a_folder(state: Path, _: pytest.MonkeyPatch) -> None:
    if state.exists():
        shutil.rmtree(state)
    (state / "state.sqlite").mkdir(parents=True)


def full_disk(_: Path, patch: pytest.MonkeyPatch) -> None:
    """As SQLite says it where it makes its files."""

    def full(_: SqliteStateStore) -> sqlite3.Connection:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    patch.setattr(SqliteStateStore, "connect", full)


BREAKS = [state_is_a_file, file_is_a_folder, full_disk]


@pytest.mark.parametrize("break_it", BREAKS)
async def test_a_state_that_cannot_be_opened_stops_no_memory_and_is_named_with_its_cause(
    tmp_path: Path, break_it: Break, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path) as rig:
        await rig.remember(PEANUTS, group(777))
    break_it(tmp_path / "state", monkeypatch)
    async with running(tmp_path) as rig:
        notice, *others = rig.notices
        assert notice.code == "state_unavailable"
        assert {other.code for other in others} <= {"loop_unavailable"}
        assert notice.params["path"] == str(tmp_path / "state" / "state.sqlite")
        assert notice.params["detail"]
        assert str(tmp_path) not in notice.params["detail"]
        assert await rig.texts(QUESTION, group(777)) == [PEANUTS]
        assert await rig.texts(QUESTION, group(888)) == []
        await rig.remember("公司的门禁密码每周换", group(888))
        await rig.remember("图书馆周一闭馆", group(999))
        service = rig.engine.service
        await service.meet(group(777), person(1))
        # A ticket promises that the turn is on the disk, in a file of its own.
        observed = await service.observe(Turn(person(1), "问", "答"), conversation_id=group(777))
        assert isinstance(observed, Refused if others else Ticket)
        assert (await rig.engine.status()).ready
    monkeypatch.undo()
    if (tmp_path / "state").is_file():
        assert (tmp_path / "state").read_bytes() == b"a file"


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
                codes = {notice.code for notice in rig.notices}
                assert codes >= {"state_unavailable", "map_damaged"}
                service = rig.engine.service
                report = await service.describe(conversation_id=group(777))
                assert report.resolution.code == "map_withheld"
                await service.meet(group(777), person(1))
    assert path.read_bytes() == before


async def whys(rig: Rig) -> list[str]:
    """Why two groups and a private chat, none of them in the map, have their scopes."""
    places = (group(777), group(999), private(5))
    reports = [await rig.engine.service.describe(conversation_id=where) for where in places]
    return [report.resolution.code for report in reports]


UNKNOWN = ["map_withheld"] * 3
BY_POLICY = ["group_policy", "group_policy", "dm_policy"]


@pytest.mark.parametrize("lost", [{}, {"aiocqhttp:GroupMessage:9": "public"}])
@pytest.mark.parametrize("break_it", [state_is_a_file, file_is_a_folder])
async def test_where_nobody_remembers_the_map_an_empty_one_publishes_nothing_until_confirmed(
    tmp_path: Path,
    break_it: Break,
    lost: dict[str, object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with running(tmp_path) as rig:
        await rig.remember(PEANUTS, group(777))
        await rig.remember("图书馆周一闭馆", group(999))
    break_it(tmp_path / "state", monkeypatch)
    async with running(tmp_path, lost) as rig:
        assert "map_damaged" in {notice.code for notice in rig.notices}
        assert await whys(rig) == UNKNOWN
        assert await rig.texts("图书馆哪天闭馆", group(777)) == ["图书馆周一闭馆"]
        service = rig.engine.service
        refused = await service.remember(MemoryDraft("爷爷住院了"), conversation_id=group(777))
        assert not isinstance(refused, Stored)
        assert (await service.describe(conversation_id=group(777))).damaged
        await service.confirm_map(actor=person(1))
        assert await whys(rig) == UNKNOWN
        await service.confirm_map(actor=person(1, admin=True))
        assert await whys(rig) == BY_POLICY
        standing = {notice.code for notice in (await rig.engine.status()).notices}
        assert "map_damaged" not in standing
    async with running(tmp_path) as rig:  # the map is back
        assert "map_damaged" not in {notice.code for notice in rig.notices}
        assert await rig.texts(QUESTION, group(777)) == [PEANUTS]


async def test_after_a_broken_state_file_a_lost_map_stays_on_hold_across_restarts(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as rig:
        await rig.remember(PEANUTS, group(777))
    for scope_map in ({}, {"aiocqhttp:GroupMessage:777": "家人"}):
        (tmp_path / "state" / "state.sqlite").write_bytes(b"broken")
        for start in range(3):
            async with running(tmp_path, {}) as rig:
                codes = {notice.code for notice in rig.notices}
                assert ("state_reset" in codes) is (start == 0)
                assert await whys(rig) == UNKNOWN
        async with running(tmp_path, scope_map) as rig:
            if not scope_map:
                await rig.engine.service.confirm_map(actor=person(1, admin=True))
            else:
                assert (await whys(rig))[1:] == BY_POLICY[1:]
                assert await rig.texts(QUESTION, group(777)) == [PEANUTS]
        if not scope_map:
            async with running(tmp_path, {}) as rig:
                assert await whys(rig) == BY_POLICY


@pytest.mark.parametrize(
    ("had", "whys_then"),
    [({}, BY_POLICY), (MAP, [*UNKNOWN[:2], "dm_policy"])],
    ids=["no scope that only a map can name", "a mapped scope"],
)
async def test_an_unknown_map_holds_only_what_would_fall_to_public(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    had: dict[str, object],
    whys_then: list[str],
) -> None:
    apart = EngineSettings(dm_scope=DmScope.PER_PEER)
    async with running(tmp_path, had, settings=apart) as rig:
        await rig.remember(PEANUTS, group(777))
        await rig.remember("我的生日在五月", private(5))
    file_is_a_folder(tmp_path / "state", monkeypatch)
    async with running(tmp_path, {}, settings=apart) as rig:
        assert await whys(rig) == whys_then


def test_an_installation_keeps_its_id_and_shares_it_with_no_other(tmp_path: Path) -> None:
    made = []
    for name in ("one", "one", "two"):
        store = SqliteStateStore(tmp_path / name / "state.sqlite")
        store.open()
        made.append(store.installation())
        assert store.installation() == made[-1]
        store.close()
    assert [len(one) for one in made] == [32] * 3
    assert made[0] == made[1] != made[2]
    store = SqliteStateStore(tmp_path / "state.sqlite")
    store.open_in_memory()
    with pytest.raises(StateUnavailable):
        store.installation()
    store.close()
