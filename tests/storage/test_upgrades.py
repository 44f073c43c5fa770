"""What lies on the disk: as former versions left it, as a later one left it, and brought up."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    EngineOff,
    EnginePaths,
    IndexUnavailable,
    NoticeCode,
    Restored,
    build_engine,
)
from astrbot_plugin_scoped_memory.llm_memory.errors import FormatNewer, UpgradeFailed
from astrbot_plugin_scoped_memory.llm_memory.index.manifest import JsonManifest
from astrbot_plugin_scoped_memory.llm_memory.migration.migration_store import SqliteMigrationStore
from astrbot_plugin_scoped_memory.llm_memory.models.migration import Fate, Outcome
from astrbot_plugin_scoped_memory.llm_memory.reflection.turn_store import SqliteTurnStore
from astrbot_plugin_scoped_memory.llm_memory.storage import files
from astrbot_plugin_scoped_memory.llm_memory.storage.directory_lock import LOCK_NAME
from astrbot_plugin_scoped_memory.llm_memory.storage.formats import (
    loop_schema,
    migration_schema,
    state_schema,
    vault_format,
)
from astrbot_plugin_scoped_memory.llm_memory.storage.formats.index_format import IndexFormat
from astrbot_plugin_scoped_memory.llm_memory.storage.formats.state_format import StateFormat
from astrbot_plugin_scoped_memory.llm_memory.storage.formats.vault_format import STAMP, VaultFormat
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_file import SqliteLoopFile
from astrbot_plugin_scoped_memory.llm_memory.storage.state_store import SqliteStateStore
from astrbot_plugin_scoped_memory.tests.house.source import script
from astrbot_plugin_scoped_memory.tests.support.engines import group, person, private, running

pytestmark = pytest.mark.engine

sample = script("make_format_sample")
SAMPLES = sorted(path for path in sample.SAMPLES.iterdir() if path.is_dir())
PRESENT = sample.SAMPLES / sample.folder_name()
PEANUTS, QUESTION = "奶奶对花生过敏", "奶奶能吃花生吗"

STATE = state_schema.FORMAT
"""The number that a state file has now."""

IS_READ = 15
"""The place of that column in a row of ``turn``."""

PLACES = (group(777), group(888), group(999), private(1002), group(5, persona="cat"))

Tree = dict[str, tuple[str, int]]


def tree(root: Path) -> Tree:
    """Each file's hash, and when it was written. The lock file alone may be touched."""
    return {
        path.relative_to(root).as_posix(): (
            hashlib.sha256(path.read_bytes()).hexdigest(),
            path.stat().st_mtime_ns,
        )
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name != LOCK_NAME
    }


