"""Native libraries are tried in a child before they may end the bot."""

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.index.embedding.native_probe import (
    LATE,
    NativeProbe,
    machine_key,
)
from astrbot_plugin_scoped_memory.llm_memory.storage.child_process import ChildEnd, run_child

pytestmark = pytest.mark.process

DIES = "import os, signal; os.kill(os.getpid(), signal.{})"


class Children:
    """Real ones, with a deadline of their own."""

    def __init__(self, seconds: float = 60.0) -> None:
        self.seconds = seconds
        self.started = 0

    def __call__(self, command: Sequence[str], seconds: float) -> ChildEnd:
        self.started += 1
        return run_child(command, self.seconds)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """One that is installed and not imported."""
    (tmp_path / "native_package_of_a_test.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    return "native_package_of_a_test"


def probe(
    tmp_path: Path, package: str, text: str, children: Children, key: str = "k"
) -> NativeProbe:
    trial = tmp_path / "trial.py"
    trial.write_text(f"def main():\n    {text}\n")
    record = tmp_path / "native.json"
    return NativeProbe(package, trial, record, run=children, key=lambda _name: key)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_processor_that_is_too_old_is_remembered_until_the_machine_changes(
    tmp_path: Path, package: str
) -> None:
    children = Children()
    for _ in range(2):
        assert probe(tmp_path, package, DIES.format("SIGILL"), children).refusal() == "SIGILL"
    assert children.started == 1
    assert probe(tmp_path, package, "print('fine')", children, "another").refusal() == ""
    assert children.started == 2


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_another_crash_is_tried_twice_and_again_at_the_next_start(
    tmp_path: Path, package: str
) -> None:
    children = Children()
    for _ in range(2):
        assert probe(tmp_path, package, DIES.format("SIGSEGV"), children).refusal() == "SIGSEGV"
    assert children.started == 4
    assert probe(tmp_path, package, "pass", children).refusal() == ""


def test_what_runs_is_tried_once(tmp_path: Path, package: str) -> None:
    children = Children()
    for text in ("print('garbage ' * 10000)", "raise ImportError", "1 / 0"):
        assert probe(tmp_path, package, text, children).refusal() == ""
    assert children.started == 1


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_what_hangs_or_is_killed_by_others_is_refused_now_and_tried_again(
    tmp_path: Path, package: str
) -> None:
    children = Children(0.5)
    assert probe(tmp_path, package, "import time; time.sleep(600)", children).refusal() == LATE
    children = Children()
    assert probe(tmp_path, package, DIES.format("SIGKILL"), children).refusal() == "SIGKILL"
    assert probe(tmp_path, package, "pass", children).refusal() == ""
    assert children.started == 2


def test_what_is_imported_or_not_installed_is_not_tried(tmp_path: Path) -> None:
    children = Children()
    for package in ("json", "no_such_package_anywhere"):
        assert probe(tmp_path, package, "pass", children).refusal() == ""
    assert children.started == 0


def test_the_key_names_library_and_machine() -> None:
    assert machine_key("pytest").startswith(f"pytest {pytest.__version__} ")
    assert machine_key("pytest") == machine_key("pytest") != machine_key("numpy")
