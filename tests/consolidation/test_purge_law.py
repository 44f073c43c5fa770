"""A memory counts as purged only if no file of the store has its id or its words any more, whatever
goes wrong meanwhile; what could not be done is named, and tried again every night."""

from __future__ import annotations

import base64
import contextlib
import errno
import gzip
import json
import os
import sqlite3
import zipfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from itertools import batched
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory import DeedKind, is_changed
from astrbot_plugin_scoped_memory.llm_memory.consolidation.backup_files import DailyBackups
from astrbot_plugin_scoped_memory.llm_memory.errors import TransferFailed
from astrbot_plugin_scoped_memory.llm_memory.models.migration import Added, Outcome
from astrbot_plugin_scoped_memory.llm_memory.storage import store_files
from astrbot_plugin_scoped_memory.llm_memory.storage.file_contents import contents
from astrbot_plugin_scoped_memory.llm_memory.storage.files import ChangedMeanwhile
from astrbot_plugin_scoped_memory.llm_memory.vault import archive as vault_archive
from astrbot_plugin_scoped_memory.tests.consolidation.test_purging import (
    EVENING,
    HARMLESS,
    SECRET,
    SPEAKER,
    lived,
    night,
    purge,
    told,
)
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running
from astrbot_plugin_scoped_memory.tests.support.reflecting import FAMILY, StandingClock, say
from astrbot_plugin_scoped_memory.tests.support.searched_files import files_holding

pytestmark = pytest.mark.engine

ARCHIVE = "memory/scopes/家人/archive/entities.md"
type Fault = Callable[[Path], AbstractContextManager[None]]