def folders(root: Path) -> dict[str, int]:
    """When something was last made or removed in each folder, also if it is gone again."""
    return {
        path.relative_to(root).as_posix(): path.stat().st_mtime_ns
        for path in root.rglob("*")
        if path.is_dir()
    }


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A copy of the folder that this version made, to be changed at will."""
    shutil.copytree(PRESENT / "data", tmp_path / "data")
    return tmp_path / "data"


def state_of(root: Path) -> Path:
    """The state file of a data folder."""
    return root / "state" / "state.sqlite"


def number_in(path: Path) -> str:
    """The format that a state file states."""
    with closing(sqlite3.connect(path)) as connection:
        return str(connection.execute("SELECT value FROM meta WHERE name='format'").fetchone()[0])


def dump(path: Path) -> list[str]:
    """All that a database says."""
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def restate(path: Path, number: int, version: str) -> None:
    """Put another format and version into a database of ours."""
    with closing(sqlite3.connect(path)) as connection:
        for name, value in (("format", str(number)), ("written_by", version)):
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


# What former versions left


@pytest.mark.parametrize("folder", SAMPLES, ids=lambda path: path.name)
async def test_a_folder_of_a_former_version_opens_and_everything_is_found(
    folder: Path, tmp_path: Path
) -> None:
    root = tmp_path / "data"
    shutil.copytree(folder / "data", root)
    expected = json.loads((folder / "expected.json").read_text("utf-8"))
    async with running(root, sample.MAP, settings=sample.SETTINGS) as rig:
        assert rig.notices == []
        (archived,) = expected["archived"]
        found = {
            (entry.scope.name, entry.memory.memory_id): sample.entry(entry)
            for where in PLACES
            for entry in await rig.engine.service.newest(conversation_id=where, limit=99)
        }
        assert sorted(found.values(), key=str) == sorted(expected["memories"], key=str)
        assert await rig.texts(QUESTION, group(777)) == [PEANUTS]
        turns = expected.get("loop", {}).get("turn", [])  # until then they stood nowhere
        unread = [turn for turn in turns if turn[IS_READ] == 0]
        assert (await rig.engine.status()).queue == len(unread)
        restored = await rig.engine.service.restore(
            archived, conversation_id=group(777), actor=person(2001)
        )
        assert isinstance(restored, Restored)
    state = SqliteStateStore(state_of(root))
    state.open()
    assert group(777).umo in state.seen_conversations()
    state.close()
    async with running(root, None, settings=sample.SETTINGS) as rig:
        # The keys of the map that was there are known, too.
        assert (await rig.engine.service.describe(conversation_id=group(777))).damaged


async def test_opening_a_folder_of_this_version_changes_none_of_its_memory_files(
    data: Path,
) -> None:
    before = tree(data / "memory")
    async with running(data, sample.MAP, settings=sample.SETTINGS):
        pass
    assert tree(data / "memory") == before
    assert not (data / "backups").exists()
    expected = json.loads((PRESENT / "expected.json").read_text("utf-8"))
    assert sample.tables(state_of(data)) == expected["tables"]


def test_what_is_written_now_has_the_format_that_its_number_says(tmp_path: Path) -> None:
    assert PRESENT in SAMPLES, "a new number: run scripts/make_format_sample.py"
    expected = json.loads((PRESENT / "expected.json").read_text("utf-8"))
    changed = "a format changed: raise its number, write the step from the old one"
    assert sample.written_now(tmp_path) == expected["written"], changed


async def test_a_new_folder_is_signed_by_the_version_that_made_it(tmp_path: Path) -> None:
    for version in ("1.2.3", "2.0.0"):
        engine = build_engine(EnginePaths.under(tmp_path), sample.SETTINGS, version=version)
        await engine.open()
        await engine.close()
    stamp = json.loads((tmp_path / "memory" / STAMP).read_text("utf-8"))
    assert stamp == {"format": vault_format.FORMAT, "written_by": "1.2.3"}
    with closing(sqlite3.connect(state_of(tmp_path))) as connection:
        meta = dict(connection.execute("SELECT name, value FROM meta").fetchall())
    assert (meta["format"], meta["written_by"]) == (str(state_schema.FORMAT), "1.2.3")


NO_STAMPS = [b"", b"{", b"[2]", b"\xff\xfe", b"[" * 50_000, b'{"format": true}', b'{"format": "9"}']
NO_STAMPS += [b'{"format": 0}', b'{"format": -1}', b'{"format": 2.5}', b'{"format": null}', b"{}"]


@pytest.mark.parametrize("content", [None, *NO_STAMPS])
async def test_a_stamp_that_a_person_lost_or_broke_refuses_nothing_and_is_written_anew(
    data: Path, content: bytes | None
) -> None:
    stamp = data / "memory" / STAMP
    stamp.unlink()
    if content is not None:
        stamp.write_bytes(content)
    async with running(data, sample.MAP, follow=False) as rig:
        assert rig.notices == []
        assert PEANUTS in await rig.texts(QUESTION, group(777))
    assert f'"format": {vault_format.FORMAT},' in stamp.read_text("utf-8")


async def test_a_vault_that_takes_no_stamp_is_read_all_the_same(data: Path) -> None:
    (data / "memory" / STAMP).unlink()
    (data / "memory" / STAMP).mkdir()
    async with running(data, sample.MAP, follow=False) as rig:
        assert PEANUTS in await rig.texts(QUESTION, group(777))


# What a later version left


def newer_vault(root: Path) -> None:
    (root / "memory" / STAMP).write_text('{"format": 9, "written_by": "9.1.0"}', "utf-8")


def newer_state(root: Path) -> None:
    restate(state_of(root), 9, "9.1.0")


def newer_state_in_its_log(root: Path) -> None:
    """Killed right after it was upgraded: the file itself still says what it said before."""
    with closing(sqlite3.connect(state_of(root))) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("UPDATE meta SET value = '9' WHERE name = 'format'")
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('written_by', '9.1.0')")
        connection.commit()
        killed = root.with_name("killed")
        killed.mkdir()
        for path in state_of(root).parent.iterdir():
            shutil.copy(path, killed / path.name)
    shutil.rmtree(root / "state")
    killed.rename(root / "state")
    (root / "state" / "state.sqlite-shm").unlink()


def newer_loop(root: Path) -> None:
    restate(root / "state" / "loop.sqlite", 9, "9.1.0")


def newer_migration(root: Path) -> None:
    path = root / "state" / "migration.sqlite"
    store = SqliteMigrationStore(path)
    store.open()
    store.note_outcomes("j", [Outcome("a", Fate.DONE)])
    store.close()
    restate(path, 9, "9.1.0")


KNOWN = {
    newer_vault: vault_format.FORMAT,
    newer_state: STATE,
    newer_state_in_its_log: STATE,
    newer_loop: loop_schema.FORMAT,
    newer_migration: migration_schema.FORMAT,
}


@pytest.mark.parametrize("make_newer", KNOWN)
async def test_a_newer_format_is_refused_and_not_a_byte_of_the_folder_changes(
    data: Path, make_newer: Callable[[Path], None]
) -> None:
    make_newer(data)
    before = tree(data), folders(data)
    for _ in range(2):
        engine = build_engine(EnginePaths.under(data), sample.SETTINGS, version="1.0.0")
        with pytest.raises(EngineOff) as off:
            await engine.open()
        assert off.value.code == NoticeCode.FORMAT_NEWER
        (notice,) = (await engine.status()).notices
        assert {key: notice.params[key] for key in ("found", "known", "needs")} == {
            "found": "9",
            "known": str(KNOWN[make_newer]),
            "needs": "≥ 9.1.0",
        }
        assert Path(notice.params["path"]).is_relative_to(data)
        with pytest.raises(EngineOff):
            await engine.service.recall(
                QUESTION, conversation_id=group(777), limit=3, token_budget=500
            )
        await engine.close()
        assert (tree(data), folders(data)) == before


def test_who_wrote_a_newer_format_is_told_only_if_it_is_a_version(data: Path) -> None:
    for stated, needs in (("v2.0.0-beta.1", "≥ v2.0.0-beta.1"), ("x" * 999, "> 1.0.0")):
        stamp = {"format": 2, "written_by": stated}
        (data / "memory" / STAMP).write_text(json.dumps(stamp), "utf-8")
        with pytest.raises(FormatNewer) as refused:
            VaultFormat(data / "memory", data / "backups", version="1.0.0").check()
        assert refused.value.needs == needs


def add_column(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE use_count ADD COLUMN mood TEXT NOT NULL DEFAULT ''")


def add_table(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE mood (name TEXT PRIMARY KEY)")
    connection.execute("INSERT INTO mood SELECT memory_id FROM use_count")


def state_format(root: Path, *steps: state_schema.Step) -> StateFormat:
    """The state's format of a later version, which has these steps."""
    return StateFormat(
        state_of(root),
        root / "backups",
        version="2.0.0",
        known=STATE + len(steps),
        steps=dict(enumerate(steps, STATE)),
    )


