"""A program of ours in a process of its own ends when it should, and when nobody waits for it."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.llm_memory.storage.child_process import (
    Child,
    ChildEnd,
)
from astrbot_plugin_scoped_memory.tests.support.programs import program

pytestmark = [pytest.mark.unit, pytest.mark.process]

READS = """
import pathlib, sys
pathlib.Path(sys.argv[1]).touch()
sys.stdin.read()
pathlib.Path(sys.argv[2]).touch()
"""
PARENT = """
from astrbot_plugin_scoped_memory.llm_memory.storage.child_process import Child
Child().run((sys.executable, "-c", *sys.argv[1:]), 600)
"""


def python(program: str, seconds: float = 60) -> ChildEnd:
    return Child().run((sys.executable, "-c", program), seconds)


def test_a_child_tells_how_it_ended() -> None:
    end = python("print('好'); import sys; sys.exit(3)")
    assert (end.status, end.output.strip(), end.death) == (3, "好", "")
    with pytest.raises(OSError, match="no-such-program"):
        Child().run(("/no-such-program",), 60)


@pytest.mark.skipif(sys.platform == "win32", reason="waits for whoever holds the pipes there")
def test_a_child_that_is_late_is_not_waited_for_because_of_its_own_children() -> None:
    """They may keep the pipes open."""
    sleeps = (sys.executable, "-c", "import time; time.sleep(60)")
    program = f"import subprocess; subprocess.Popen({sleeps}); print('好', flush=True); input()"
    began = time.monotonic()
    end = next(end for seconds in (2, 10, 30) if (end := python(program, seconds)).output)
    assert (end.status, end.output.strip()) == (None, "好")
    assert time.monotonic() - began < 60


@pytest.mark.parametrize("how", ["its parent is gone", "its owner gives it up"])
async def test_a_child_ends_when(tmp_path: Path, how: str) -> None:
    """Its standard input closes with us, however we ended."""
    runs, ended = tmp_path / "runs", tmp_path / "ended"

    async def child_runs() -> bool:
        return runs.exists()

    async def child_ended() -> bool:
        return ended.exists()

    child = Child()
    command = program.lines(PARENT, READS, runs, ended)
    # Its own input stays open: a child that was handed that one would not end.
    parent = subprocess.Popen(command, stdin=subprocess.PIPE) if "parent" in how else None
    ours = (sys.executable, "-c", READS, str(runs), str(ended))
    running = threading.Thread(target=child.run, args=(ours, 600))
    if parent is None:
        running.start()
    await until(child_runs, within=60, what="a child that runs")
    if parent is None:
        child.close()
        child.close()
        running.join(60)
    else:
        parent.kill()
        parent.communicate()
    await until(child_ended, within=60, what="a child that ends")
