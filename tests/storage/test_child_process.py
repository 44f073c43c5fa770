"""A program of ours in a process of its own ends when it should, and when nobody waits for it."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.llm_memory.storage.child_process import (
    Child,
    ChildEnd,
    run_child,
)
from astrbot_plugin_scoped_memory.tests.support.programs import program

pytestmark = [pytest.mark.unit, pytest.mark.process]

PATIENCE = (1, 5, 20, 60)
"""Seconds for a program to begin, first for a quick machine."""
READS = """
import pathlib, sys
pathlib.Path(sys.argv[1]).touch()
sys.stdin.read()
pathlib.Path(sys.argv[2]).touch()
"""
PARENT = """
from astrbot_plugin_scoped_memory.llm_memory.storage.child_process import run_child
run_child((sys.executable, "-c", *sys.argv[1:]), 600)
"""


def late(program: str) -> ChildEnd:
    """How one that speaks and then goes on for long ended, once it had the time to speak."""
    end = ChildEnd(None)
    for seconds in PATIENCE:
        end = run_child((sys.executable, "-c", program), seconds)
        if end.output:
            break
    return end


def test_a_child_tells_how_it_ended() -> None:
    end = run_child((sys.executable, "-c", "print('好'); import sys; sys.exit(3)"), 60)
    assert (end.status, end.output.strip(), end.late, end.death) == (3, "好", False, "")
    with pytest.raises(OSError, match="no-such-program"):
        run_child(("/no-such-program",), 60)


@pytest.mark.skipif(sys.platform == "win32", reason="waits for whoever holds the pipes there")
def test_a_child_that_is_late_is_not_waited_for_because_of_its_own_children(
    tmp_path: Path,
) -> None:
    """They may keep the pipes open."""
    ended = tmp_path / "ended"
    seconds = sum(PATIENCE) + 5
    grandchild = (
        f"import pathlib, time; time.sleep({seconds}); pathlib.Path({str(ended)!r}).touch()"
    )
    program = (
        "import subprocess, sys, time; print('好', flush=True);"
        f"subprocess.Popen([sys.executable, '-c', {grandchild!r}]); time.sleep(600)"
    )
    end = late(program)
    assert (end.late, end.output.strip()) == (True, "好")
    assert not ended.exists()


async def test_a_child_ends_when_its_parent_is_gone(tmp_path: Path) -> None:
    """Its standard input closes with us, however we ended."""
    runs, ended = tmp_path / "runs", tmp_path / "ended"

    async def child_runs() -> bool:
        assert parent.poll() is None
        return runs.exists()

    async def child_ended() -> bool:
        return ended.exists()

    command = program.lines(PARENT, READS, runs, ended)
    # Its own input stays open: a child that was handed that one would not end.
    with subprocess.Popen(command, stdin=subprocess.PIPE) as parent:
        try:
            await until(child_runs, within=60, what="a child that runs")
        finally:
            parent.kill()
        parent.wait()
        await until(child_ended, within=60, what="a child that ends")


async def test_a_child_ends_when_its_owner_gives_it_up(tmp_path: Path) -> None:
    child, runs, ended = Child(), tmp_path / "runs", tmp_path / "ended"

    async def child_runs() -> bool:
        return runs.exists()

    command = (sys.executable, "-c", READS, str(runs), str(ended))
    running = threading.Thread(target=child.run, args=(command, 600))
    running.start()
    await until(child_runs, within=60, what="a child that runs")
    child.close()
    running.join(60)
    assert ended.exists()
    child.close()
