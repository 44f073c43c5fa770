"""A backup is the whole store at one moment; the older ones go only when a new one was read."""

from __future__ import annotations

import asyncio
import errno
import os
import tempfile
from datetime import timedelta
from itertools import batched
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from astrbot_plugin_scoped_memory.llm_memory import EnginePaths
from astrbot_plugin_scoped_memory.llm_memory.composition.export_restore import restore_store
from astrbot_plugin_scoped_memory.llm_memory.consolidation import backup
from astrbot_plugin_scoped_memory.llm_memory.errors import TransferFailed
from astrbot_plugin_scoped_memory.llm_memory.transfer import line_files, store_zip
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, Ticker, group, person, running
from astrbot_plugin_scoped_memory.tests.support.nights import NIGHT, asleep, entries, passive, plant

pytestmark = pytest.mark.engine

HERE, OFFICE, SQUARE = group(777), group(888), group(999)
ADMIN = person(1, "管理员", admin=True)
STAY = [passive(n, f"第{n}件") for n in range(200)]
PREFERENCES = "scopes/家人/preferences.md"
DAY = timedelta(days=1)


def tree(root: Path) -> dict[str, bytes]:
    """Every file of the memory folder but what is hidden."""
    memory = root / "memory"
    return {
        path.relative_to(memory).as_posix(): path.read_bytes()
        for path in memory.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }


def backups(root: Path) -> list[str]:
    return sorted(path.name for path in (root / "backups" / "daily").iterdir())


def restored(file: Path, target: Path) -> dict[str, bytes]:
    """What a backup gives back in an empty folder."""
    (target / "memory").mkdir(parents=True)
    done = restore_store(EnginePaths.under(target), file)
    assert not (done.cut_short or done.refused)
    return tree(target)


