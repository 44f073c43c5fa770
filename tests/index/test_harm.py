"""Whatever is done to the folder of a real index, before a start or while the bot runs: it answers
at once with what is left, says what it met, loses nothing, and finds everything again."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    ExitStack,
    asynccontextmanager,
    closing,
    contextmanager,
)
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.harness.waiting import until_true
from astrbot_plugin_scoped_memory.llm_memory import (
    EngineOff,
    IndexUnavailable,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Vector
from astrbot_plugin_scoped_memory.llm_memory.index.vector.ports import Neighbours
from astrbot_plugin_scoped_memory.llm_memory.index.vector.worker_process import WorkerProcess
from astrbot_plugin_scoped_memory.llm_memory.index.vector.worker_store import (
    WorkerStore,
    worker_command,
)
from astrbot_plugin_scoped_memory.llm_memory.models.recall import Arm
from astrbot_plugin_scoped_memory.llm_memory.models.scope import ScopeFilter
from astrbot_plugin_scoped_memory.tests.fakes.embedder import FakeEmbedder
from astrbot_plugin_scoped_memory.tests.fakes.vector_store import Disk, InMemoryVectorStore
from astrbot_plugin_scoped_memory.tests.support.engines import (
    Rig,
    person,
    running,
    running_on_vectors,
)
from astrbot_plugin_scoped_memory.tests.support.harming import (
    fill_with_garbage,
    held,
    truncate,
)
from astrbot_plugin_scoped_memory.tests.support.indexed import (
    FAMILY,
    WORK,
    answered,
    assert_recovered,
    copied,
    until_said,
    words,
    write_files,
)
from astrbot_plugin_scoped_memory.tests.support.native import NATIVE
from astrbot_plugin_scoped_memory.tests.support.programs import program

pytestmark = [pytest.mark.process, pytest.mark.engine, pytest.mark.timeout(400)]

POSIX = pytest.mark.skipif(
    sys.platform not in ("linux", "darwin"), reason="open files stay, and locks cannot be told here"
)
KNOWN, FORGOTTEN, NEW = words(3, "家里"), words(5, "家里"), "奶奶对花生过敏"
LARGEST: Final = 64 << 20
"""Bytes of a file: an index of some hundred small vectors takes a few hundred thousand."""


class Bot:
    """A data folder, and the processes that open its index."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.index = root / "index"
        self.chroma = self.index / "chroma"
        self.database = self.chroma / "chroma.sqlite3"
        self.lexical = self.index / "lexical.sqlite"
        self.workers: list[WorkerProcess] = []

    @property
    def segment(self) -> Path:
        """Where the vectors of the one collection lie."""
        return next(path for path in self.chroma.iterdir() if path.is_dir())

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Rig]:
        store = WorkerStore(worker_command(self.chroma, NATIVE), start=self._started)
        async with running(self.root, store=store) as rig:
            yield rig

    def _started(self, command: Any) -> WorkerProcess:
        self.workers.append(WorkerProcess(command))
        return self.workers[-1]


async def built(root: Path) -> Path:
    """A folder whose indexes are complete, closed in order."""
    write_files(root / "memory")
    async with Bot(root).running() as rig:
        await rig.until_indexed()
        await rig.until_words()
    return root


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return asyncio.run(built(tmp_path_factory.mktemp("whole") / "data"))


@pytest.fixture
def bot(whole: Path, tmp_path: Path) -> Bot:
    """A copy, to be harmed."""
    return Bot(copied(whole, tmp_path / "data"))


async def answers(rig: Rig, *texts: str) -> None:
    """Each is found in its own words, by whoever can; another scope sees nothing of it."""
    for text in texts:
        assert (await answered(rig, text))[1] == text
        recall = await rig.recall(text, WORK)
        assert text not in {hit.preview for hit in recall.hits}


async def recovered(rig: Rig, *texts: str) -> None:
    """Each index finds everything by itself, and nothing is left to be said."""
    await rig.until_words()
    await assert_recovered(rig, *texts)
    for text in texts:
        assert await answered(rig, text, only=(Arm.LEXICAL,)) == (Arm.LEXICAL, text)
    assert not (await rig.engine.status()).notices


