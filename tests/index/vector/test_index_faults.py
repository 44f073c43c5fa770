"""Whatever becomes of an index folder, the bot goes on: with the real Chroma and real faults."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import IndexFull, IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Fingerprint
from astrbot_plugin_scoped_memory.llm_memory.index.vector import worker_store
from astrbot_plugin_scoped_memory.llm_memory.index.vector.embedded import EmbeddedChroma
from astrbot_plugin_scoped_memory.llm_memory.index.vector.vector_store import ChromaVectorStore
from astrbot_plugin_scoped_memory.llm_memory.index.vector.worker_process import WorkerProcess
from astrbot_plugin_scoped_memory.llm_memory.storage.disk_space import DiskSpace
from astrbot_plugin_scoped_memory.tests.index.vector.index_bench import (
    COUNT,
    FAMILY,
    SPACE,
    Index,
    build,
    fill_with_garbage,
    records,
    truncate,
    vectors,
    works,
)

pytestmark = [pytest.mark.process, pytest.mark.contract]

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"
IN_ANOTHER_PROCESS = """
import sys
sys.path.insert(0, sys.argv[1])
import checkout
checkout.register()
from pathlib import Path
from astrbot_plugin_scoped_memory.llm_memory.index.vector.embedded import EmbeddedChroma
from astrbot_plugin_scoped_memory.llm_memory.index.vector.vector_store import ChromaVectorStore
from astrbot_plugin_scoped_memory.tests.index.vector.index_bench import (
    Index, SPACE, records, vectors,
)

index = Index(Path(sys.argv[2]))
"""
WRITES_FOR_EVER = """
store = ChromaVectorStore(EmbeddedChroma(index.folder))
store.open()
store.use(store.name_for(SPACE))
for number in range(100_000):
    store.upsert(records(50, 1000 + 50 * number), vectors(50, 1000 + 50 * number))
    print(number, flush=True)
"""
DIES_WHILE_IT_OPENS = """
import os
connection = EmbeddedChroma(index.folder)
connection._start = lambda: os._exit(9)
connection.open()
"""
HOLDS_THE_DATABASE = """
import sqlite3
database = sqlite3.connect(index.database, isolation_level=None)
database.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return build(tmp_path_factory.mktemp("built"))


@pytest.fixture
def index(built: Index, tmp_path: Path) -> Index:
    return built.copied(tmp_path)


