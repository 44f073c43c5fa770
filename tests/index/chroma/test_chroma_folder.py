"""Whatever becomes of a folder of Chroma's: each record that comes out of it answers for itself,
or the folder is broken, and written anew."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.index.child.program import Fault
from astrbot_plugin_scoped_memory.llm_memory.index.chroma import vector_store
from astrbot_plugin_scoped_memory.llm_memory.index.chroma.program import Chroma
from astrbot_plugin_scoped_memory.llm_memory.index.chroma.vector_store import (
    ChromaConnection,
    ChromaStore,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Fingerprint, Vectors
from astrbot_plugin_scoped_memory.llm_memory.index.ports import BROKEN, IndexRecord
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.tests.support.harming import fill_with_garbage, held, truncate

pytestmark = [pytest.mark.process, pytest.mark.timeout(240)]

SPACE: Final = Fingerprint("test", 64)
COUNT: Final = 1200


def vectors(numbers: Sequence[int], turn: int = 0) -> Vectors:
    """Each has its own, another one each turn."""
    rows = [np.random.default_rng((n, turn)).normal(size=SPACE.dim) for n in numbers]
    return np.array([row / np.linalg.norm(row) for row in rows], dtype=np.float32)


def records(numbers: Sequence[int], turn: int = 0) -> list[IndexRecord]:
    return [IndexRecord(Key("家", f"m-{n}"), f"h{n}-{turn}") for n in numbers]


def write(store: ChromaStore, numbers: Sequence[int], turn: int = 0) -> None:
    store.write(records(numbers, turn), vectors(numbers, turn))


def sound(store: ChromaStore) -> dict[int, int]:
    """The turn of each record that the store holds, asked one by one whether it is itself."""
    found: dict[int, int] = {}
    for some, rows in store.load(SPACE, 1_000_000):
        assert rows is not None
        for record, row in zip(some, rows, strict=True):
            number, turn = map(int, record.content_hash[1:].split("-"))
            assert record.key == Key("家", f"m-{number}")
            assert row == pytest.approx(vectors([number], turn)[0], abs=1e-5)
            found[number] = turn
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "chroma"
    store = ChromaStore(ChromaConnection.in_folder(folder))
    assert sound(store) == {}
    write(store, range(COUNT))
    store.close()
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """A copy, to be harmed."""
    return Path(shutil.copytree(whole, tmp_path / "chroma"))


@pytest.fixture
def store(folder: Path) -> Iterator[ChromaStore]:
    made = ChromaStore(ChromaConnection.in_folder(folder, seconds=30.0))
    yield made
    made.close()


def segment(folder: Path) -> Path:
    """Where the vectors of the one collection lie."""
    return next(path for path in folder.iterdir() if path.is_dir())


def a_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("no folder")


def newer(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "chroma.sqlite3")) as database, database:
        database.execute("ALTER TABLE collections RENAME TO collections_of_later")


def everything(harm: Callable[[Path], object]) -> Callable[[Path], object]:
    return lambda folder: [harm(p) for p in folder.rglob("*") if p.is_file() and p.stat().st_size]


def grows_without_end(folder: Path) -> None:
    """Every question is answered, and the next write ends the process."""
    header = segment(folder) / "header.bin"
    header.write_bytes(header.read_bytes()[:-16] + bytes(16))


HARMS: Final[dict[str, Callable[[Path], object]]] = {
    "deleted": shutil.rmtree,
    "a file in its place": a_file,
    "of a later version": newer,
    "all garbage": everything(fill_with_garbage),
    "all empty": everything(lambda path: path.write_bytes(b"")),
    "database cut": lambda folder: truncate(folder / "chroma.sqlite3"),
    "database deleted": lambda folder: (folder / "chroma.sqlite3").unlink(),
    "vectors deleted": lambda folder: shutil.rmtree(segment(folder)),
    "vectors garbage": lambda folder: fill_with_garbage(segment(folder) / "data_level0.bin"),
    "links garbage": lambda folder: fill_with_garbage(segment(folder) / "link_lists.bin"),
    "header garbage": lambda folder: fill_with_garbage(segment(folder) / "header.bin"),
    "grows without end": grows_without_end,
}


@pytest.mark.parametrize("harm", HARMS)
def test_what_was_damaged_is_told_or_written_anew(
    store: ChromaStore, folder: Path, harm: str
) -> None:
    HARMS[harm](folder)
    try:
        assert sound(store).items() <= dict.fromkeys(range(COUNT), 0).items()
        write(store, range(COUNT), 1)
        assert sound(store) == dict.fromkeys(range(COUNT), 1)
    except IndexUnavailable as error:
        assert error.code == BROKEN
        store.drop(None)
        write(store, range(COUNT), 1)
        assert sound(store) == dict.fromkeys(range(COUNT), 1)
    assert max(path.stat().st_size for path in folder.rglob("*")) < 64 << 20


def test_a_program_that_is_killed_while_it_loads_or_writes_costs_nothing(
    store: ChromaStore,
) -> None:
    pages = store.load(SPACE, 1_000_000)
    count = len(next(pages)[0])
    _kill(store)
    assert count + sum(len(some) for some, _ in pages) == COUNT
    rng = random.Random(7)
    order = rng.sample(range(COUNT), COUNT)
    timer = threading.Timer(rng.uniform(0.05, 1.0), _kill, (store,))
    timer.start()
    while timer.is_alive():
        for first in range(0, COUNT, 100):
            write(store, order[first : first + 100], 1)
    assert sound(store) == dict.fromkeys(range(COUNT), 1)


@pytest.mark.parametrize("most", [COUNT, COUNT - 1])
def test_the_program_stays_while_the_store_itself_is_asked(
    folder: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(vector_store, "_IDLE_SECONDS", 0.5)
    here = ChromaStore(ChromaConnection.in_folder(folder))
    assert sum(len(some) for some, _ in here.load(SPACE, most)) == COUNT
    time.sleep(1.5)
    assert (here._chroma._program.pid is None) is (most == COUNT)
    here.close()


def test_a_lock_of_another_program_is_no_fault_of_the_folder(folder: Path) -> None:
    here = ChromaStore(ChromaConnection.in_folder(folder, seconds=8.0))
    assert len(sound(here)) == COUNT
    with held(folder / "chroma.sqlite3"), pytest.raises(IndexUnavailable) as failed:
        write(here, range(10), 1)
    assert failed.value.code == "slow"
    assert len(sound(here)) == COUNT
    here.close()


def _kill(store: ChromaStore) -> None:
    pid = store._chroma._program.pid
    assert pid is not None
    os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))


def test_one_process_has_the_folder(store: ChromaStore, folder: Path) -> None:
    assert len(sound(store)) == COUNT
    other = ChromaStore(ChromaConnection.in_folder(folder))
    for call in (lambda: sound(other), lambda: other.drop(None)):
        with pytest.raises(IndexUnavailable) as failed:
            call()
        assert failed.value.code == "in_use"
    store.close()
    assert len(sound(other)) == COUNT
    other.close()


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("raise ImportError('none here')", "none here"),
        ("raise RuntimeError('an old sqlite3')", "an old sqlite3"),
        ("import os; os.abort()", "SIGABRT while loading chromadb"),
        ("import os; os.kill(os.getpid(), 9)", "SIGKILL"),  # no memory is left
    ],
)
def test_without_chromadb_it_says_so_and_the_folder_can_go(
    store: ChromaStore,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    code: str,
    told: str,
) -> None:
    (tmp_path / "before").mkdir()
    (tmp_path / "before/chromadb.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path / "before"))
    with pytest.raises(IndexUnavailable, match=told) as failed:
        sound(store)
    assert failed.value.code == ("no_child" if told == "SIGKILL" else "missing")
    assert folder.exists()
    store.drop(None)
    assert not folder.exists()


def test_a_process_that_the_system_refuses_is_no_fault_of_the_folder(
    store: ChromaStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise BlockingIOError("no process left")

    with monkeypatch.context() as short, pytest.raises(IndexUnavailable, match="left") as failed:
        short.setattr("subprocess.Popen", refused)
        sound(store)
    assert failed.value.code == "no_child"
    assert len(sound(store)) == COUNT


def test_a_disk_that_is_nearly_full_is_read_and_not_written_to(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = type("Usage", (), {"free": (64 << 20) + (1 << 19)})
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    rows = vectors(range(COUNT))
    monkeypatch.setattr(Chroma, "_opened", lambda *_: type("", (), {"query": lambda **_: COUNT}))
    asked = {"folder": str(folder), "name": "", "arguments": {"ids": [*map(str, range(COUNT))]}}
    with pytest.raises(Fault) as failed:
        Chroma().call(asked | {"call": "upsert"}, rows.tobytes())
    assert failed.value.code == "full"
    assert Chroma().call(asked | {"call": "query"}, rows.tobytes())[0] == {"found": COUNT}


def test_neither_id_nor_vector_of_what_was_purged_stays_in_any_file(tmp_path: Path) -> None:
    folder, space = tmp_path / "chroma", Fingerprint("m", 256, "1")
    rows = np.random.default_rng(1).normal(size=(60, 256)).astype(np.float32)
    many = [IndexRecord(Key("家人", f"memory-{n}."), f"content-{n}.") for n in range(60)]
    purged = [row.tobytes() for row in rows[:59]]
    purged += [f"{kind}-{n}.".encode() for kind in ("memory", "content") for n in range(59)]
    with closing(ChromaStore(ChromaConnection.in_folder(folder))) as store:
        for _ in range(3):
            assert list(store.load(space, 100)) == []
            for at in range(59):
                store.write(many[at : at + 1], rows[at : at + 1])
            store.drop([many[7].key])
            store.drop(None)
            assert list(store.load(space, 100)) == []
            store.write(many[59:], rows[59:])
            files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
            assert not [trace for trace in purged if any(trace in one for one in files)]
            store.drop(None)
