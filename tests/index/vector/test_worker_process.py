"""A child process that answers calls: several at once, in parts, and whatever becomes of it."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from astrbot_plugin_scoped_memory.llm_memory.index.vector.messages import GREETING
from astrbot_plugin_scoped_memory.llm_memory.index.vector.worker_process import (
    WorkerEnded,
    WorkerLate,
    WorkerProcess,
)

pytestmark = pytest.mark.process

PROGRAM = """
import os, pickle, sys, threading
source, output, sending = sys.stdin.buffer, sys.stdout.buffer, threading.Lock()
print("a package that has something to say", end="", flush=True)
output.write(bytes.fromhex(sys.argv[1]))
output.flush()
gate = threading.Event()

def send(what, about, said=None):
    with sending:
        pickle.dump((what, about, said), output)
        output.flush()

def answer(number, call, args):
    if call == "wait":
        gate.wait()
    if call == "release":
        gate.set()
    if call == "babble":
        output.write(bytes([255]) * 64)
        output.flush()
        return
    if call == "another_class":
        return send("part", number, os.system)
    if call == "crash":
        os.kill(os.getpid(), 11)
        gate.wait()
    if call == "die":
        print("last words", file=sys.stderr, flush=True)
        os._exit(7)
    if call == "refuse":
        return send("error", number, ValueError("no"))
    for part in range(args[0]) if call == "count" else (args,):
        send("part", number, part)
    send("done", number)

while (asked := pickle.load(source)) is not None:
    if asked[1] == "deaf":
        threading.Event().wait()
    threading.Thread(target=answer, args=asked, daemon=True).start()
"""


@pytest.fixture
def worker() -> Iterator[WorkerProcess]:
    process = WorkerProcess((sys.executable, "-c", PROGRAM, GREETING.hex()))
    yield process
    process.kill()


def in_thread(call: Callable[[], object]) -> Callable[[], object]:
    """Starts the call; what is returned waits for its result, or raises what it raised."""
    outcome: list[object] = []

    def work() -> None:
        try:
            outcome.append(call())
        except Exception as error:  # noqa: BLE001
            outcome.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()

    def wait() -> object:
        thread.join(30)
        (result,) = outcome
        if isinstance(result, Exception):
            raise result
        return result

    return wait


def test_arguments_and_bytes_arrive_and_an_answer_comes_back(worker: WorkerProcess) -> None:
    args = ({"text": "家\n\ud800", "number": 1.5, "list": [1, None]}, b"\x00\n" * 300_000)
    assert worker.call("echo", *args) == args


def test_an_answer_comes_in_parts(worker: WorkerProcess) -> None:
    assert list(worker.answers("count", 5)) == [0, 1, 2, 3, 4]
    assert list(worker.answers("count", 0)) == []


def test_a_call_that_takes_long_holds_up_no_other(worker: WorkerProcess) -> None:
    waiting = in_thread(lambda: worker.call("wait"))
    assert worker.call("echo") == ()
    worker.call("release")
    assert waiting() == ()


def test_who_has_waited_long_enough_goes_on_and_the_late_answer_disturbs_nobody(
    worker: WorkerProcess,
) -> None:
    with pytest.raises(WorkerLate):
        worker.call("wait", seconds=0.01)
    worker.call("release")
    assert worker.call("echo", 1) == (1,)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no signals")
@pytest.mark.parametrize(
    ("last", "how", "is_crash"),
    [("die", r"status 7.*last words", False), ("crash", "SIGSEGV", True), ("", "SIGKILL", False)],
)
def test_who_waits_for_a_process_that_dies_is_told_how(
    worker: WorkerProcess, last: str, how: str, is_crash: bool
) -> None:
    waiting = [
        in_thread(lambda: worker.call("wait")),
        in_thread(lambda: worker.call(last or "wait")),
    ]
    if not last:
        worker.kill()
    for one in waiting:
        with pytest.raises(WorkerEnded, match=how) as ended:
            one()
        assert ended.value.crashed is is_crash
    assert not worker.alive
    with pytest.raises(WorkerEnded):
        worker.call("echo")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no signals")
def test_who_calls_after_a_crash_is_told_how_it_ended(
    worker: WorkerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its silence is heard before the system has its status."""
    heard, asked, known = threading.Event(), threading.Event(), threading.Event()
    wait = worker.process.wait

    def slow(timeout: float | None = None) -> int:
        (asked if heard.is_set() else heard).set()
        assert known.wait(60)
        return wait(timeout)

    def poll() -> int | None:
        asked.set()
        return wait(60) if known.is_set() else None

    monkeypatch.setattr(worker.process, "wait", slow)
    monkeypatch.setattr(worker.process, "poll", poll)
    os.kill(worker.pid, signal.SIGSEGV)
    assert heard.wait(60)
    calling = in_thread(lambda: worker.call("echo"))
    assert asked.wait(60)
    known.set()
    with pytest.raises(WorkerEnded, match="SIGSEGV") as ended:
        calling()
    assert ended.value.crashed


@pytest.mark.parametrize("nonsense", ["babble", "another_class"])
def test_a_process_that_speaks_no_language_of_ours_is_as_good_as_ended(
    worker: WorkerProcess, nonsense: str
) -> None:
    waiting = in_thread(lambda: worker.call("wait"))
    with pytest.raises(WorkerEnded):
        worker.call(nonsense)
    with pytest.raises(WorkerEnded):
        waiting()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no signals")
def test_a_deadline_holds_also_while_the_process_reads_nothing(worker: WorkerProcess) -> None:
    os.kill(worker.pid, signal.SIGSTOP)
    stuck = in_thread(lambda: worker.call("echo", bytes(10_000_000)))
    with pytest.raises(WorkerLate):
        worker.call("echo", seconds=0.05)
    worker.kill()
    with pytest.raises(WorkerEnded):
        stuck()


def test_a_process_that_never_says_a_word_is_killed() -> None:
    mute = WorkerProcess(
        (sys.executable, "-c", "import threading; threading.Event().wait()"), greeting_seconds=0.2
    )
    with pytest.raises(WorkerEnded):
        mute.call("echo")
    assert not mute.alive


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_process_that_the_bot_has_forked_keeps_no_worker_alive(worker: WorkerProcess) -> None:
    assert worker.call("echo") == ()
    # What a fork without exec would hold: the other end of the worker's input.
    held = os.dup(worker.process.stdin.fileno())  # type: ignore[union-attr]
    try:
        worker.end(30.0)
        with pytest.raises(ProcessLookupError):
            os.kill(worker.pid, 0)
    finally:
        os.close(held)


def test_a_process_that_hears_nothing_any_more_is_killed_in_the_end(
    worker: WorkerProcess,
) -> None:
    deaf = in_thread(lambda: worker.call("deaf"))
    stuck = in_thread(lambda: worker.call("echo", bytes(10_000_000)))
    worker.end(0.05)
    for waiting in (deaf, stuck):
        with pytest.raises(WorkerEnded):
            waiting()
