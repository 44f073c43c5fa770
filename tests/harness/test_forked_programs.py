"""Which programs of the engine a test has forked, and that they end as started ones do."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.index.vector.worker_process import (
    WorkerEnded,
    WorkerProcess,
)
from astrbot_plugin_scoped_memory.llm_memory.index.vector.worker_store import worker_command
from astrbot_plugin_scoped_memory.llm_memory.storage import child_process
from astrbot_plugin_scoped_memory.tests.support.native import NATIVE
from astrbot_plugin_scoped_memory.tests.support.programs.forked_programs import Forked

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(sys.platform != "linux", reason="nothing is forked here"),
]


def test_a_program_is_forked_unless_it_is_to_find_other_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = worker_command(tmp_path / "index", NATIVE)
    kinds = []
    for path in ([], [str(tmp_path)]):
        monkeypatch.setattr("sys.path", [*path, *child_process.import_path()])
        worker = WorkerProcess(command)
        kinds.append(type(worker._process))
        worker.end(60.0)
        assert worker._process.poll() == 0
    assert kinds == [Forked, subprocess.Popen]


@pytest.mark.parametrize("by", ["SIGKILL", "SIGSEGV"])
def test_a_forked_program_ends_as_a_started_one_does(tmp_path: Path, by: str) -> None:
    worker = WorkerProcess(worker_command(tmp_path / "index", NATIVE))
    worker._process.send_signal(getattr(signal, by))
    # Its silence is heard before it is known how it ended.
    worker._process.wait(60)
    with pytest.raises(WorkerEnded, match=by) as ended:
        worker.call("count")
    assert ended.value.crashed == (by == "SIGSEGV")
    assert worker._process.poll() == -getattr(signal, by)