@contextmanager
def elsewhere(index: Index, program: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Another process over the same folder, killed at the end."""
    process = subprocess.Popen(
        [sys.executable, "-c", IN_ANOTHER_PROCESS + program, str(SCRIPTS), str(index.root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def begun_anew(index: Index) -> str:
    """Set aside once, usable, and opened again from then on. The reason."""
    store, reason = index.opened(index.worker())
    assert store.count() == 0
    assert works(store)
    store.close()
    for _ in range(2):
        store, again = index.opened()
        assert again == ""
        assert store.count() == 60
        store.close()
    return reason


def test_an_undisturbed_index_is_opened_as_it_is(index: Index) -> None:
    for _ in range(2):
        store, reason = index.opened()
        assert (reason, store.count()) == ("", COUNT)
        assert len(store.query(vectors(1)[0], FAMILY, 5).found) == 5
        store.close()
    store, _ = index.opened()
    assert works(store)
    store.close()
    index.opened()[0].close()


def test_what_was_deleted_and_replaced_is_no_fault(index: Index) -> None:
    store, _ = index.opened()
    store.upsert(records(100), vectors(100, 500))
    store.delete([record.key for record in records(120, 90)])
    store.close()
    store, reason = index.opened()
    assert (reason, store.count()) == ("", COUNT - 120)
    store.close()


def test_what_an_earlier_version_noted_of_the_files_is_passed_over(index: Index) -> None:
    noted = {"seal": {"chroma.sqlite3": [1, 2]}, "version": "1.5.9", "unclosed": 2}
    about = {"format": 1, "openings": 1, "removed": 7, **noted}
    index.record.write_text(json.dumps(about))
    store, reason = index.opened()
    assert (reason, store.count()) == ("", COUNT)
    store.close()
    assert json.loads(index.record.read_text()) == {
        "format": 1, "openings": 0, "removed": 7, "set_aside": [],
    }  # fmt: skip


def spoil_growth(header: Path) -> None:
    """The last two numbers: every question is answered, and the next write ends the process."""
    header.write_bytes(header.read_bytes()[:-16] + bytes(16))


@pytest.mark.parametrize("count", [0, 20, 100, 101])
def test_a_small_index_is_no_fault(tmp_path: Path, count: int) -> None:
    """Up to the first hundred records the graph's files hold nothing."""
    index = Index(tmp_path)
    store, _ = index.opened()
    store.upsert(records(count), vectors(count))
    store.close()
    store, reason = index.opened()
    assert (reason, store.count()) == ("", count)
    store.close()


@pytest.mark.parametrize(
    ("harm", "reasons"),
    [
        (lambda index: truncate(index.segment / "data_level0.bin"), {"garbage"}),
        (lambda index: fill_with_garbage(index.segment / "data_level0.bin"), {"crashed"}),
        (lambda index: fill_with_garbage(index.segment / "link_lists.bin"), {"garbage"}),
        (lambda index: fill_with_garbage(index.segment / "header.bin"), {"garbage"}),
        (lambda index: spoil_growth(index.segment / "header.bin"), {"garbage"}),
        (lambda index: fill_with_garbage(index.segment / "index_metadata.pickle"), {"garbage"}),
        (lambda index: shutil.rmtree(index.segment), {"partial"}),
        (lambda index: truncate(index.database), {"garbage"}),
        (lambda index: fill_with_garbage(index.database), {"garbage"}),
        (lambda index: index.database.unlink(), {"partial"}),
    ],
    ids=[
        "graph truncated",
        "graph garbage",
        "links garbage",
        "header garbage",
        "a graph that would grow without measure",
        "ids garbage",
        "segment deleted",
        "database truncated",
        "database garbage",
        "database deleted",
    ],
)
def test_a_damaged_folder_is_set_aside_and_begun_anew(
    index: Index, harm: Callable[[Index], None], reasons: set[str]
) -> None:
    harm(index)
    assert begun_anew(index) in reasons
    assert len(index.set_aside) == 1


def test_a_database_and_a_graph_of_different_times_do_not_pass(index: Index) -> None:
    earlier = index.database.read_bytes()
    store, _ = index.opened()
    store.upsert(records(200, 1000), vectors(200, 1000))
    store.close()
    index.database.write_bytes(earlier)
    assert begun_anew(index) == "partial"


def test_a_folder_put_back_from_another_time_is_looked_into_and_used(
    built: Index, index: Index
) -> None:
    store, _ = index.opened()
    store.upsert(records(200, 1000), vectors(200, 1000))
    store.close()
    shutil.rmtree(index.folder)
    shutil.copytree(built.folder, index.folder)
    store, reason = index.opened()
    assert (reason, store.count()) == ("", COUNT)
    assert works(store)
    store.close()


def test_only_the_newest_broken_folder_is_kept(index: Index) -> None:
    for _ in range(3):
        fill_with_garbage(index.database)
        store, reason = index.opened()
        store.close()
        assert reason == "garbage"
    assert len(index.set_aside) == 1


def test_what_a_kill_left_is_looked_into_and_works(index: Index) -> None:
    with elsewhere(index, WRITES_FOR_EVER) as writer:
        assert writer.stdout is not None
        for _ in range(4):
            assert writer.stdout.readline()
    store, reason = index.opened(index.worker())
    assert reason or store.count() >= COUNT + 4 * 50  # it happens; then the vault rebuilds it
    assert works(store)
    store.close()


def test_a_folder_that_ended_three_processes_is_not_opened_by_a_fourth(index: Index) -> None:
    for _ in range(3):
        with elsewhere(index, DIES_WHILE_IT_OPENS) as process:
            assert process.wait(60) == 9
    assert begun_anew(index) == "openings"


def test_a_database_that_another_program_has_is_left_alone(index: Index) -> None:
    store = index.store()
    with elsewhere(index, HOLDS_THE_DATABASE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline()
        with pytest.raises(IndexUnavailable) as caught:
            store.open()
    assert caught.value.code == "busy"
    assert store.open() == ""
    assert store.use(store.name_for(SPACE))
    assert store.count() == COUNT
    store.close()
    assert index.set_aside == []


@pytest.mark.skipif(sys.platform == "win32", reason="no process can be made to stand still")
def test_an_opening_that_does_not_end_is_given_up_and_the_folder_with_it(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_store, "_OPENING_SECONDS", 5.0)
    store = index.worker()
    stopped: list[WorkerProcess] = []

    class Stopping(WorkerProcess):
        """The first one stands still when it is to open the folder."""

        def call(self, name: str, *args: Any, **options: Any) -> Any:
            if name == "open" and not stopped:
                stopped.append(self)
                os.kill(self.pid, signal.SIGSTOP)
            return super().call(name, *args, **options)

    store._start = Stopping
    assert store.open() == "hangs"
    store.close()
    assert len(index.set_aside) == 1


def test_what_breaks_again_and_again_is_not_begun_anew_for_ever(index: Index) -> None:
    for _ in range(3):
        fill_with_garbage(index.database)
        index.opened()[0].close()
    fill_with_garbage(index.database)
    store = index.store()
    for _ in range(2):
        with pytest.raises(IndexUnavailable) as caught:
            store.open()
        assert caught.value.code == "faulty"
    about = json.loads(index.record.read_text())
    an_hour_ago = [at - 3601 for at in about["set_aside"]]
    index.record.write_text(json.dumps({**about, "set_aside": an_hour_ago}))
    assert store.open() == "garbage"
    store.close()


def test_what_was_given_up_is_said_by_the_next_opening(index: Index) -> None:
    store, _ = index.opened()
    store.discard("faulty")
    assert (store.open(), store.collections()) == ("faulty", ())
    store.discard("worn")  # no fault: nothing to look at later
    assert store.open() == "worn"
    store.close()
    assert len(index.set_aside) == 1


def test_the_segments_of_a_dropped_collection_are_swept(index: Index) -> None:
    (index.folder / "notes").mkdir()
    store, _ = index.opened()
    store.use(store.name_for(Fingerprint("another", SPACE.dim)))
    store.upsert(records(150), vectors(150))
    store.drop(store.name_for(SPACE))
    store.close()
    assert sum(path.is_dir() for path in index.folder.iterdir()) == 3
    index.opened()[0].close()
    assert sum(path.is_dir() for path in index.folder.iterdir()) == 2
    assert (index.folder / "notes").is_dir()


def test_a_link_that_looks_like_a_segment_is_not_followed(index: Index, tmp_path: Path) -> None:
    aim = tmp_path / "precious"
    aim.mkdir()
    (aim / "file").write_text("kept")
    link = index.folder / "00000000-0000-0000-0000-000000000000"
    link.symlink_to(aim, target_is_directory=True)
    index.opened()[0].close()
    assert (aim / "file").read_text() == "kept"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_a_folder_without_rights_is_left_alone(index: Index) -> None:
    index.database.chmod(0)
    with pytest.raises(IndexUnavailable) as caught:
        index.store().open()
    assert caught.value.code == "unreadable"
    index.database.chmod(0o600)
    store, reason = index.opened()
    assert (reason, store.count()) == ("", COUNT)
    store.close()


def test_a_full_disk_refuses_a_write_and_reading_goes_on(index: Index) -> None:
    nearly_full = DiskSpace(index.folder, free=lambda _: 32 << 20)
    store = ChromaVectorStore(EmbeddedChroma(index.folder, space=nearly_full))
    store.open()
    store.use(store.name_for(SPACE))
    with pytest.raises(IndexFull):
        store.upsert(records(1, 5000), vectors(1, 5000))
    assert store.count() == COUNT
    assert len(store.query(vectors(1)[0], FAMILY, 5).found) == 5
    store.close()
