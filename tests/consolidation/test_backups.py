"""A backup is the whole store at one moment; the older ones go only when a new one was read."""

from __future__ import annotations

import asyncio
import errno
import os
import tempfile
import zipfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory import EnginePaths
from astrbot_plugin_scoped_memory.llm_memory.composition.export_restore import (
    export_store,
    restore_store,
)
from astrbot_plugin_scoped_memory.llm_memory.consolidation import backup
from astrbot_plugin_scoped_memory.llm_memory.consolidation.report import SleepReport
from astrbot_plugin_scoped_memory.llm_memory.errors import TransferFailed
from astrbot_plugin_scoped_memory.llm_memory.transfer import store_zip
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, Ticker, group, person, running
from astrbot_plugin_scoped_memory.tests.support.nights import NIGHT, asleep, entries, passive, plant

pytestmark = pytest.mark.engine

HERE, OFFICE, SQUARE = group(777), group(888), group(999)
ADMIN = person(1, "管理员", admin=True)


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


def restored(root: Path, name: str, target: Path) -> dict[str, bytes]:
    """What a backup gives back in an empty folder."""
    (target / "memory").mkdir(parents=True)
    done = restore_store(EnginePaths.under(target), root / "backups" / "daily" / name)
    assert not done.cut_short
    assert not done.refused
    return tree(target)


async def night(rig: Rig) -> SleepReport:
    return await rig.night("nightly", patient=False)


async def test_a_backup_gives_the_same_tree_back_byte_by_byte(tmp_path: Path) -> None:
    root, memory = tmp_path / "bot", tmp_path / "bot" / "memory"
    plant(root, "家人", "preferences.md", [passive(n, f"第{n}件") for n in range(5)])
    (memory / "scopes" / "家人" / "我的笔记.md").write_bytes("# 笔记\r\n一句\r\n".encode())
    for shelf in ("shared", "roles/猫娘"):
        (memory / shelf).mkdir(parents=True)
        (memory / shelf / "SOUL.md").write_bytes(b"\xef\xbb\xbf# soul\nno line end")
    for name in ("chain.jsonl", "versions/0001.md", "evals/0001-1.json"):
        (memory / "soul/猫娘" / name).parent.mkdir(parents=True, exist_ok=True)
        (memory / "soul/猫娘" / name).write_bytes(b'{"n":1}\r\nno line end')
    (memory / "MEMORY.md").write_bytes(b"of an older layout\r\n")
    async with asleep(root) as rig:
        for number, where in enumerate((HERE, OFFICE, SQUARE) * 3):
            stored = await rig.remember(f"我喜欢第{number}种水果", where)
        await rig.forget(stored.memory.memory.memory_id, SQUARE, ADMIN)
        await night(rig)
        report = await night(rig)  # a night's backup comes first in it
        assert report.backup == "2026-11-21.zip"
    assert backups(root) == ["2026-11-21.zip"]
    assert restored(root, report.backup, tmp_path / "new") == tree(root)
    made = root / "backups" / "daily" / report.backup
    assert os.name == "nt" or made.stat().st_mode & 0o077 == 0  # nobody else reads it


async def test_every_backup_carries_the_settings_that_the_owner_has_then(tmp_path: Path) -> None:
    root, settings = tmp_path / "bot", {"conversation_scope_map": {"a:GroupMessage:1": "家人"}}
    async with running(root, clock=Ticker(NIGHT), follow=False, carried_settings=settings) as rig:
        await rig.remember("奶奶对花生过敏", HERE)
        await night(rig)
        report = await night(rig)
        settings["conversation_scope_map"]["a:GroupMessage:2"] = "公司"
        name, held = await rig.engine.back_up()
        assert held.memories == 1
    nightly = root / "backups" / "daily" / report.backup
    for number, file in enumerate((nightly, root / "exports" / name), start=1):
        target = tmp_path / str(number)
        (target / "memory").mkdir(parents=True)
        done = restore_store(EnginePaths.under(target), file)
        assert len(done.settings["conversation_scope_map"]) == number  # type: ignore[arg-type]
        assert tree(target) == tree(root)


