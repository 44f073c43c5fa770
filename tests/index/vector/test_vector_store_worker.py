"""Chroma in a process of its own: whatever becomes of that process, the bot goes on."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory import log
from astrbot_plugin_scoped_memory.llm_memory.errors import (
    IndexUnavailable,
)
from astrbot_plugin_scoped_memory.llm_memory.index.vector import worker_store
from astrbot_plugin_scoped_memory.llm_memory.index.vector.ports import IndexRecord
from astrbot_plugin_scoped_memory.llm_memory.index.vector.worker_process import (
    WorkerEnded,
    WorkerProcess,
)
from astrbot_plugin_scoped_memory.llm_memory.index.vector.worker_store import (
    WorkerStore,
    worker_command,
)
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.tests.index.vector.vector_bench import (
    FAMILY,
    SPACE,
    records,
    vectors,
)
from astrbot_plugin_scoped_memory.tests.support.native import NATIVE

pytestmark = [pytest.mark.process, pytest.mark.contract]

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"


def until(done: Callable[[], bool]) -> None:
    """Polled: nobody tells a thread of it."""
    while not done():
        threading.Event().wait(0.01)


class Started:
    """Starts real processes and remembers them."""

    def __init__(self) -> None:
        self.workers: list[WorkerProcess] = []

    def __call__(self, command: Any) -> WorkerProcess:
        self.workers.append(WorkerProcess(command))
        return self.workers[-1]


class Place:
    """An index folder, and stores on it."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "索引 chroma"
        self.command = worker_command(self.folder, NATIVE)
        self.started = Started()
        self.stores: list[WorkerStore] = []

    def store(self, **options: Any) -> WorkerStore:
        self.stores.append(WorkerStore(self.command, start=self.started, **options))
        return self.stores[-1]

    def opened(self, **options: Any) -> WorkerStore:
        store = self.store(**options)
        store.open()
        store.use(store.name_for(SPACE))
        return store


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    for store in made.stores:
        store.close()


def test_the_process_that_died_is_said_to_be_and_another_goes_on_with_what_there_was(
    place: Place,
) -> None:
    store = place.opened()
    store.upsert(records(250), vectors(250))
    place.started.workers[0].kill()
    for ask in (store.count, store.hashes, lambda: store.query(vectors(1)[0], FAMILY, 1)):
        with pytest.raises(IndexUnavailable) as raised:
            ask()
        assert raised.value.code == "died"
    store.reset()
    store.open()
    assert store.use(store.name_for(SPACE))
    assert store.count() == 250
    assert len(place.started.workers) == 2


def test_an_index_that_is_begun_anew_is_written_by_another_process(place: Place) -> None:
    """Chroma writes memory that it never filled, with what the process held before."""
    store = place.store()
    store.open()
    store.discard("worn")
    store.open()
    first, second = place.started.workers
    assert (first.alive, second.alive) == (False, True)


def test_the_process_logs_in_the_language_that_it_was_started_with(place: Place) -> None:
    heard: list[str] = []
    sink = log.logger.add(heard.append, level="WARNING", format="{message}")
    assert sink is not None
    place.command = worker_command(place.folder, NATIVE, "en")
    try:
        store = place.opened()
        store.discard("worn")
    finally:
        log.logger.remove(sink)
    assert [line for line in heard if "The vector index is not used any more (worn)" in line]


def test_a_program_that_was_replaced_under_a_bot_that_runs_is_not_waited_for(place: Place) -> None:
    *program, options = place.command
    earlier = {**json.loads(options), "greeting": "\0of an earlier version\n"}
    place.command = (*program, json.dumps(earlier))
    with pytest.raises(IndexUnavailable, match="reload") as raised:
        place.store().open()
    assert raised.value.code == "died"


@pytest.mark.skipif(sys.platform == "win32", reason="no process can be made to stand still")
def test_a_process_that_stands_still_is_ended_at_the_deadline_of_a_query(place: Place) -> None:
    store = place.opened(query_seconds=0.2)
    os.kill(place.started.workers[0].pid, signal.SIGSTOP)
    with pytest.raises(IndexUnavailable) as raised:
        store.query(vectors(1)[0], FAMILY, 1)
    assert raised.value.code == "hangs"
    with pytest.raises(ProcessLookupError):
        os.kill(place.started.workers[0].pid, 0)


@pytest.mark.skipif(sys.platform == "win32", reason="no process can be made to stand still")
def test_an_opening_that_does_not_end_is_given_up_and_the_folder_with_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.opened().close()
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

    store = WorkerStore(place.command, start=Stopping)
    assert store.open() == "hangs"
    store.close()
    assert len(list(place.folder.parent.glob("*.broken-*"))) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="there are no signals")
def test_an_index_that_crashes_its_process_is_to_blame_and_can_be_given_up_afterwards(
    place: Place,
) -> None:
    store = place.opened()
    store.upsert(records(20), vectors(20))
    os.kill(place.started.workers[0].pid, signal.SIGSEGV)
    with pytest.raises(IndexUnavailable) as raised:
        store.count()
    assert raised.value.code == "fault"
    store.discard("faulty")
    assert store.open() == "faulty"
    assert not store.use(store.name_for(SPACE))