def all_garbage(bot: Bot) -> None:
    for path in [path for path in bot.index.rglob("*") if path.is_file() and path.stat().st_size]:
        fill_with_garbage(path)


def spoil_growth(bot: Bot) -> None:
    """Every question is answered, and the next write ends the process."""
    header = bot.segment / "header.bin"
    header.write_bytes(header.read_bytes()[:-16] + bytes(16))


def cut_beside_a_link(bot: Bot) -> None:
    """What a link out of the folder leads to is nobody's to delete."""
    aim = bot.root / "precious"
    aim.mkdir()
    (aim / "file").write_text("kept")
    if os.name != "nt":
        link = bot.chroma / "00000000-0000-0000-0000-000000000000"
        link.symlink_to(aim, target_is_directory=True)
    truncate(bot.database)


HARMS: Final[dict[str, Callable[[Bot], object]]] = {
    "the whole folder deleted": lambda bot: shutil.rmtree(bot.index),
    "everything garbage": all_garbage,
    "vectors truncated": lambda bot: truncate(bot.segment / "data_level0.bin"),
    "vectors garbage": lambda bot: fill_with_garbage(bot.segment / "data_level0.bin"),
    "vectors that would grow without measure": spoil_growth,
    "vectors deleted": lambda bot: shutil.rmtree(bot.segment),
    "database truncated beside a link": cut_beside_a_link,
    "database deleted": lambda bot: bot.database.unlink(),
    "words garbage": lambda bot: fill_with_garbage(bot.lexical),
}
UNSAID: Final = {"the whole folder deleted", "words garbage"}
"""Of vectors that were damaged the owner is told; what was deleted or is cheap is made again."""


@pytest.mark.parametrize("harm", HARMS)
async def test_what_was_damaged_while_the_bot_was_off_is_made_again(bot: Bot, harm: str) -> None:
    HARMS[harm](bot)
    async with bot.running() as rig:
        await answers(rig, KNOWN)
        await rig.remember(NEW, FAMILY)
        await answers(rig, NEW)
        await recovered(rig, KNOWN, NEW)
        said = {notice.code for notice in rig.notices}
        assert ("index_rebuilt" in said) is (harm not in UNSAID)
    assert (bot.root / "precious/file").exists() is ("link" in harm)
    if harm == "everything garbage":  # what was made again is opened as it is
        async with bot.running() as rig:
            await recovered(rig, KNOWN, NEW)
            assert rig.notices == []


@pytest.mark.parametrize("part", ["index", "index/chroma", "index/chroma/chroma.sqlite3"])
async def test_from_a_copy_of_another_time_nothing_forgotten_comes_back(
    bot: Bot, tmp_path: Path, part: str
) -> None:
    place, earlier = bot.root / part, tmp_path / "earlier"
    is_whole = place.is_dir()
    (shutil.copytree if is_whole else shutil.copy2)(place, earlier)
    async with bot.running() as rig:
        newest = await rig.engine.service.newest(conversation_id=FAMILY)
        (old,) = [one.memory for one in newest if one.memory.judgment == FORGOTTEN]
        await rig.engine.service.forget(
            old.memory_id, conversation_id=FAMILY, actor=person(1, admin=True)
        )
        await rig.remember(NEW, FAMILY)
        await rig.until_indexed()
    if is_whole:
        shutil.rmtree(place)
    earlier.replace(place)
    async with bot.running() as rig:
        await recovered(rig, KNOWN, NEW)
        for only in (None, (Arm.DENSE,), (Arm.LEXICAL,)):
            assert (await answered(rig, FORGOTTEN, only=only))[1] != FORGOTTEN
        assert rig.notices == [] or not is_whole


@contextmanager
def process_killed(bot: Bot) -> Iterator[None]:
    """As the system does where memory runs out."""
    bot.workers[-1].kill()
    yield


@contextmanager
def words_spoilt(bot: Bot) -> Iterator[None]:
    """What a bad block leaves of them."""
    with closing(sqlite3.connect(bot.lexical)) as connection, connection:
        connection.execute("UPDATE posting SET data = x'010203'")
    yield