async def test_what_changes_while_a_backup_is_made_is_in_it_once(tmp_path: Path) -> None:
    root = tmp_path / "bot"
    stay = [passive(n, f"第{n}件") for n in range(200)]
    plant(root, "家人", "preferences.md", stay)
    async with asleep(root) as rig:
        running_night = asyncio.create_task(night(rig))
        moved = 0
        while not running_night.done():
            memory_id = stay[moved % 200].memory_id
            if moved % 2:
                await rig.forget(memory_id, HERE, ADMIN)
            else:
                await rig.move(memory_id, "公司", HERE, ADMIN)
            moved += 1
            await asyncio.sleep(0)
        report = await running_night
        assert moved > 1
        assert not report.errors
    restored(root, report.backup, tmp_path / "new")
    new = tmp_path / "new"
    living = [*entries(new, "家人"), *entries(new, "公司")]
    gone = list(entries(new, "家人", archived=True))
    assert sorted([*living, *gone]) == [memory.memory_id for memory in stay]


async def test_the_newest_so_many_are_kept(tmp_path: Path) -> None:
    plant(tmp_path, "家人", "preferences.md", [passive(1, "一件事")])
    mine = tmp_path / "backups" / "daily" / "我自己的.zip"
    mine.parent.mkdir(parents=True)
    mine.write_text("…", "utf-8")
    async with asleep(tmp_path, backups_keep=3) as rig:
        for _ in range(5):
            await night(rig)
            rig.clock.now += timedelta(days=1)
        rig.clock.now -= timedelta(days=1)
        await night(rig)
    assert backups(tmp_path) == [*(f"2026-11-{day}.zip" for day in (23, 24, 25)), mine.name]


async def test_none_is_made_where_none_is_wanted(tmp_path: Path) -> None:
    async with asleep(tmp_path, backups_keep=0) as rig:
        assert (await night(rig)).backup == ""
    assert not (tmp_path / "backups" / "daily").exists()


async def test_while_files_are_missing_a_new_one_is_written_and_no_older_one_goes(
    tmp_path: Path,
) -> None:
    plant(tmp_path, "家人", "preferences.md", [passive(n, f"第{n}件") for n in range(10)])
    async with asleep(tmp_path, backups_keep=1) as rig:
        await night(rig)
        (tmp_path / "memory" / "scopes" / "家人" / "preferences.md").unlink()
        await rig.engine.reconcile()
        assert not rig.engine.parts.backup.may_rotate()
        for _ in range(2):
            await night(rig)
        rig.clock.now += timedelta(days=1)
        await night(rig)
        assert len(backups(tmp_path)) == 4
        await rig.engine.service.confirm_deletions(actor=ADMIN)
        await night(rig)
    assert len(backups(tmp_path)) == 1


@pytest.mark.parametrize("step", ["os.link", "make_folder", "write_zip", "read_zip"])
async def test_a_backup_that_could_not_be_written_costs_no_older_one(
    tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``os.link``: a disk that has none gets copies."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "disk full")

    def odd(_: Path) -> Iterator[None]:
        raise TransferFailed("unreadable", "bad checksum")

    plant(tmp_path, "家人", "preferences.md", [passive(1, "一件事")])
    async with asleep(tmp_path, backups_keep=1) as rig:
        await night(rig)
        rig.clock.now += timedelta(days=1)
        match step:
            case "os.link":
                monkeypatch.setattr(os, "link", refuse)
            case "read_zip":
                monkeypatch.setattr(store_zip, "read_zip", odd)
            case "write_zip":
                monkeypatch.setattr(store_zip, "move", refuse)
            case _:
                monkeypatch.setattr(backup, step, refuse)
        report = await night(rig)
        monkeypatch.undo()
        if step == "os.link":
            made = restored(tmp_path, report.backup, tmp_path / "new")
            assert "scopes/家人/preferences.md" in made
            return
        assert report.errors
        assert report.ended is not None
        assert {"backup_failed", "sleep_failed"} <= {notice.code for notice in rig.notices}
    assert backups(tmp_path) == ["2026-11-21.zip"]


async def test_a_full_disk_is_found_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tmp_path, "家人", "preferences.md", [passive(1, "一件事")])
    monkeypatch.setattr(backup, "free_bytes", lambda _: 1000)
    async with asleep(tmp_path) as rig:
        assert "no room" in (await night(rig)).errors[0]
    assert backups(tmp_path) == []