@contextlib.contextmanager
def read_by_another(root: Path, *, file: str) -> Iterator[None]:
    """A backup program is in the middle of reading a database."""
    with contextlib.closing(sqlite3.connect(root / file)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        yield


@contextlib.contextmanager
def unreadable(root: Path, *, file: str) -> Iterator[None]:
    """A file that is no text just now, in which a crash has left a copy of the entry."""
    path = root / file
    before = (root / "memory/scopes/家人/entities.md").read_bytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\xff\xfe" + before)
    try:
        yield
    finally:
        path.write_bytes(before)


@contextlib.contextmanager
def changed_all_the_time(_: Path) -> Iterator[None]:
    """An editor saves the archive whenever the bot has just read it."""
    with pytest.MonkeyPatch.context() as patched:

        def changed(path: Path, *_: object) -> None:
            raise ChangedMeanwhile(path.name)

        patched.setattr(vault_archive, "replace_durably", changed)
        yield


@contextlib.contextmanager
def left_by_a_kill(root: Path, *, folder: str) -> Iterator[None]:
    """A process was killed before it could move its file into place."""
    path = root / folder / ".0123456789abcdef.tmp"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(SECRET, "utf-8")
    yield
    if path.exists():
        os.utime(path, (0, 0))


@contextlib.contextmanager
def damaged_backup(root: Path) -> Iterator[None]:
    """Of an old backup the disk has lost some bytes."""
    path = root / "backups/daily/2026-11-01.jsonl"
    path.write_text('{"type": "memory", "judgm', "utf-8")
    yield
    path.unlink(missing_ok=True)


def zipped(path: Path, words: str) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("memory/entities.md", f"{HARMLESS}\n" * 40_000 + words)


@contextlib.contextmanager
def damaged_archive(root: Path) -> Iterator[None]:
    """Of an archive that somebody packed the disk has lost the middle."""
    path = root / "exports/damaged.zip"
    path.parent.mkdir(exist_ok=True)
    zipped(path, SECRET)
    content = path.read_bytes()
    path.write_bytes(content[:40] + bytes(60) + content[100:])
    yield
    path.unlink()


@contextlib.contextmanager
def shut(root: Path, *, file: str) -> Iterator[None]:
    """Of another user of the machine, who lets nobody read it."""
    path = root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(SECRET, "utf-8")

    def refused(file: Any) -> object:
        if file.name == str(path):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return contents(file)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(store_files, "contents", refused)
        yield
    path.unlink()


FAULTS: dict[str, Fault] = {
    "state/loop.sqlite": partial(read_by_another, file="state/loop.sqlite"),
    "state/vault.sqlite": partial(read_by_another, file="state/vault.sqlite"),
    "state/state.sqlite": partial(read_by_another, file="state/state.sqlite"),
    "index/lexical.sqlite": partial(read_by_another, file="index/lexical.sqlite"),
    "index/embeddings.sqlite": partial(read_by_another, file="index/embeddings.sqlite"),
    "entities.md": changed_all_the_time,
    "patterns.md": partial(unreadable, file="memory/scopes/家人/archive/patterns.md"),
    "scopes/家人/.0123456789abcdef.tmp": partial(left_by_a_kill, folder="memory/scopes/家人"),
    "exports/.0123456789abcdef.tmp": partial(left_by_a_kill, folder="exports"),
    "2026-11-01.jsonl": damaged_backup,
    "exports/damaged.zip": damaged_archive,
    "exports/of-another.txt": partial(shut, file="exports/of-another.txt"),
}
"""What may be wrong, by a part of the name that the owner reads then."""


def unfinished(rig: Rig) -> str:
    """What the owner is told of what is left."""
    return "".join(
        notice.params["detail"]
        for notice in rig.engine.notices
        if notice.code == "purge_unfinished"
    )


@pytest.mark.parametrize("faults", [*([one] for one in FAULTS), FAULTS], ids=" ".join)
async def test_what_is_left_is_named_and_tried_again(tmp_path: Path, faults: list[str]) -> None:
    clock = StandingClock(EVENING)
    async with running(tmp_path, chat=ScriptedChat(otherwise=told), clock=clock) as rig:
        memory_id = await lived(rig, clock)
        await say(rig, "明天要去开会讨论项目", who=SPEAKER, recalled=(memory_id,))
        clock.forward(minutes=1)
        traces = partial(files_holding, tmp_path, SECRET, memory_id)
        with contextlib.ExitStack() as wrong:
            for name in faults:
                wrong.enter_context(FAULTS[name](tmp_path))
            said = await purge(rig, memory_id)
            assert is_changed(said, DeedKind.PURGED)
            if not said.unfinished:
                assert not [name for name in traces() if name.startswith(ARCHIVE)]
            for _ in range(2):
                assert await night(rig, clock) == 0
                assert any(name in unfinished(rig) for name in faults)
            assert traces()
        assert await night(rig, clock) == 1, unfinished(rig)
        assert not unfinished(rig)
    assert traces() == set()


@dataclass
class Home:
    """A bot that remembers the secret and something harmless."""

    rig: Rig
    clock: StandingClock
    memory_id: str

    async def purge(self) -> None:
        assert is_changed(await purge(self.rig, self.memory_id), DeedKind.PURGED)

    async def night(self) -> int:
        """How many were purged."""
        return await night(self.rig, self.clock)

    @property
    def unfinished(self) -> str:
        return unfinished(self.rig)


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    clock = StandingClock(EVENING)
    async with running(tmp_path, chat=ScriptedChat(otherwise="{}"), clock=clock) as rig:
        memory_id = await rig.stored_id(SECRET, FAMILY, SPEAKER)
        await rig.remember(HARMLESS, FAMILY, SPEAKER)
        clock.forward(minutes=1)
        yield Home(rig, clock, memory_id)


async def test_a_folder_of_backups_that_cannot_be_read_is_named(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shut(_: object) -> list[str]:
        raise TransferFailed("unreadable", "backups/daily: Permission denied")

    await home.purge()
    with monkeypatch.context() as patched:
        patched.setattr(DailyBackups, "names", shut)
        home.clock.forward(days=1)
        await home.rig.until_words()
        report = await home.rig.night(patient=False)
    assert report.purged == 0
    assert "backups/daily" in home.unfinished
    assert await home.night() == 1
    assert not home.unfinished


async def test_a_busy_file_is_no_news_where_nothing_is_to_be_purged(
    home: Home, tmp_path: Path
) -> None:
    with read_by_another(tmp_path, file="state/loop.sqlite"):
        assert await home.night() == 0
    assert not home.unfinished


async def test_records_of_walks_over_memories_forget_its_id(home: Home, tmp_path: Path) -> None:
    walks, memory_id = home.rig.engine.parts.migration_store, home.memory_id
    walks.keep_added("b", [Added("家人", memory_id, "d"), Added("家人", "m-other", "d")])
    for record in ("1", f"家人/{memory_id}"):
        walks.note_outcomes("j", [Outcome(record, "adopted", True, "家人", memory_id, "")])
    await home.purge()
    assert await home.night() == 1, home.unfinished
    assert walks.added("b") == (Added("家人", "m-other", "d"),)
    assert walks.ids_with_outcome("j") == {"1"}
    assert files_holding(tmp_path, memory_id) == set()


def vectors(root: Path) -> set[tuple[str, str]]:
    """Whose vectors the cache keeps: scope and hash of the text."""
    with contextlib.closing(sqlite3.connect(root / "index/embeddings.sqlite")) as cache:
        return set(cache.execute("SELECT scope, content_hash FROM vector"))


async def test_its_vector_leaves_the_cache_and_no_other(home: Home, tmp_path: Path) -> None:
    await home.rig.until_indexed()
    before = vectors(tmp_path)
    await home.purge()
    assert await home.night() == 1
    assert len(before - vectors(tmp_path)) == 1


def plain(path: Path, words: str, encoding: str = "utf-8") -> None:
    path.write_text(f"## {words}\n", encoding)


def lines(path: Path, words: str) -> None:
    content = base64.b64encode(b"\xff" + words.encode()).decode()
    path.write_text(f"{json.dumps({'type': 'file', 'base64': content})}\n", "utf-8")


def zipped_twice(path: Path, words: str) -> None:
    inner = path.with_name("inner.zip")
    zipped(inner, words)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(inner, "inner.zip")
    inner.unlink()


def gzipped(path: Path, words: str) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write(words)


COPIES: dict[str, Callable[[Path, str], None]] = {
    "memory/scopes/家人/.entities.md.swp": plain,
    "memory/scopes/家人/entities.md~": partial(plain, encoding="utf-16"),
    "memory/scopes/家人/entities.sync-conflict-20261120.md": plain,
    "memory/.trash/entities.md": plain,
    "state/loop.broken-1.sqlite": plain,
    "state/adoption/a-1/broken.jsonl": lines,
    "backups/upgrade-vault-1-20261120T000000Z/memory/entities.md": plain,
    "backups/daily/of-mine.jsonl": lines,
    "exports/all.jsonl": lines,
    "exports/all.zip": zipped,
    "imports/all.jsonl.gz": gzipped,
    "imports/two.zip": zipped_twice,
    "index/.hidden": plain,
    "notes.txt": plain,
}
"""What a person or another program has put somewhere: it is theirs."""


@pytest.mark.parametrize("by", ["words", "id"])
async def test_an_owners_own_copy_is_named_every_night_and_left_as_it_is(
    home: Home, tmp_path: Path, by: str
) -> None:
    await home.purge()
    for some in batched(COPIES, 5):  # a notice has no room for more
        for name in some:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            COPIES[name](path, SECRET if by == "words" else f"^{home.memory_id}")
        written = {name: (tmp_path / name).read_bytes() for name in some}
        for _ in range(2):
            assert await home.night() == 0
            assert sorted(home.unfinished.split("; ")) == sorted(some)
        assert {name: (tmp_path / name).read_bytes() for name in some} == written
        for name in some:
            (tmp_path / name).unlink()
    assert await home.night() == 1
    assert not home.unfinished
    assert files_holding(tmp_path, SECRET, home.memory_id) == set()


ALSO = "听说奶奶把存折藏在米缸底下，爷爷不知道"


@pytest.mark.parametrize("others", ["an entry", "a note", "a turn"])
async def test_what_others_say_as_well_stays_where_they_say_it_alone(
    home: Home, tmp_path: Path, others: str
) -> None:
    await home.purge()
    home.clock.forward(minutes=1)
    match others:
        case "an entry":
            await home.rig.remember(ALSO, group(888), person(2))
        case "a note":
            path = tmp_path / "memory/scopes/家人/家事/奶奶.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"# 奶奶\n\n{ALSO}\n", "utf-8")
            await home.rig.engine.parts.note_book.refresh()
        case "a turn":
            await say(home.rig, ALSO, who=person(2))
    (tmp_path / "exports").mkdir(exist_ok=True)
    (tmp_path / "exports/theirs.txt").write_text(f"{HARMLESS}\n{ALSO}\n", "utf-8")
    copies = {"exports/its.txt": SECRET, "exports/id.txt": f"{ALSO} {home.memory_id}"}
    for name, content in copies.items():
        (tmp_path / name).write_text(content, "utf-8")
    assert await home.night() == 0
    assert sorted(home.unfinished.split("; ")) == sorted(copies)
    for name in copies:
        (tmp_path / name).unlink()
    assert await home.night() == 1
    assert files_holding(tmp_path, ALSO) > {"exports/theirs.txt"}
    assert files_holding(tmp_path, home.memory_id) == set()
