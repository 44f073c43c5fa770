"""Index folders that end the process which opens them, or hold it for ever. What harms whole bots
stands in tests/index/test_harm.py."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.index.vector import worker_store
from astrbot_plugin_scoped_memory.llm_memory.index.vector.worker_process import WorkerProcess
from astrbot_plugin_scoped_memory.tests.index.vector.index_bench import (
    Index,
    build,
    fill_with_garbage,
    records,
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
    """Set aside, usable, and opened again from then on. The reason."""
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


def spoil_growth(header: Path) -> None:
    """The last two numbers: every question is answered, and the next write ends the process."""
    header.write_bytes(header.read_bytes()[:-16] + bytes(16))


def restore_an_earlier_database(index: Index) -> None:
    earlier = index.database.read_bytes()
    store, _ = index.opened()
    store.upsert(records(200, 1000), vectors(200, 1000))
    store.close()
    index.database.write_bytes(earlier)


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (restore_an_earlier_database, "partial"),
        (lambda index: fill_with_garbage(index.segment / "data_level0.bin"), "crashed"),
        (lambda index: spoil_growth(index.segment / "header.bin"), "garbage"),
    ],
    ids=[
        "a database and a graph of different times",
        "graph garbage",
        "a graph that would grow without measure",
    ],
)
def test_a_damaged_folder_is_set_aside_and_begun_anew(
    index: Index, harm: Callable[[Index], None], reason: str
) -> None:
    harm(index)
    assert begun_anew(index) == reason
    assert len(index.set_aside) == 1


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
                # The next one may take the time that a busy machine takes.
                monkeypatch.setattr(worker_store, "_OPENING_SECONDS", 60.0)
            return super().call(name, *args, **options)

    store = index.worker(Stopping)
    assert store.open() == "hangs"
    store.close()
    assert len(index.set_aside) == 1
