"""A program of ours in a process of its own ends when it should, and when nobody waits for it."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.storage.child_process import (
    Children,
    RunChild,
    run_child,
)

pytestmark = pytest.mark.unit

SLEEPS = "import pathlib, sys, time; pathlib.Path(sys.argv[1]).touch(); time.sleep(600)"


@pytest.mark.slow
@pytest.mark.parametrize("run", [run_child, Children().run], ids=["anybody's", "an owner's"])
def test_a_child_tells_how_it_ended(run: RunChild) -> None:
    end = run((sys.executable, "-c", "print('好'); import sys; sys.exit(3)"), 60)
    assert (end.status, end.output.strip(), end.late, end.death) == (3, "好", False, "")
    end = run((sys.executable, "-c", "print('好', flush=True); import time; time.sleep(600)"), 5)
    assert (end.late, end.output.strip()) == (True, "好")
    with pytest.raises(OSError, match="no-such-program"):
        run(("/no-such-program",), 60)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="waits for whoever holds the pipes there")
def test_a_child_that_is_late_is_not_waited_for_because_of_its_own_children(
    tmp_path: Path,
) -> None:
    """They may keep the pipes open."""
    ended = tmp_path / "ended"
    grandchild = f"import pathlib, time; time.sleep(20); pathlib.Path({str(ended)!r}).touch()"
    program = (
        "import subprocess, sys, time; print('好', flush=True);"
        f"subprocess.Popen([sys.executable, '-c', {grandchild!r}]); time.sleep(600)"
    )
    end = run_child((sys.executable, "-c", program), 5)
    assert (end.late, end.output.strip()) == (True, "好")
    assert not ended.exists()


def test_a_child_ends_when_its_parent_is_gone(tmp_path: Path) -> None:
    """Its standard input is a pipe that nobody writes to, and that closes with us."""
    program = tmp_path / "p.py"
    program.write_text("import os, select; print(select.select([0], [], [], 0)[0])")
    end = run_child((sys.executable, str(program)), 60)
    assert (end.status, end.output.strip()) == (0, "[]")


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