UNDER_IT: Final[dict[str, list[Callable[[Bot], AbstractContextManager[None]]]]] = {
    "the process of the vectors killed": [process_killed],
    "words spoilt": [words_spoilt],
    "both": [process_killed, words_spoilt],
    "another's lock on the vectors": [lambda bot: held(bot.database)],
    "another's lock on the words": [lambda bot: held(bot.lexical)],
}


@POSIX
@pytest.mark.parametrize("harm", UNDER_IT)
async def test_what_happens_under_a_running_bot_is_done_without(bot: Bot, harm: str) -> None:
    async with bot.running() as rig:
        await recovered(rig, KNOWN)
        with ExitStack() as meanwhile:
            for harmed in UNDER_IT[harm]:
                meanwhile.enter_context(harmed(bot))
            await answers(rig, KNOWN)
            await rig.remember(NEW, FAMILY)  # writing goes on meanwhile
            await answers(rig, KNOWN, NEW)
            if harm == "another's lock on the vectors":
                assert (await until_said(rig, "index_off"))["cause"] == "busy"
        await recovered(rig, KNOWN, NEW)
        assert "index_rebuilt" not in {notice.code for notice in rig.notices}


@POSIX
async def test_vectors_that_are_deleted_under_a_running_bot_are_there_after_the_next_start(
    bot: Bot,
) -> None:
    async with bot.running() as rig:
        await rig.until_indexed()
        shutil.rmtree(bot.segment)
        await rig.remember(NEW, FAMILY)
        await answers(rig, KNOWN, NEW)
    async with bot.running() as rig:
        await recovered(rig, KNOWN, NEW)


async def test_a_database_that_is_locked_at_the_start_is_waited_for_behind(bot: Bot) -> None:
    with ExitStack() as lock:
        lock.enter_context(held(bot.database))
        async with bot.running() as rig:
            await rig.remember(NEW, FAMILY)
            assert (await until_said(rig, "index_off"))["cause"] == "busy"
            await answers(rig, KNOWN, NEW)
            lock.close()
            await recovered(rig, KNOWN, NEW)
            assert "index_rebuilt" not in {notice.code for notice in rig.notices}