async def nightly(rig: Rig) -> Path:
    """The file that a night writes."""
    report = await rig.night("nightly", patient=False)
    assert not report.errors
    return rig.root / "backups" / "daily" / report.backup


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A store with some memories."""
    plant(tmp_path / "bot", "家人", "preferences.md", STAY[:10])
    return tmp_path / "bot"


async def test_each_backup_gives_the_same_tree_back_byte_by_byte_and_the_settings_of_then(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, settings = root / "memory", {"conversation_scope_map": {"a:GroupMessage:1": "家人"}}
    (memory / "scopes" / "家人" / "我的笔记.md").write_bytes("# 笔记\r\n一句\r\n".encode())
    for name in ("shared/SOUL.md", "roles/猫娘/SOUL.md", "MEMORY.md", "soul/猫娘/chain.jsonl"):
        (memory / name).parent.mkdir(parents=True, exist_ok=True)
        (memory / name).write_bytes(b"\xef\xbb\xbf# soul\r\nno line end")
    async with running(root, clock=Ticker(NIGHT), follow=False, carried_settings=settings) as rig:
        for number, where in enumerate((HERE, OFFICE, SQUARE) * 3):
            memory_id = await rig.stored_id(f"我喜欢第{number}种水果", where)
        await rig.forget(memory_id, SQUARE, ADMIN)
        await nightly(rig)
        night = await nightly(rig)  # a night's backup comes first in it
        settings["conversation_scope_map"]["a:GroupMessage:2"] = "公司"
        name, held = await rig.engine.back_up()
        assert held.memories == 18
    assert backups(root) == [night.name] == ["2026-11-21.zip"]
    # What a restore would do is found out in the folder of the data.
    monkeypatch.setattr(tempfile, "tempdir", str(root / "a disk that was taken out"))
    for number, file in enumerate((night, root / "exports" / name), start=1):
        assert restored(file, tmp_path / str(number)) == tree(root)
        done = restore_store(EnginePaths.under(tmp_path / str(number)), file, dry=True)
        assert len(done.settings["conversation_scope_map"]) == number  # type: ignore[arg-type]
        assert os.name == "nt" or file.stat().st_mode & 0o077 == 0  # nobody else reads it


async def test_what_changes_while_a_backup_is_made_is_in_it_once(
    root: Path, tmp_path: Path
) -> None:
    plant(root, "家人", "preferences.md", STAY)
    async with asleep(root) as rig:
        making = asyncio.create_task(nightly(rig))
        for one, other in batched(STAY, 2):
            await rig.forget(one.memory_id, HERE, ADMIN)
            await rig.move(other.memory_id, "公司", HERE, ADMIN)
            if making.done():
                break
        restored(await making, tmp_path / "new")
    new = tmp_path / "new"
    there = [*entries(new, "家人"), *entries(new, "公司"), *entries(new, "家人", archived=True)]
    assert sorted(there) == [memory.memory_id for memory in STAY]


async def test_the_newest_so_many_are_kept_and_all_while_files_are_missing(root: Path) -> None:
    async with asleep(root, backups_keep=0) as rig:
        assert (await rig.night()).backup == ""
    assert not (root / "backups" / "daily").exists()
    mine, old = (root / "backups" / "daily" / name for name in ("我的.zip", "2026-11-20.jsonl"))
    mine.parent.mkdir(parents=True)
    for path in (mine, old):  # an earlier version wrote lines
        path.write_text("…", "utf-8")
    async with asleep(root, backups_keep=3) as rig:
        for _ in range(5):
            await nightly(rig)
            rig.clock.now += DAY
        rig.clock.now -= 4 * DAY  # it was wrong
        made = await nightly(rig)
        assert backups(root) == [made.name, "2026-11-24.zip", "2026-11-25.zip", mine.name]
        (root / "memory" / PREFERENCES).unlink()
        await rig.engine.reconcile()
        for _ in range(2):
            await nightly(rig)
        assert len(backups(root)) == 6
        await rig.engine.service.confirm_deletions(actor=ADMIN)
        await nightly(rig)
    assert len(backups(root)) == 4


FULL = Mock(side_effect=OSError(errno.ENOSPC, "disk full"))
ODD = Mock(side_effect=TransferFailed("unreadable", "bad checksum"))


@pytest.mark.parametrize(
    ("where", "name", "fault"),
    [
        (backup, "free_bytes", lambda _: 1000),
        (line_files, "move", FULL),
        (store_zip, "read_zip", ODD),
    ],
)
async def test_a_backup_that_could_not_be_written_costs_no_older_one(
    root: Path, where: Any, name: str, fault: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asleep(root, backups_keep=1) as rig:
        await nightly(rig)
        rig.clock.now += DAY
        monkeypatch.setattr(where, name, fault)
        assert (await rig.night()).ended is not None
        (told,) = [notice for notice in rig.notices if notice.code == "sleep_failed"]
        assert told.params["detail"].startswith("backup: ")
    assert backups(root) == ["2026-11-21.zip"]


async def test_an_older_backup_that_stays_is_told_and_costs_no_new_one(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlink = Path.unlink

    def held(path: Path, missing_ok: bool = False) -> None:
        if path.name == "2026-11-21.zip":
            raise PermissionError("used by another process")
        unlink(path, missing_ok)

    async with asleep(root, backups_keep=1) as rig:
        await nightly(rig)
        rig.clock.now += DAY
        monkeypatch.setattr(Path, "unlink", held)
        report = await rig.night()
        assert report.backup == "2026-11-22.zip"
        assert report.errors == ("backup: used by another process",)
    assert backups(root) == ["2026-11-21.zip", "2026-11-22.zip"]


def test_a_zip_that_leads_out_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    store_zip.write_zip(tmp_path / "x.zip", [("../../out.md", 0, b"x" * 1000)])
    with pytest.raises(TransferFailed):
        restore_store(EnginePaths.under(tmp_path), tmp_path / "x.zip")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["memory", "x.zip"]