@pytest.mark.skipif(sys.platform == "win32", reason="no process can be made to stand still")
def test_a_store_whose_process_stands_still_is_closed_all_the_same(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_store, "_LETTING_GO_SECONDS", 0.1)
    monkeypatch.setattr(worker_store, "_ENDING_SECONDS", 0.1)
    store = place.opened()
    os.kill(place.started.workers[0].pid, signal.SIGSTOP)
    writing = threading.Thread(
        target=lambda: suppressed(store.upsert, records(400), vectors(400)), daemon=True
    )
    writing.start()
    store.close()
    writing.join(30)
    assert not writing.is_alive()
    assert not place.started.workers[0].alive


@pytest.mark.skipif(sys.platform == "win32", reason="there are no signals")
def test_at_sigterm_the_process_closes_the_folder_in_order(place: Place) -> None:
    store = place.opened()
    store.upsert(records(20), vectors(20))
    os.kill(place.started.workers[0].pid, signal.SIGTERM)
    until(lambda: not place.started.workers[0].alive)
    record = json.loads(place.folder.with_name(f"{place.folder.name}.health.json").read_text())
    assert record["openings"] == 0
    with pytest.raises(IndexUnavailable) as raised:
        store.count()
    assert raised.value.code == "died"


def suppressed(call: Any, *args: Any) -> None:
    with contextlib.suppress(IndexUnavailable):
        call(*args)


def test_a_closed_store_leaves_no_process_behind_and_its_folder_is_free(place: Place) -> None:
    place.opened().close()
    (worker,) = place.started.workers
    assert not worker.alive
    assert place.opened().count() == 0


def test_where_no_process_can_be_started_it_is_said(tmp_path: Path) -> None:
    store = WorkerStore((str(tmp_path / "no python"),))
    with pytest.raises(IndexUnavailable) as raised:
        store.open()
    assert raised.value.code == "died"


@pytest.mark.parametrize("after", [3, 40])
def test_what_a_kill_took_is_missed_and_can_be_written_again(place: Place, after: int) -> None:
    store, acknowledged = place.opened(), list[Key]()

    def write() -> None:
        for number in range(100_000):
            some = records(7, 7 * number)
            store.upsert(some, vectors(7, 7 * number))
            acknowledged.extend(record.key for record in some)

    writing = threading.Thread(target=suppressed, args=(write,), daemon=True)
    writing.start()
    until(lambda: len(acknowledged) >= 7 * after)
    place.started.workers[0].kill()
    writing.join(30)
    store.reset()
    reason = store.open()
    store.use(store.name_for(SPACE))
    assert reason or store.count() >= len(acknowledged)  # it happens; then the vault rebuilds it
    missing = [IndexRecord(key, "t", "h") for key in {*acknowledged} - set(store.hashes())]
    store.upsert(missing, vectors(len(missing)))
    found = store.query(vectors(1)[0], FAMILY, 10 * len(acknowledged)).found
    assert {*acknowledged} <= {neighbour.key for neighbour in found} & set(store.hashes())


OWNER = """
import sys
sys.path.insert(0, sys.argv[1])
import checkout
checkout.register()
from pathlib import Path
from astrbot_plugin_scoped_memory.llm_memory.index.vector.worker_store import WorkerStore
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.tests.index.vector.vector_bench import SPACE, records, vectors

store = WorkerStore(sys.argv[2:])
store.open()
store.use(store.name_for(SPACE))
for number in range(100_000):
    store.upsert(records(50, 50 * number), vectors(50, 50 * number))
    print(number, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a killed process's children are not ended")
def test_when_the_bot_is_killed_its_process_closes_the_folder_and_ends(place: Place) -> None:
    bot = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(SCRIPTS), *place.command], stdout=subprocess.PIPE
    )
    assert bot.stdout is not None
    with bot, bot.stdout:
        for _ in range(3):
            bot.stdout.readline()
        bot.kill()
    store = place.opened()  # waits for the other to be done
    assert store.count() >= 150
    assert not list(place.folder.parent.glob("chroma.broken-*"))
    found = [store.query(row, FAMILY, 1).found[0].similarity for row in vectors(150)]
    assert min(found) > 0.999


def test_whatever_a_call_raises_makes_the_index_unavailable(place: Place) -> None:
    store = place.opened()
    with pytest.raises(IndexUnavailable) as raised:
        store.ask("no such call")
    assert (type(raised.value), raised.value.code) == (IndexUnavailable, "fault")
    assert store.count() == 0


class Answering:
    """In the place of a process: raises the same at each call."""

    alive = True

    def __init__(self, error: Exception, *, embeds: bool = False) -> None:
        """``embeds``: only behind the first part of an answer."""
        self._error = error
        self._embeds = embeds

    def call(self, name: str, *_: Any, **__: Any) -> Any:
        if name in ("load", "open", "close"):
            return ""
        raise self._error

    def answers(self, name: str, *_: Any, **__: Any) -> Iterator[Any]:
        if self._embeds:
            yield None
        raise self._error

    def end(self, seconds: float) -> None:
        pass


def dying(*, embeds: bool = False) -> WorkerStore:
    ended = Answering(WorkerEnded("SIGSEGV", crashed=True), embeds=embeds)
    store = WorkerStore(("x",), start=lambda _: ended)  # type: ignore[arg-type,return-value]
    store.open()
    return store
