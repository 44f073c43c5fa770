"""What a person has purged is in no file that the bot keeps, by the next night at the latest; what
could not be done is named, and tried again every night."""

from __future__ import annotations

import contextlib
import gc
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from astrbot_plugin_scoped_memory.llm_memory import Changed, DeedKind, Memory
from astrbot_plugin_scoped_memory.llm_memory.consolidation import purge
from astrbot_plugin_scoped_memory.llm_memory.index.chroma.vector_store import (
    ChromaConnection,
    ChromaStore,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Vector
from astrbot_plugin_scoped_memory.llm_memory.models.deeds import Deed
from astrbot_plugin_scoped_memory.llm_memory.models.migration import Added
from astrbot_plugin_scoped_memory.llm_memory.storage.files import ChangedMeanwhile
from astrbot_plugin_scoped_memory.llm_memory.vault import archive as vault_archive
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running
from astrbot_plugin_scoped_memory.tests.support.nights import find_useless, passive, plant
from astrbot_plugin_scoped_memory.tests.support.reflecting import (
    FAMILY,
    StandingClock,
    answer,
    learned,
    reflect,
    say,
    texts_of,
)
from astrbot_plugin_scoped_memory.tests.support.searched_files import files_holding

pytestmark = pytest.mark.engine

ROOT = Path(__file__).resolve().parents[2]
SECRET = "奶奶把存折藏在米缸底下"
ALSO = f"听说{SECRET}，爷爷不知道"
SPLIT = b" " * ((1 << 18) - 9) + SECRET.encode()  # across the border of two pieces
TERM = "米缸"  # as an index has it, which keeps no sentence
HARMLESS = "周六去爬山"
ADMIN, SPEAKER = person(9, "管理员", admin=True), person(1)
EVENING = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
ARCHIVE = "memory/scopes/家人/archive"
FIRST_NIGHT = "backups/daily/2026-11-21.zip"


@dataclass
class Home:
    """A bot with a reader that repeats what it reads."""

    rig: Rig
    clock: StandingClock
    memory_id: str = ""

    async def lives(self) -> None:
        """Days in which the secret comes into every place where it may lie."""
        rig = self.rig
        self.memory_id = await rig.stored_id(SECRET, FAMILY, SPEAKER)
        await rig.remember(HARMLESS, FAMILY, SPEAKER)
        await say(rig, f"{SECRET}，{HARMLESS}", who=SPEAKER, reply=f"好的，{SECRET}，记住了")
        assert (await reflect(rig)).read == 1
        await self.night()
        await rig.remember("小明喜欢喝茶", FAMILY, SPEAKER)  # another text of the pages
        await self.night()
        await say(rig, f"再说一遍，{SECRET}，{HARMLESS}", who=SPEAKER, recalled=(self.memory_id,))
        self.clock.forward(minutes=1)

    async def night(self) -> int:
        """Returns how many were purged."""
        self.clock.forward(days=1)
        await self.rig.until_words()
        report = await self.rig.night("nightly", patient=False)
        assert report.backup, report
        return report.purged

    async def forget(self, *, for_good: bool = True) -> None:
        said = await self.rig.forget(self.memory_id, FAMILY, ADMIN, for_good=for_good)
        assert isinstance(said, Changed)

    @property
    def unfinished(self) -> str:
        """What the owner is told of what is left."""
        return "".join(notice.params["detail"] for notice in self.rig.engine.notices)


@contextlib.asynccontextmanager
async def opened(root: Path, clock: StandingClock, **parts: Any) -> AsyncIterator[Home]:
    told = answer(learned(SECRET, who="s1"))
    chat = ScriptedChat(otherwise=lambda call: told if SECRET in call.prompt else "{}")
    with mock.patch.object(purge, "_AGAIN_SECONDS", 0.0):
        async with running(root, chat=chat, clock=clock, **parts) as rig:
            yield Home(rig, clock)


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    """It has lived with the secret."""
    async with opened(tmp_path, StandingClock(EVENING)) as made:
        await made.lives()
        yield made


COPIES = (
    *("memory/scopes/家人/.entities.md.swp", "memory/scopes/家人/entities.md~"),
    *("memory/.trash/entities.md", "exports/all.jsonl", "imports/all.txt", "notes.txt"),
)
"""An owner's own: they are left, and keep nothing from being purged."""


async def test_it_lies_where_docs_say_until_it_is_purged_and_then_nowhere_and_may_be_said_again(
    home: Home, tmp_path: Path
) -> None:
    there = {name.partition("/")[0] for name in files_holding(tmp_path, SECRET)}
    assert there == {"memory", "state", "backups"}
    await home.forget(for_good=False)
    with read_by_another(tmp_path, file="state/loop.sqlite"):
        await home.night()
        assert not home.unfinished
    await home.night()
    table = (ROOT / "docs" / "privacy.md").read_text("utf-8").partition("## 忘记了的话还在哪里")[2]
    places = {
        f"{ARCHIVE}/entities.md": "`archive/`",
        **{f"state/{name}.sqlite": f"`state/{name}.sqlite`" for name in ("loop", "state")},
        **{f"backups/daily/2026-11-2{day}.zip": "`backups/daily/`" for day in range(1, 5)},
    }
    assert files_holding(tmp_path, SECRET) == places.keys()
    assert all(f"| {named}" in table for named in places.values())
    for name in COPIES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{SECRET} ^{home.memory_id}", "utf-8")
    walks = home.rig.engine.parts.migration_store
    walks.keep_added("b", [Added("家人", home.memory_id, "d"), Added("家人", "m-other", "d")])
    await home.forget()
    assert f"{ARCHIVE}/entities.md" not in files_holding(tmp_path, SECRET)
    assert await home.night() == 1, home.unfinished
    assert files_holding(tmp_path, SECRET, home.memory_id) == set(COPIES)
    assert files_holding(tmp_path / "index", TERM) == set()
    assert files_holding(tmp_path, HARMLESS) > set()
    assert walks.added("b") == (Added("家人", "m-other", "d"),)
    gc.collect()
    held = [one for one in gc.get_objects() if isinstance(one, Memory)]
    assert not [one for one in held if one.memory_id == home.memory_id]
    await reflect(home.rig)
    assert files_holding(tmp_path, SECRET) == set(COPIES)
    await say(home.rig, f"那就再记一次，{SECRET}", who=SPEAKER)
    await reflect(home.rig)
    assert SECRET in texts_of(home.rig)["家人"]


@pytest.mark.parametrize("by_hand", ["in its file", "in the archive"])
async def test_what_is_gone_by_hand_is_purged_when_no_entry_has_it(
    home: Home, tmp_path: Path, by_hand: str
) -> None:
    if by_hand == "in its file":  # purges nothing until its entry is purged
        path = tmp_path / "memory/scopes/家人/entities.md"
        path.write_text(path.read_text("utf-8").replace(SECRET, HARMLESS), "utf-8")
        await home.rig.engine.reconcile()
    else:
        await home.forget(for_good=False)
    await home.night()
    assert any(name.startswith("backups/") for name in files_holding(tmp_path, SECRET))
    if by_hand == "in its file":
        await home.forget()
    else:
        shutil.rmtree(tmp_path / ARCHIVE)
    assert await home.night() > 0, home.unfinished
    assert files_holding(tmp_path, SECRET) == set()


async def test_what_a_night_archived_is_purged_from_its_backups_too(tmp_path: Path) -> None:
    weak, *others = (passive(n, f"第{n}件", strength=10) for n in range(4))
    weak = replace(weak, judgment=SECRET)
    plant(tmp_path, "家人", "entities.md", [weak, *others])
    find_useless(tmp_path, "家人", weak)
    async with opened(tmp_path, StandingClock(EVENING)) as home:
        home.memory_id = weak.memory_id
        assert await home.night() == 0
        assert files_holding(tmp_path, SECRET) >= {f"{ARCHIVE}/entities.md", FIRST_NIGHT}
        await home.forget()
        assert await home.night() == 1, home.unfinished
        assert files_holding(tmp_path, SECRET, home.memory_id) == set()


async def test_nothing_is_purged_while_the_folder_of_its_scope_is_gone(tmp_path: Path) -> None:
    clock, memory = StandingClock(EVENING), tmp_path / "memory"
    async with opened(tmp_path, clock) as home:
        home.memory_id = await home.rig.stored_id(SECRET, FAMILY, SPEAKER)
        await home.night()
        await home.forget(for_good=False)
    memory.rename(tmp_path / "elsewhere")
    memory.mkdir()
    async with opened(tmp_path, clock) as home:
        assert await home.night() == 0
    assert any(name.startswith("backups/") for name in files_holding(tmp_path, SECRET))


async def test_an_index_of_vectors_that_has_the_id_is_built_anew_without_it(tmp_path: Path) -> None:
    chroma = tmp_path / "index" / "chroma"
    store = ChromaStore(ChromaConnection.in_folder(chroma))
    async with opened(tmp_path, StandingClock(EVENING), store=store) as home:
        home.memory_id = await home.rig.stored_id(SECRET, FAMILY, SPEAKER)
        await home.rig.remember(HARMLESS, FAMILY, SPEAKER)
        await home.rig.until_indexed()
        await home.forget()
        await home.rig.until_indexed()
        assert files_holding(chroma, home.memory_id)  # Chroma keeps what it has deleted
        assert await home.night() == 1
        await home.rig.until_indexed()
        assert files_holding(tmp_path, home.memory_id, SECRET) == set()
        assert await home.rig.texts("爬山", FAMILY) == [HARMLESS]


def holds_vector(folder: Path, vector: Vector) -> bool:
    files = (path for path in folder.rglob("*") if path.is_file())
    return any(vector.tobytes() in path.read_bytes() for path in files)


async def test_the_vector_of_former_words_goes_though_their_entry_lives(tmp_path: Path) -> None:
    chroma = tmp_path / "index" / "chroma"
    store = ChromaStore(ChromaConnection.in_folder(chroma))
    async with opened(tmp_path, StandingClock(EVENING), store=store) as home:
        home.memory_id = await home.rig.stored_id(SECRET, FAMILY, SPEAKER)
        await home.rig.until_indexed()
        parts = home.rig.engine.parts
        [former] = await parts.indexing.vectors([*parts.passages.all()])
        await home.rig.edit(home.memory_id, HARMLESS, FAMILY, ADMIN)
        await home.rig.until_indexed()
        assert holds_vector(chroma, former)  # Chroma keeps what it has replaced
        shutil.rmtree(tmp_path / ARCHIVE)
        assert await home.night() == 1, home.unfinished
        assert not holds_vector(chroma, former)
        assert await home.rig.texts("爬山", FAMILY) == [HARMLESS]


# What may be wrong.
type Fault = Callable[[Path], AbstractContextManager[object]]


@contextlib.contextmanager
def read_by_another(root: Path, *, file: str) -> Iterator[None]:
    """A backup program is in the middle of reading a database."""
    with contextlib.closing(sqlite3.connect(root / file)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        yield


@contextlib.contextmanager
def standing(root: Path, *, file: str, content: bytes = SPLIT) -> Iterator[None]:
    """A file of ours that no step of the night rewrites, until its owner deletes it."""
    path = root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    yield
    path.unlink(missing_ok=True)


def changed_all_the_time(_: Path) -> AbstractContextManager[object]:
    """An editor saves the archive whenever the bot has just read it."""
    changed = ChangedMeanwhile("entities.md")
    return mock.patch.object(vault_archive, "replace_durably", side_effect=changed)


FAULTS: dict[str, Fault] = {
    "state/loop.sqlite": partial(read_by_another, file="state/loop.sqlite"),
    "entities.md": changed_all_the_time,
    "patterns.md": partial(standing, file=f"{ARCHIVE}/patterns.md", content=b"\xff\xfe"),
    "backups/daily/2026-11-01.jsonl": partial(standing, file="backups/daily/2026-11-01.jsonl"),
    "2026-11-02.zip": partial(standing, file="backups/daily/2026-11-02.zip", content=b"no zip"),
    "state/loop.broken-1.sqlite": partial(standing, file="state/loop.broken-1.sqlite"),
}
"""By a part of the name that the owner reads then."""


@pytest.mark.parametrize("faults", [*([one] for one in FAULTS), FAULTS], ids=" ".join)
async def test_what_is_left_is_named_and_tried_again(
    home: Home, tmp_path: Path, faults: Sequence[str]
) -> None:
    with contextlib.ExitStack() as wrong:
        for name in faults:
            wrong.enter_context(FAULTS[name](tmp_path))
        await home.forget()
        for _ in range(2):
            assert await home.night() == 0
            assert any(name in home.unfinished for name in faults)
    assert await home.night() == 1, home.unfinished
    assert not home.unfinished
    assert files_holding(tmp_path, SECRET, home.memory_id) == set()


async def test_a_log_that_stays_behind_the_seal_is_told_though_all_is_purged(
    home: Home, tmp_path: Path
) -> None:
    deeds, wrong = home.rig.engine.parts.corrected, contextlib.ExitStack()
    seal = deeds.seal

    async def sealed(*what: Any) -> None:
        await seal(*what)
        wrong.enter_context(read_by_another(tmp_path, file="state/state.sqlite"))

    await home.forget()
    with wrong, mock.patch.object(deeds, "seal", sealed):
        assert await home.night() == 1
        assert home.unfinished.startswith("state/state.sqlite: ")
    assert await home.night() == 0
    assert not home.unfinished
    assert files_holding(tmp_path, SECRET, home.memory_id) == set()


@pytest.mark.parametrize("others", ["an entry", "a note", "a turn"])
async def test_what_others_say_as_well_stays_where_they_say_it(
    home: Home, tmp_path: Path, others: str
) -> None:
    await home.forget()
    home.clock.forward(minutes=1)
    if others == "an entry":
        await home.rig.remember(ALSO, group(888), person(2))
    elif others == "a turn":
        await say(home.rig, ALSO, who=person(2))
    else:
        (tmp_path / "memory/scopes/家人/奶奶.md").write_text(f"# 奶奶\n\n{ALSO}\n", "utf-8")
        await home.rig.engine.parts.note_book.refresh()
    for text, purged in ((f"{ALSO} {home.memory_id}", 0), (ALSO, 1)):
        with standing(tmp_path, file="backups/upgrade-1/x.md", content=text.encode()):
            assert await home.night() == purged
    assert not home.unfinished
    assert files_holding(tmp_path, ALSO) > set()
    assert files_holding(tmp_path, home.memory_id) == set()


def test_what_others_say_is_looked_for_only_where_words_were_found() -> None:
    others = iter([ALSO])
    deed = Deed(DeedKind.FORGOTTEN, "家人", "m-0001", SECRET, EVENING)
    traces = purge.Traces([deed], set(), others)
    assert not traces.are_in([b"x" * 1000] * 1000)
    assert next(others) == ALSO, "looked at"
    assert traces.are_in([SECRET.encode()])
