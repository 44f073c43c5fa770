"""Whatever becomes of an index folder, the bot goes on: with the real Chroma and real faults."""

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
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


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return build(tmp_path_factory.mktemp("built"))


@pytest.fixture
def index(built: Index, tmp_path: Path) -> Index:
    return built.copied(tmp_path)


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


@pytest.mark.parametrize("count", [0, 20, 100, 101, COUNT])
def test_an_undisturbed_index_is_opened_as_it_is(tmp_path: Path, count: int) -> None:
    """Up to the first hundred records the graph's files hold nothing."""
    index = Index(tmp_path)
    store, _ = index.opened()
    store.upsert(records(count), vectors(count))
    store.close()
    for _ in range(2):
        store, reason = index.opened()
        assert (reason, store.count()) == ("", count)
        assert len(store.query(vectors(1)[0], FAMILY, 5).found) == min(count, 5)
        store.close()
    store, _ = index.opened()
    assert works(store)
    store.close()
    index.opened()[0].close()


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


@pytest.mark.skipif(sys.platform == "win32", reason="no process can be made to stand still")
def test_an_opening_that_does_not_end_is_given_up_and_the_folder_with_it(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_store, "_OPENING_SECONDS", 5.0)
    stopped: list[WorkerProcess] = []

    class Stopping(WorkerProcess):
        """The first one stands still when it is to open the folder."""

        def call(self, name: str, *args: Any, **options: Any) -> Any:
            if name == "open" and not stopped:
                stopped.append(self)
                os.kill(self.pid, signal.SIGSTOP)
            return super().call(name, *args, **options)

    store = index.worker(Stopping)
    assert store.open() == "hangs"
    store.close()
    assert len(index.set_aside) == 1


def test_only_the_newest_broken_folder_is_kept_and_none_is_begun_anew_for_ever(
    index: Index,
) -> None:
    for _ in range(3):
        fill_with_garbage(index.database)
        store, reason = index.opened()
        store.close()
        assert reason == "garbage"
    assert len(index.set_aside) == 1
    fill_with_garbage(index.database)
    store = index.store()
    for _ in range(2):
        with pytest.raises(IndexUnavailable) as caught:
            store.open()
        assert caught.value.code == "faulty"


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
