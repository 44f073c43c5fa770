"""What lies on the disk: as former versions left it, and as a later one left it."""

from __future__ import annotations

import errno
import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    DeedKind,
    EngineOff,
    EnginePaths,
    build_engine,
    is_changed,
)
from astrbot_plugin_scoped_memory.llm_memory.errors import FormatNewer
from astrbot_plugin_scoped_memory.llm_memory.storage.directory_lock import LOCK_NAME
from astrbot_plugin_scoped_memory.llm_memory.storage.formats import store_formats
from astrbot_plugin_scoped_memory.llm_memory.storage.formats.store_formats import (
    MIGRATION,
    STAMP,
    VAULT_FORMAT,
    StoreFormats,
)
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_file import LOOP
from astrbot_plugin_scoped_memory.llm_memory.storage.state_store import STATE
from astrbot_plugin_scoped_memory.tests.house.source import script
from astrbot_plugin_scoped_memory.tests.support.engines import group, person, private, running

pytestmark = pytest.mark.engine

sample = script("make_format_sample")
SAMPLES = sorted(path for path in sample.SAMPLES.iterdir() if path.is_dir())
PRESENT = sample.SAMPLES / sample.folder_name()
PEANUTS, QUESTION = "奶奶对花生过敏", "奶奶能吃花生吗"

PLACES = (group(777), group(888), group(999), private(1002), group(5, persona="cat"))


def tree(root: Path) -> dict[str, tuple[str, int]]:
    """Each file's hash, and when it was last written. The lock file alone may be touched."""
    return {
        path.relative_to(root).as_posix(): (
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
            path.stat().st_mtime_ns if path.is_file() else 0,
        )
        for path in sorted(root.rglob("*"))
        if path.name != LOCK_NAME
    }


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A copy of the folder that this version made, to be changed at will."""
    shutil.copytree(PRESENT / "data", tmp_path / "data")
    return tmp_path / "data"


def state_of(root: Path) -> Path:
    """The state file of a data folder."""
    return root / "state" / "state.sqlite"


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
        # Turns that waited in a format of before the first release are not taken over.
        waiting = len(expected["loop"]["turn"]) if folder == PRESENT else 0
        assert (await rig.engine.status()).loop.queue.waiting == waiting
        restored = await rig.engine.service.restore(
            archived, conversation_id=group(777), actor=person(2001)
        )
        assert is_changed(restored, DeedKind.FORGOTTEN, undone=True)
    async with running(root, {}, settings=sample.SETTINGS) as rig:
        # The keys of the map that was there are known, too.
        assert (await rig.engine.service.describe(conversation_id=group(777))).damaged


async def test_opening_a_folder_of_this_version_changes_nothing_of_its_memories(
    data: Path,
) -> None:
    before = tree(data / "memory")
    async with running(data, sample.MAP, settings=sample.SETTINGS):
        pass
    assert tree(data / "memory") == before
    expected = json.loads((PRESENT / "expected.json").read_text("utf-8"))
    assert sample.tables(state_of(data)) == expected["tables"]


def test_what_is_written_now_has_the_format_that_its_number_says(tmp_path: Path) -> None:
    assert PRESENT in SAMPLES, "a new number: run scripts/make_format_sample.py"
    expected = json.loads((PRESENT / "expected.json").read_text("utf-8"))
    changed = "a format changed: raise its number"
    assert sample.written_now(tmp_path) == expected["written"], changed


async def test_a_new_folder_is_signed_by_the_version_that_made_it(tmp_path: Path) -> None:
    for version in ("1.2.3", "2.0.0"):
        engine = build_engine(EnginePaths.under(tmp_path), sample.SETTINGS, version=version)
        await engine.open()
        await engine.close()
    stamp = json.loads((tmp_path / "memory" / STAMP).read_text("utf-8"))
    assert stamp == {"format": VAULT_FORMAT, "written_by": "1.2.3"}
    with closing(sqlite3.connect(state_of(tmp_path))) as connection:
        meta = dict(connection.execute("SELECT name, value FROM meta").fetchall())
    assert (meta["format"], meta["written_by"]) == (str(STATE.format), "1.2.3")


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
    assert f'"format": {VAULT_FORMAT},' in stamp.read_text("utf-8")


async def test_a_stamp_that_cannot_be_read_now_is_not_written_over(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be a later version's."""
    newer_vault(data)
    before = (data / "memory" / STAMP).read_bytes()

    def unread(_: Path) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(store_formats, "read_stamp", unread)
        StoreFormats(data / "memory", data).open()
    assert (data / "memory" / STAMP).read_bytes() == before


# What a later version left


def newer_vault(root: Path) -> None:
    (root / "memory" / STAMP).write_text('{"format": 9, "written_by": "9.1.0"}', "utf-8")


def newer_file(name: str, root: Path, *, in_its_log: bool = False) -> None:
    """In its log: killed right after it was upgraded, the file says what it said before."""
    path = root / "state" / name
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT)")
        for row in (("format", "9"), ("written_by", "9.1.0")):
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", row)
        connection.commit()
        if in_its_log:
            shutil.copytree(path.parent, root.with_name("killed"))
    if in_its_log:
        shutil.rmtree(path.parent)
        root.with_name("killed").rename(path.parent)
        path.with_name(f"{name}-shm").unlink()


KNOWN: list[tuple[Callable[[Path], None], int]] = [
    (newer_vault, VAULT_FORMAT),
    (partial(newer_file, "state.sqlite"), STATE.format),
    (partial(newer_file, "state.sqlite", in_its_log=True), STATE.format),
    (partial(newer_file, "loop.sqlite"), LOOP.format),
    (partial(newer_file, "migration.sqlite"), MIGRATION.format),
]


@pytest.mark.parametrize(("make_newer", "known"), KNOWN)
async def test_a_newer_format_is_refused_and_not_a_byte_of_the_folder_changes(
    data: Path, make_newer: Callable[[Path], None], known: int
) -> None:
    make_newer(data)
    before = tree(data)
    for _ in range(2):
        engine = build_engine(EnginePaths.under(data), sample.SETTINGS, version="1.0.0")
        with pytest.raises(EngineOff) as off:
            await engine.open()
        assert off.value.code == "format_newer"
        (notice,) = (await engine.status()).notices
        told = {key: notice.params[key] for key in ("found", "known", "needs")}
        assert told == {"found": "9", "known": str(known), "needs": "≥ 9.1.0"}
        assert Path(notice.params["path"]).is_relative_to(data)
        with pytest.raises(EngineOff):
            await engine.service.recall(
                QUESTION, conversation_id=group(777), limit=3, token_budget=500
            )
        await engine.close()
        assert tree(data) == before


def test_a_newer_file_is_refused_on_a_full_disk_too(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer_file("state.sqlite", data)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    for log in ("", "-wal"):
        state_of(data).with_name(f"state.sqlite{log}").touch()
        with monkeypatch.context() as patch:
            patch.setattr(shutil, "copyfile", full)
            with pytest.raises(FormatNewer):
                StoreFormats(data / "memory", data).check()


async def test_a_newer_index_is_removed_and_built_anew(data: Path) -> None:
    index = data / "index"
    (index / "manifest.json").write_text('{"format": 2, "collection": "memories-x"}', "utf-8")
    (index / "vectors.bin").write_text("of a later version", "utf-8")
    async with running(data, sample.MAP) as rig:
        await rig.until_indexed()
        assert PEANUTS in await rig.texts(QUESTION, group(777))
    assert not (index / "vectors.bin").exists()
