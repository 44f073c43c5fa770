"""A program of ours in a process of its own ends when it should, and when nobody waits for it."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.llm_memory.storage.child_process import (
    ChildEnd,
    Children,
    RunChild,
    run_child,
)
from astrbot_plugin_scoped_memory.tests.support.programs import program

pytestmark = pytest.mark.unit

SLEEPS = "import pathlib, sys, time; pathlib.Path(sys.argv[1]).touch(); time.sleep(600)"
PATIENCE = (1, 5, 20, 60)
"""Seconds for a program to begin, first for a quick machine."""


def late(run: RunChild, program: str) -> ChildEnd:
    """How one that speaks and then goes on for long ended, once it had the time to speak."""
    end = ChildEnd(None)
    for seconds in PATIENCE:
        end = run((sys.executable, "-c", program), seconds)
        if end.output:
            break
    return end


@pytest.mark.process
@pytest.mark.parametrize("run", [run_child, Children().run], ids=["anybody's", "an owner's"])
def test_a_child_tells_how_it_ended(run: RunChild) -> None:
    end = run((sys.executable, "-c", "print('好'); import sys; sys.exit(3)"), 60)
    assert (end.status, end.output.strip(), end.late, end.death) == (3, "好", False, "")
    end = late(run, "print('好', flush=True); import time; time.sleep(600)")
    assert (end.late, end.output.strip()) == (True, "好")
    with pytest.raises(OSError, match="no-such-program"):
        run(("/no-such-program",), 60)


@pytest.mark.process
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
    end = late(run_child, program)
    assert (end.late, end.output.strip()) == (True, "好")
    assert not ended.exists()


def test_a_child_has_nothing_to_read_while_its_parent_lives(tmp_path: Path) -> None:
    """Its standard input is a pipe that nobody writes to."""
    program = tmp_path / "p.py"
    program.write_text("import os, select; print(select.select([0], [], [], 0)[0])")
    end = run_child((sys.executable, str(program)), 60)
    assert (end.status, end.output.strip()) == (0, "[]")


PARENT = """
from astrbot_plugin_scoped_memory.llm_memory.storage.child_process import run_child
run_child((sys.executable, "-c", *sys.argv[1:]), 600)
"""
READS = """
import pathlib, sys
pathlib.Path(sys.argv[1]).touch()
sys.stdin.read()
pathlib.Path(sys.argv[2]).touch()
"""


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


def test_an_owner_gives_up_all_that_run_and_starts_none_afterwards(tmp_path: Path) -> None:
    children = Children()
    marks = [tmp_path / "a", tmp_path / "b"]
    with ThreadPoolExecutor(2) as pool:
        ends = [
            pool.submit(children.run, (sys.executable, "-c", SLEEPS, str(mark)), 600)
            for mark in marks
        ]
        while not all(mark.exists() for mark in marks):
            assert not any(end.done() for end in ends)
            time.sleep(0.01)
        children.close()
        assert all(end.result(30).late for end in ends)
    assert children.run((sys.executable, "-c", SLEEPS, str(tmp_path / "c")), 600).late
    assert not (tmp_path / "c").exists()
    children.close()
