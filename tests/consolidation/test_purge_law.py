"""A memory counts as purged only if no file of the store has its id or its words any more, whatever
goes wrong meanwhile; what could not be done is named, and tried again every night."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory import NoticeCode, Purged
from astrbot_plugin_scoped_memory.llm_memory.storage.files import ChangedMeanwhile
from astrbot_plugin_scoped_memory.llm_memory.vault import archive as vault_archive
from astrbot_plugin_scoped_memory.tests.consolidation.test_purging import (
    EVENING,
    SECRET,
    SPEAKER,
    lived,
    night,
    purge,
    told,
)
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, running
from astrbot_plugin_scoped_memory.tests.support.reflecting import StandingClock, say
from astrbot_plugin_scoped_memory.tests.support.searched_files import files_holding

pytestmark = [pytest.mark.engine, pytest.mark.property]

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
}
"""What may be wrong, by a part of the name that the owner reads then."""


def unfinished(rig: Rig) -> str:
    """What the owner is told of what is left."""
    return "".join(
        notice.params["detail"]
        for notice in rig.engine.notices
        if notice.code is NoticeCode.PURGE_UNFINISHED
    )


async def purged_among(root: Path, faults: frozenset[str]) -> None:
    clock = StandingClock(EVENING)
    async with running(root, chat=ScriptedChat(otherwise=told), clock=clock) as rig:
        memory_id = await lived(rig, clock)
        await say(rig, "明天要去开会讨论项目", who=SPEAKER, recalled=(memory_id,))
        clock.forward(minutes=1)
        traces = partial(files_holding, root, SECRET, memory_id)
        with contextlib.ExitStack() as wrong:
            for name in sorted(faults):
                wrong.enter_context(FAULTS[name](root))
            said = await purge(rig, memory_id)
            assert isinstance(said, Purged)
            if not said.unfinished:
                assert not [name for name in traces() if name.startswith(ARCHIVE)]
            for _ in range(2 if faults else 1):
                assert bool(await night(rig, clock)) == (not faults)
                assert any(name in unfinished(rig) for name in faults) == bool(faults)
            assert bool(traces()) == bool(faults)
        assert bool(await night(rig, clock)) == bool(faults), unfinished(rig)
        assert not unfinished(rig)
        assert traces() == set()
    assert traces() == set()


@given(st.frozensets(st.sampled_from(sorted(FAULTS)), max_size=4))
@settings(max_examples=max(4, settings().max_examples // 12))
async def test_nothing_counts_as_purged_that_a_search_finds(faults: frozenset[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        await purged_among(Path(folder), faults)


@pytest.mark.parametrize("fault", FAULTS)
async def test_what_is_left_is_named_and_tried_again(tmp_path: Path, fault: str) -> None:
    await purged_among(tmp_path, frozenset({fault}))


async def test_a_busy_file_is_no_news_where_nothing_is_to_be_purged(tmp_path: Path) -> None:
    clock = StandingClock(EVENING)
    async with running(tmp_path, chat=ScriptedChat(otherwise="{}"), clock=clock) as rig:
        await say(rig, "明天要去开会讨论项目", who=SPEAKER)
        with read_by_another(tmp_path, file="state/loop.sqlite"):
            assert await night(rig, clock) == 0
        assert not unfinished(rig)
