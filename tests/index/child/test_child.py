"""A program of ours in a process of its own: what it is asked, in which order, and whatever
becomes of it."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.harness.waiting import until_true
from astrbot_plugin_scoped_memory.llm_memory.index.child.process import Child, ChildFailed
from astrbot_plugin_scoped_memory.llm_memory.index.child.program import read_message
from astrbot_plugin_scoped_memory.tests.support.programs.program import PROGRAMS, lines

pytestmark = [pytest.mark.process, pytest.mark.timeout(60)]

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
type Make = Callable[..., Child]


def wait_until(condition: Callable[[], bool]) -> None:
    asyncio.run(until_true(condition, within=30))


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    monkeypatch.syspath_prepend(str(PROGRAMS))
    made: list[Child] = []

    def child(idle_seconds: float | None = None) -> Child:
        made.append(Child("child_program", idle_seconds=idle_seconds))
        return made[-1]

    yield child
    for one in made:
        one.close()


def test_many_ask_at_once_and_each_gets_its_own(make: Make) -> None:
    child = make()

    def ask(number: int) -> bool:
        body = bytes([number]) * (number << 12)
        fields, answer = child.ask("echo", {"句": f"第{number}\n句\ud83d"}, body, seconds=30)
        return fields["句"] == f"第{number}\n句\ud83d" and answer == body

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(64)))


def test_questions_come_before_what_waits(make: Make, tmp_path: Path) -> None:
    child, trace = make(), tmp_path / "trace"

    def ask(name: str, seconds: float, urgent: bool) -> threading.Thread:
        fields = {"trace": str(trace), "name": name, "seconds": seconds}
        asking = threading.Thread(
            target=lambda: child.ask("wait", fields, seconds=30, urgent=urgent)
        )
        asking.start()
        return asking

    asked = [ask("a", 0.5, False)]
    wait_until(trace.exists)
    asked += [ask(name, 0.0, False) for name in "bc"]
    time.sleep(0.1)
    asked.append(ask("Q", 0.0, True))
    for one in asked:
        one.join(30)
    assert trace.read_text()[:2] == "aQ"


@pytest.mark.parametrize(
    ("what", "code"),
    [("full", "full"), ("fault", "fault"), ("ENOENT", "fault"), ("EDQUOT", "full")]
    + [(name, "unreadable") for name in ("EACCES", "EROFS", "EMFILE", "ESTALE", "(code: 14)")],
)
def test_an_error_has_its_code_and_the_program_lives_on(make: Make, what: str, code: str) -> None:
    child = make()
    with pytest.raises(ChildFailed) as failed:
        child.ask("fail", {"code": what}, seconds=30)
    assert failed.value.code == code
    with pytest.raises(ChildFailed, match="unheard") as failed:
        child.ask("unheard", {}, seconds=30)
    assert failed.value.code == "fault"
    pid = child.pid
    assert child.ask("echo", {}, seconds=30)[0]["pid"] == pid


def test_all_who_wait_hear_of_a_death_and_another_one_is_started(make: Make) -> None:
    child = make()
    first = child.ask("echo", {}, seconds=30)[0]["pid"]
    with ThreadPoolExecutor(3) as pool:
        for asked in [pool.submit(child.ask, "die", {}, seconds=30) for _ in range(3)]:
            with pytest.raises(ChildFailed, match=r"SIGABRT.*loading onnxruntime") as failed:
                asked.result()
            assert failed.value.code == "died"
    assert child.ask("echo", {}, seconds=30)[0]["pid"] != first
    for cut_off in (b'{"body": 3}', b'{"body": 3}\n', b'{"body": 3}\nab'):
        assert read_message(io.BytesIO(cut_off)) is None


@pytest.mark.parametrize(
    ("what", "fields", "seconds"),
    [
        ("wait", {"seconds": 60}, 0.5),
        ("die", {"held": True}, 0.5),
        ("die", {"held": True, "after": 1.4}, 2.0),  # it loads, and has as long again
    ],
)
def test_one_that_gives_no_sign_is_ended(
    make: Make, tmp_path: Path, what: str, fields: dict[str, Any], seconds: float
) -> None:
    child = make()
    told = {"trace": str(tmp_path / "trace"), "name": ""} | fields
    with pytest.raises(ChildFailed) as failed:
        child.ask(what, told, seconds=seconds)
    assert failed.value.code == "hangs"
    assert child.ask("echo", {}, b"x", seconds=30)[1] == b"x"


def test_unasked_or_told_to_it_ends(make: Make) -> None:
    child = make(idle_seconds=0.3)
    first = child.ask("echo", {}, seconds=30)[0]["pid"]
    wait_until(lambda: child.pid is None)
    assert child.ask("echo", {}, seconds=30)[0]["pid"] != first
    for _ in range(2):
        child.close()
    with pytest.raises(ChildFailed) as failed:
        child.ask("echo", {}, seconds=30)
    assert failed.value.code == "closed"


ASKING = (
    f"sys.path.insert(0, {str(PROGRAMS)!r})\n"
    "from astrbot_plugin_scoped_memory.llm_memory.index.child.process import Child\n"
    "child = Child('child_program')\n"
)


@pytest.mark.parametrize("held", [False, True], ids=["at rest", "held by a library"])
def test_a_killed_parent_leaves_no_child(held: bool) -> None:
    code = (
        f"{ASKING}print(child.ask('echo', {{}}, seconds=30)[0]['pid'], flush=True)\n"
        f"child.ask('die', {{'held': True}}, seconds=3) if {held} else sys.stdin.read()\n"
    )
    parent = subprocess.Popen(lines(code), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        time.sleep(0.3)
        parent.kill()

    def gone() -> bool:
        stat = Path(f"/proc/{pid}/stat")
        return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"

    if sys.platform.startswith("linux"):
        wait_until(gone)


@POSIX
def test_without_standard_error_it_answers() -> None:
    code = (
        f"import os; os.close(2); {ASKING}"
        "print([child.ask('echo', {}, b'x' * n, seconds=30)[1] == b'x' * n for n in (1, 1 << 20)])"
    )
    answered = subprocess.run(lines(code), stdout=subprocess.PIPE, text=True, check=True)
    assert answered.stdout == "[True, True]\n"


@POSIX
@pytest.mark.parametrize("closed", [False, True])
def test_one_that_is_stopped_is_ended_while_it_is_written_to(make: Make, closed: bool) -> None:
    child = make()
    pid = child.ask("echo", {}, seconds=30)[0]["pid"]
    assert isinstance(pid, int)
    os.kill(pid, signal.SIGSTOP)
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(child.ask, "echo", {}, bytes(1 << 20), seconds=60 if closed else 1)
        try:
            time.sleep(0.3)
            if closed:
                pool.submit(child.close).result(10)
            with pytest.raises(ChildFailed) as failed:
                asked.result(10)
            assert failed.value.code == "hangs"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def test_where_python_starts_no_other_it_says_so(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    with pytest.raises(ChildFailed) as failed:
        make().ask("echo", {}, seconds=30)
    assert failed.value.code == "no_child"