async def test_nothing_older_is_upgraded_beside_something_newer(data: Path) -> None:
    newer_vault(data)
    before = tree(data)
    vault = VaultFormat(data / "memory", data / "backups")
    with pytest.raises(EngineOff):
        async with running(data, formats=[state_format(data, add_column), vault]):
            pass
    assert tree(data) == before


async def test_a_newer_index_is_set_aside_whole_and_the_newest_one_kept(data: Path) -> None:
    index = data / "index"
    for content in ("first", "second"):
        index.mkdir(exist_ok=True)
        (index / "manifest.json").write_text('{"format": 2, "collection": "memories-x"}', "utf-8")
        (index / "vectors.bin").write_text(content, "utf-8")
        before = tree(index)
        async with running(data, sample.MAP) as rig:
            await rig.until_indexed()
            assert PEANUTS in await rig.texts(QUESTION, group(777))
        assert tree(data / "index.format-2") == before
        assert JsonManifest(index / "manifest.json").active()
    assert [path.name for path in data.glob("index*")] in (
        ["index", "index.format-2"],
        ["index.format-2", "index"],
    )


def test_a_newer_index_that_cannot_be_moved_is_not_used_and_not_changed(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError("open elsewhere")

    index = data / "index"
    (index / "manifest.json").write_text('{"format": 2, "collection": "memories-x"}', "utf-8")
    monkeypatch.setattr(Path, "replace", refuse)
    before = tree(data)
    IndexFormat(index).check()
    IndexFormat(index).upgrade()
    manifest = JsonManifest(index / "manifest.json")
    with pytest.raises(IndexUnavailable):
        manifest.active()
    with pytest.raises(IndexUnavailable):
        manifest.activate("memories-y", sample.FINGERPRINT)
    assert tree(data) == before


# What is brought up. Beyond the present formats the steps are the tests' own.


@pytest.mark.parametrize("folder", [path for path in SAMPLES if "-state-1-" in path.name])
def test_a_state_of_format_1_gets_the_tables_of_the_present_one(
    folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder / "data", tmp_path / "data")
    path = state_of(tmp_path / "data")
    before = sample.tables(path)
    StateFormat(path, tmp_path / "backups", version="2.0.0").upgrade()
    after = sample.tables(path)
    assert {tuple(row) for row in after["seen_conversation"]} >= {
        tuple(row) for row in before["seen_conversation"]
    }
    changed = {"meta", "seen_conversation"}
    assert {name: rows for name, rows in after.items() if name in before.keys() - changed} == {
        name: rows for name, rows in before.items() if name not in changed
    }
    assert after["meta"] == [["format", str(STATE)]]
    expected = json.loads((PRESENT / "expected.json").read_text("utf-8"))
    assert sample.schema(path) == expected["written"]["schema"]


def backups(root: Path, what: str) -> list[Path]:
    """The backups of one thing, the oldest first."""
    return sorted((root / "backups").glob(f"upgrade-{what}-*"))


async def test_an_older_state_is_brought_up_step_by_step_after_a_backup(data: Path) -> None:
    before = dump(state_of(data))
    later = state_format(data, add_column, add_table)
    for _ in range(2):
        later.check()
        later.upgrade()
    (backup,) = backups(data, "state")
    assert backup.name.startswith(f"upgrade-state-{STATE}-20")
    assert dump(backup / "state.sqlite") == before
    with closing(sqlite3.connect(state_of(data))) as connection:
        assert dict(connection.execute("SELECT * FROM meta"))["written_by"] == "2.0.0"
        assert connection.execute("SELECT mood FROM use_count").fetchall() == [("",)]
        assert len(connection.execute("SELECT * FROM mood").fetchall()) == 1
    assert number_in(state_of(data)) == str(STATE + 2)


async def test_turns_that_were_queued_in_format_1_stay_as_they_were_and_are_no_admins(
    tmp_path: Path,
) -> None:
    root = tmp_path / "data"
    folder = sample.SAMPLES / "vault-1-state-1-index-1-loop-1"
    shutil.copytree(folder / "data", root)
    loop = root / "state" / "loop.sqlite"
    before = dump(loop)
    expected = json.loads((folder / "expected.json").read_text("utf-8"))["loop"]["turn"]
    async with running(root, sample.MAP, settings=sample.SETTINGS):
        pass
    file = SqliteLoopFile(loop)
    file.open()
    turns = SqliteTurnStore(file)
    assert sum(turns.held().values()) == len(expected)
    assert not any(turn.admin for line in turns.lines() for turn in turns.waiting(line, 99))
    file.close()
    assert number_in(loop) == str(loop_schema.FORMAT)
    (backup,) = backups(root, "loop")
    assert dump(backup / "loop.sqlite") == before
    with closing(sqlite3.connect(loop)) as connection:
        rows = connection.execute("SELECT * FROM turn ORDER BY place").fetchall()
    width = len(expected[0])
    assert sorted(row[:width] for row in rows) == sorted(tuple(row) for row in expected)


def test_a_backup_that_is_there_already_is_never_written_over(data: Path) -> None:
    contents = []
    for version in ("first", "second"):
        restate(state_of(data), STATE, version)
        contents.append(dump(state_of(data)))
        state_format(data, lambda _: None).upgrade()
    kept = [dump(folder / "state.sqlite") for folder in backups(data, "state")]
    assert sorted(kept) == sorted(contents)


class Killed(BaseException):
    """The process is gone."""


def test_a_crash_between_two_steps_is_gone_on_from(data: Path) -> None:
    def die(_: sqlite3.Connection) -> None:
        raise Killed

    with pytest.raises(Killed):
        state_format(data, add_column, die).upgrade()
    assert number_in(state_of(data)) == str(STATE + 1)
    state_format(data, add_column, add_table).upgrade()  # a column cannot be added twice
    assert number_in(state_of(data)) == str(STATE + 2)


def fill_the_disk(connection: sqlite3.Connection) -> None:
    """SQLite's own way of having no room, in the middle of a step."""
    add_column(connection)
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    connection.execute("CREATE TABLE big (words TEXT)")
    connection.execute("INSERT INTO big VALUES (?)", ("话" * 100_000,))


def fail(connection: sqlite3.Connection) -> None:
    add_column(connection)
    raise KeyError("a bug in a step")


@pytest.mark.parametrize("step", [fill_the_disk, fail])
async def test_a_step_that_fails_leaves_the_state_as_it_was_and_the_engine_off(
    data: Path, step: state_schema.Step
) -> None:
    before = dump(state_of(data))
    memories = tree(data / "memory")
    with pytest.raises(EngineOff) as off:
        async with running(data, formats=[state_format(data, step)]):
            pass
    assert off.value.code == NoticeCode.UPGRADE_FAILED
    assert dump(state_of(data)) == before
    assert tree(data / "memory") == memories
    assert backups(data, "state") == [], "each start would make one more"
    state_format(data, add_column).upgrade()
    assert number_in(state_of(data)) == str(STATE + 1)


def test_without_a_backup_nothing_is_changed(data: Path) -> None:
    (data / "backups").write_text("a file stands in the way", "utf-8")
    before = tree(data)
    with pytest.raises(UpgradeFailed):
        state_format(data, add_column).upgrade()
    with pytest.raises(UpgradeFailed):
        vault_of(data, louder).upgrade()
    assert tree(data) == before


def test_a_state_file_that_is_broken_is_left_to_the_opening(data: Path) -> None:
    state_of(data).write_bytes(b"no database")
    later = state_format(data, add_column)
    later.check()
    later.upgrade()
    assert not SqliteStateStore(state_of(data)).open()


def louder(path: PurePosixPath, content: bytes) -> bytes:
    """A step that leaves alone what has its format already."""
    assert not path.is_absolute()
    old, new = "花生".encode(), "花生酱".encode()
    return content if new in content else content.replace(old, new)


def vault_of(root: Path, *steps: vault_format.Step) -> VaultFormat:
    """The vault's format of a later version, which has these steps."""
    return VaultFormat(
        root / "memory",
        root / "backups",
        version="2.0.0",
        known=1 + len(steps),
        steps=dict(enumerate(steps, 1)),
    )


def shout(path: PurePosixPath, content: bytes) -> bytes:
    """Changes every file of the family, once."""
    mark = "\n<!-- 二 -->\n".encode()
    return content if path.parts[0] != "家人" or mark in content else content + mark


async def test_an_older_vault_is_brought_up_and_only_what_changes_is_backed_up(data: Path) -> None:
    family = data / "memory" / "scopes" / "家人"
    elsewhere = data / "elsewhere.md"
    elsewhere.write_text("花生", "utf-8")
    (family / "link.md").symlink_to(elsewhere)
    before = (family / "preferences.md").read_bytes()
    written = (family / "preferences.md").stat().st_mtime_ns
    later = vault_of(data, louder)
    later.check()
    async with running(data, sample.MAP, formats=[later], follow=False) as rig:
        assert await rig.texts("奶奶能吃花生酱吗", group(777)) == ["奶奶对花生酱过敏"]
    (backup,) = backups(data, "vault")
    copies = {p.relative_to(backup).as_posix() for p in backup.rglob("*") if p.is_file()}
    assert copies == {"scopes/家人/preferences.md"}
    assert (backup / "scopes/家人/preferences.md").read_bytes() == before
    stamp = json.loads((data / "memory" / STAMP).read_text("utf-8"))
    assert stamp == {"format": 2, "written_by": "2.0.0"}
    assert elsewhere.read_text("utf-8") == "花生"
    assert not list(data.rglob("*.tmp"))
    # An entry that states no time has its file's.
    assert (family / "preferences.md").stat().st_mtime_ns == written
    later.upgrade()
    assert len(backups(data, "vault")) == 1


def test_a_crash_between_two_files_is_gone_on_from(data: Path) -> None:
    family = data / "memory" / "scopes" / "家人"
    done = shout(PurePosixPath("家人/TASKS.md"), (family / "TASKS.md").read_bytes())
    (family / "TASKS.md").write_bytes(done)
    vault_of(data, shout).upgrade()
    assert (family / "TASKS.md").read_bytes() == done
    assert all("二".encode() in path.read_bytes() for path in family.rglob("*.md"))


@pytest.mark.parametrize("number", [1, 2, 4])
async def test_a_disk_that_fills_up_leaves_the_vault_as_it_was_and_the_engine_off(
    data: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes = 0
    write_all = files.write_all

    def full(*arguments: Any) -> None:
        nonlocal writes
        writes += 1
        if writes >= number:
            raise OSError(28, "No space left on device")
        write_all(*arguments)

    before = tree(data / "memory")
    monkeypatch.setattr(files, "write_all", full)
    with pytest.raises(EngineOff) as off:
        async with running(data, formats=[vault_of(data, shout)]):
            pass
    assert off.value.code == NoticeCode.UPGRADE_FAILED
    assert tree(data / "memory") == before
    assert backups(data, "vault") == []
    monkeypatch.undo()
    vault_of(data, shout).upgrade()
    assert tree(data / "memory") != before


def test_a_rename_that_fails_puts_back_what_was_renamed(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = Path.replace

    def refuse(path: Path, target: Path) -> Path:
        if target.name == "preferences.md":
            raise PermissionError("open elsewhere")
        return replace(path, target)

    before = tree(data / "memory")
    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(UpgradeFailed):
        vault_of(data, shout).upgrade()
    assert tree(data / "memory") == before


def test_what_could_not_be_put_back_stands_in_the_backup_and_is_gone_on_from(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace, renamed = Path.replace, []

    def once(path: Path, target: Path) -> Path:
        if target.suffix != ".md":
            return replace(path, target)
        if renamed:
            raise PermissionError("open elsewhere")
        renamed.append(target)
        return replace(path, target)

    scopes = data / "memory" / "scopes"
    before = {path: path.read_bytes() for path in scopes.rglob("*.md")}
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", once)
        with pytest.raises(UpgradeFailed):
            vault_of(data, shout).upgrade()
    (backup,) = backups(data, "vault")
    (changed,) = renamed
    assert changed.read_bytes() != before[changed]
    assert (backup / "scopes" / changed.relative_to(scopes)).read_bytes() == before[changed]
    vault_of(data, shout).upgrade()
    assert changed.read_bytes() == before[changed] + "\n<!-- 二 -->\n".encode()


def test_half_a_backup_is_none(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    before = tree(data)
    monkeypatch.setattr(shutil, "copy2", full)
    monkeypatch.setattr(os, "fsync", full)
    for later in (vault_of(data, shout), state_format(data, add_column)):
        with pytest.raises(UpgradeFailed):
            later.upgrade()
    assert list((data / "backups").iterdir()) == []
    assert tree(data) == before


def test_a_vault_without_a_file_is_new_and_needs_no_step(tmp_path: Path) -> None:
    def never(*_: Any) -> bytes:
        raise AssertionError("there is nothing to change")

    vault_of(tmp_path, never).upgrade()
    assert json.loads((tmp_path / "memory" / STAMP).read_text("utf-8"))["format"] == 2
    assert not (tmp_path / "backups").exists()