async def test_what_a_kill_left_of_a_backup_is_cleared_away(tmp_path: Path) -> None:
    daily = tmp_path / "backups" / "daily"
    (daily / ".stage" / "scopes").mkdir(parents=True)
    for name in (".0123456789abcdef.tmp", ".stage/scopes/x.md"):
        (daily / name).write_text("half", "utf-8")
    plant(tmp_path, "家人", "preferences.md", [passive(1, "一件事")])
    async with asleep(tmp_path) as rig:
        await night(rig)
    assert backups(tmp_path) == ["2026-11-21.zip"]
    with zipfile.ZipFile(daily / "2026-11-21.zip") as archive:
        assert "scopes/x.md" not in archive.namelist()


async def test_what_is_appended_while_a_backup_is_written_is_not_in_it(tmp_path: Path) -> None:
    """By a program that writes in place; the bot itself leaves the second name as it is."""
    root, path = tmp_path / "bot", tmp_path / "bot/memory/scopes/家人/preferences.md"
    plant(root, "家人", "preferences.md", [passive(1, "一件事")])
    async with asleep(root) as rig:
        before, members = path.read_bytes(), rig.engine.parts.backup._members

        def late(*args: Any) -> Iterator[store_zip.Member]:
            with path.open("ab") as file:
                file.write("\n后来的".encode())
            yield from members(*args)

        rig.engine.parts.backup._members = late  # type: ignore[method-assign]
        report = await night(rig)
    made = restored(root, report.backup, tmp_path / "new")
    assert made["scopes/家人/preferences.md"] == before


async def test_a_backup_of_an_earlier_version_is_restored_and_goes_in_its_turn(
    tmp_path: Path,
) -> None:
    root, old = tmp_path / "bot", tmp_path / "bot/backups/daily/2026-11-20.jsonl"
    plant(root, "家人", "preferences.md", [passive(1, "一件事")])
    export_store(EnginePaths.under(root), old, now=NIGHT)
    assert restored(root, old.name, tmp_path / "new") == tree(root)
    async with asleep(root, backups_keep=1) as rig:
        await night(rig)
    assert backups(root) == ["2026-11-21.zip"]


@pytest.mark.parametrize("how", ["cut short", "no zip", "a name that leads out"])
def test_a_zip_that_is_none_of_ours_is_refused_and_nothing_is_written(
    tmp_path: Path, how: str
) -> None:
    (tmp_path / "memory").mkdir()
    file = tmp_path / "x.zip"
    name = "../../out.md" if how == "a name that leads out" else "scopes/家人/x.md"
    store_zip.write_zip(file, [(name, 0, b"x" * 1000)])
    if how != "a name that leads out":
        file.write_bytes(file.read_bytes()[:-40] if how == "cut short" else b"PK")
    with pytest.raises(TransferFailed):
        restore_store(EnginePaths.under(tmp_path), file)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["memory", "x.zip"]


async def test_what_a_restore_would_do_is_found_out_in_the_folder_of_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tmp_path, "家人", "preferences.md", [passive(1, "一件事")])
    async with asleep(tmp_path) as rig:
        await night(rig)
        made = tmp_path / "backups" / "daily" / backups(tmp_path)[0]
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "a disk that was taken out"))
        planned = restore_store(EnginePaths.under(tmp_path), made, dry=True)
    assert planned.memories == 0
    assert not list(tmp_path.glob(".*.tmp"))
