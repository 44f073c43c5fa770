"""Whatever is done to the folder of a real index, before a start or while the bot runs: it answers
at once with what is left, says what it met, loses nothing, and finds everything again."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractContextManager,
    asynccontextmanager,
    closing,
    contextmanager,
)
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory import EngineOff
from astrbot_plugin_scoped_memory.llm_memory.models.recall import Arm
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, person, running
from astrbot_plugin_scoped_memory.tests.support.harming import fill_with_garbage, held, truncate
from astrbot_plugin_scoped_memory.tests.support.indexed import (
    FAMILY,
    WORK,
    answered,
    assert_recovered,
    chroma_in,
    copied,
    words,
    write_files,
)
from astrbot_plugin_scoped_memory.tests.support.programs import program

pytestmark = [pytest.mark.process, pytest.mark.engine, pytest.mark.timeout(400)]

POSIX = pytest.mark.skipif(
    sys.platform not in ("linux", "darwin"), reason="open files stay, and locks cannot be told here"
)
KNOWN, FORGOTTEN, NEW = words(3, "家里"), words(5, "家里"), "奶奶对花生过敏"


class Bot:
    """A data folder, and the process that has its vectors."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.index = root / "index"
        self.chroma = self.index / "chroma"
        self.database = self.chroma / "chroma.sqlite3"
        self.words = self.index / "words.sqlite"
        self.program: Any = None

    @property
    def segment(self) -> Path:
        """Where the vectors of the one collection lie."""
        return next(path for path in self.chroma.iterdir() if path.is_dir())

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Rig]:
        store = chroma_in(self.root)
        self.program = store._chroma._program
        async with running(self.root, store=store) as rig:
            yield rig


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
    "vectors deleted": lambda bot: shutil.rmtree(bot.segment),
    "database truncated beside a link": cut_beside_a_link,
}
SAID: Final = {"everything garbage", "database truncated beside a link"}
"""Of vectors that were damaged the owner is told; what was deleted or is cheap is made again."""


@pytest.mark.parametrize("harm", HARMS)
async def test_what_was_damaged_while_the_bot_was_off_is_made_again(bot: Bot, harm: str) -> None:
    HARMS[harm](bot)
    async with bot.running() as rig:
        await answers(rig, KNOWN)
        await rig.remember(NEW, FAMILY)
        await answers(rig, NEW)
        await recovered(rig, KNOWN, NEW)
        assert [notice.code for notice in rig.notices] == ["index_rebuilt"] * (harm in SAID)
    assert (bot.root / "precious/file").exists() is ("link" in harm)
    async with bot.running() as rig:  # what was made again is opened as it is
        await recovered(rig, KNOWN, NEW)
        assert rig.notices == []


@pytest.mark.parametrize("part", ["index", "index/chroma"])
async def test_from_a_copy_of_another_time_nothing_forgotten_comes_back(
    bot: Bot, tmp_path: Path, part: str
) -> None:
    place, earlier = bot.root / part, tmp_path / "earlier"
    shutil.copytree(place, earlier)
    async with bot.running() as rig:
        newest = await rig.engine.service.newest(conversation_id=FAMILY)
        (old,) = [one.memory for one in newest if one.memory.judgment == FORGOTTEN]
        await rig.forget(old.memory_id, FAMILY, person(1, admin=True))
        await rig.remember(NEW, FAMILY)
        await rig.until_indexed()
    shutil.rmtree(place)
    earlier.replace(place)
    async with bot.running() as rig:
        await recovered(rig, KNOWN, NEW)
        for only in (None, (Arm.DENSE,), (Arm.LEXICAL,)):
            assert (await answered(rig, FORGOTTEN, only=only))[1] != FORGOTTEN
        assert rig.notices == []


@contextmanager
def process_killed(bot: Bot) -> Iterator[None]:
    """As the system does where memory runs out."""
    if bot.program.pid is not None:
        os.kill(bot.program.pid, signal.SIGKILL)
    yield


@contextmanager
def words_spoilt(bot: Bot) -> Iterator[None]:
    """What a bad block leaves of them."""
    with closing(sqlite3.connect(bot.words)) as connection, connection:
        connection.execute("UPDATE cut SET tokens = x'010203'")
    yield


@contextmanager
def vectors_deleted(bot: Bot) -> Iterator[None]:
    shutil.rmtree(bot.segment)
    yield


UNDER_IT: Final[dict[str, Callable[[Bot], AbstractContextManager[None]]]] = {
    "the process of the vectors killed": process_killed,
    "words spoilt": words_spoilt,
    "vectors deleted": vectors_deleted,
    "another's lock on the vectors": lambda bot: held(bot.database),
    "another's lock on the words": lambda bot: held(bot.words),
}


@POSIX
@pytest.mark.parametrize("harm", UNDER_IT)
async def test_what_happens_under_a_running_bot_is_done_without(bot: Bot, harm: str) -> None:
    async with bot.running() as rig:
        await recovered(rig, KNOWN)
        with UNDER_IT[harm](bot):
            await answers(rig, KNOWN)
            await rig.remember(NEW, FAMILY)  # writing goes on meanwhile
            await answers(rig, KNOWN, NEW)
        await recovered(rig, KNOWN, NEW)
    async with bot.running() as rig:
        await recovered(rig, KNOWN, NEW)


@pytest.mark.property
@given(st.integers(0, 1 << 32), st.booleans())
@settings(max_examples=max(2, settings().max_examples // 20))
def test_whatever_is_cut_off_or_a_page_of_garbage_it_answers(
    whole: Path, seed: int, cut: bool
) -> None:
    """Single bytes are not told: SQLite keeps no checksum of them."""

    async def live(bot: Bot) -> None:
        async with bot.running() as rig:
            await answers(rig, KNOWN)
            await rig.remember(NEW, FAMILY)
            await rig.until_indexed()
            await answers(rig, KNOWN, NEW)

    with tempfile.TemporaryDirectory() as folder:
        bot, rng = Bot(copied(whole, Path(folder) / "data")), random.Random(seed)
        files = sorted(path for path in bot.index.rglob("*") if path.is_file())
        path = rng.choice([path for path in files if path.stat().st_size])
        data = bytearray(path.read_bytes())
        at = rng.randrange(len(data)) // 4096 * 4096
        data[at : None if cut else at + 4096] = b"" if cut else rng.randbytes(len(data[at:][:4096]))
        path.write_bytes(data)
        asyncio.run(live(bot))


@pytest.mark.parametrize("name", ["forbidden_index.py", "small_index_disk.py"])
def test_an_index_that_is_forbidden_or_full_costs_no_memory_and_no_answer(
    name: str, tmp_path: Path
) -> None:
    """In each phase; once it was as before, everything was found and no notice stood."""
    if not sys.platform.startswith("linux"):
        pytest.skip("no rights and mounts of our own on this system")
    forbidden = name == "forbidden_index.py"
    for phase, found in program.found_by(name, tmp_path, bound_by_modes=forbidden).items():
        assert found["cause"] == ("unreadable" if forbidden else "full"), phase
        assert len(found["answers"]) >= 2
        assert all(found["answers"]), phase
        assert found["leaked"] == []


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