def damage(path: Path, kind: str, seed: int) -> None:
    """Some of a file's bytes are others."""
    rng, data = random.Random(seed), bytearray(path.read_bytes())
    at = rng.randrange(len(data))
    page = slice(at // 4096 * 4096, at // 4096 * 4096 + 4096)
    match kind:
        case "cut":
            del data[at:]
        case "a page of zeros":
            data[page] = bytes(len(data[page]))
        case "a page of garbage":
            data[page] = rng.randbytes(len(data[page]))
        case "a number":
            number = rng.choice([b"\xff\xff\xff\x7f", b"\xff\xff\xff\xff", bytes(4), b"\0\0\1\0"])
            data[at // 4 * 4 : at // 4 * 4 + 4] = number
    path.write_bytes(data)


@pytest.mark.property
@given(st.integers(0, 1 << 32), st.sampled_from(["cut", "a page of zeros", "a page of garbage"]))
@settings(max_examples=max(2, settings().max_examples // 20))
def test_whatever_bytes_are_damaged_it_answers_and_no_write_fills_the_disk(
    whole: Path, seed: int, kind: str
) -> None:
    """Single bytes are not told: SQLite keeps no checksum of them."""

    async def live(bot: Bot) -> None:
        async with bot.running() as rig:
            await answers(rig, KNOWN)
            await rig.remember(NEW, FAMILY)
            await answers(rig, NEW)
            await rig.until_indexed()
            await answers(rig, KNOWN, NEW)

    with tempfile.TemporaryDirectory() as folder:
        bot = Bot(copied(whole, Path(folder) / "data"))
        files = sorted(path for path in bot.index.rglob("*") if path.is_file())
        sized = [path for path in files if path.stat().st_size]
        chosen = sized[seed % len(sized)]
        damage(chosen, "a number" if chosen.suffix == ".bin" and seed % 2 else kind, seed)
        asyncio.run(live(bot))
        assert max(p.stat().st_size for p in bot.index.rglob("*") if p.is_file()) < LARGEST


@pytest.fixture(scope="module")
def forbidden(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What an engine did whose index was forbidden piece by piece."""
    if not hasattr(os, "geteuid"):
        pytest.skip("no such rights on this system")
    return program.found_by(
        "forbidden_index.py", tmp_path_factory.mktemp("forbidden"), bound_by_modes=True
    )


@pytest.mark.parametrize(
    "what", ["the database", "writing to the database", "the folder", "while it runs"]
)
def test_an_index_that_is_forbidden_is_done_without_and_kept(
    forbidden: dict[str, Any], what: str
) -> None:
    found = forbidden[what]
    assert found["cause"] == "unreadable"
    assert found["answers"][0][1] == KNOWN
    assert found["answers"][1][1].startswith(("第", "这一句"))
    assert found["set_aside"] == []  # and everything was found afterwards


@pytest.fixture(scope="module")
def small_disk(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What an engine did whose index lay on a real disk that was filled."""
    if not sys.platform.startswith("linux"):
        pytest.skip("no mounts of our own on this system")
    return program.found_by("small_index_disk.py", tmp_path_factory.mktemp("small-disk"))


@pytest.mark.parametrize("when", ["nearly full", "full", "full at the start", "in the middle"])
def test_a_full_disk_under_the_index_costs_no_memory_and_no_answer(
    small_disk: dict[str, Any], when: str
) -> None:
    """Once there was room again, everything was found and no notice stood."""
    found = small_disk[when]
    assert len(found["answers"]) >= 2
    assert all(found["answers"])
    assert found["leaked"] == []
    assert found.get("cause", "full") == "full"


async def test_a_second_bot_on_the_same_folder_stays_off_and_harms_nobody(tmp_path: Path) -> None:
    async with running(tmp_path) as first:
        await first.remember(NEW, FAMILY)
        with pytest.raises(EngineOff) as off:
            async with running(tmp_path):
                pass
        assert off.value.code == "directory_in_use"
        await first.remember("奶奶喜欢豆浆", FAMILY)
    async with running(tmp_path) as third:
        assert set(await third.texts("奶奶 花生 豆浆", FAMILY)) == {NEW, "奶奶喜欢豆浆"}


class Rotten(InMemoryVectorStore):
    """Fails at every question until it is begun anew."""

    rotten = False

    def query(self, vector: Vector, scope_filter: ScopeFilter, k: int) -> Neighbours:
        if self.rotten:
            raise IndexUnavailable("bad block")
        return super().query(vector, scope_filter, k)

    def discard(self, reason: str) -> None:
        self.rotten = False
        super().discard(reason)


async def test_vectors_that_fail_at_every_question_are_begun_anew(tmp_path: Path) -> None:
    store = Rotten()
    async with running_on_vectors(tmp_path, store=store) as rig:
        await rig.remember(NEW, FAMILY)
        await rig.until_indexed()
        store.rotten = True
        async with asyncio.timeout(30):
            while store.rotten:
                assert await rig.texts(NEW, FAMILY) == [NEW]
                await asyncio.sleep(0.01)
        await rig.until_indexed()
        recall = await rig.recall(NEW, FAMILY)
        assert (recall.trace.arm, [hit.preview for hit in recall.hits]) == (Arm.DENSE, [NEW])


class Refusing(FakeEmbedder):
    """Takes no text to store while it ``refuses``; counts how often it was asked."""

    refuses, asked = True, 0

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector | None]:
        self.asked += 1
        self.failing_documents = self.refuses
        return await super().embed_documents(texts)


async def test_vectors_that_were_cut_short_are_not_taken_for_complete(tmp_path: Path) -> None:
    embedder, disk = Refusing("another"), Disk()

    def running_again() -> AbstractAsyncContextManager[Rig]:
        embedder.asked = 0
        return running_on_vectors(tmp_path, store=InMemoryVectorStore(disk), embedder=embedder)

    async with running(tmp_path, words_alone=True) as rig:
        await rig.remember(NEW, FAMILY)
    async with running_again():
        await until_true(lambda: embedder.asked > 0)
    async with running_again() as rig:
        await until_true(lambda: embedder.asked > 0)
        assert (await rig.engine.status()).index != "ready"
        assert await rig.texts(NEW, FAMILY) == [NEW]
        embedder.refuses = False
        await rig.until_indexed()
        assert (await rig.recall(NEW, FAMILY)).trace.arm is Arm.DENSE
