"""Every test sees the checkout as the package `astrbot_plugin_scoped_memory`, and only as that."""

import atexit
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent
_OF_FILE = re.compile(r"^pytestmark = (\[.*?\n?\]|\S+)$", re.MULTILINE | re.DOTALL)

# A root on sys.path would offer `core` and `llm_memory` a second time, under bare names, with
# duplicate classes.
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT]
sys.path.insert(0, str(ROOT / "scripts"))

import checkout  # noqa: E402  (it lies in scripts/, which the line above makes visible)

checkout.register()

# A test that would fetch a model fails at once instead of waiting for a network; child processes
# inherit it.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")

_MEMORY = Path("/dev/shm")  # noqa: S108  (Linux: files in memory)
_ROOM = 4 << 30
"""Bytes: several times what the tests keep at once."""


def _holds_the_tests() -> bool:
    """Whether files in memory may be used here: there is room, and programs in them may run."""
    if sys.platform != "linux":
        return False
    try:
        there = os.statvfs(_MEMORY)
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
    except OSError:
        return False
    available = next(int(one.split()[1]) << 10 for one in lines if one.startswith("MemAvailable"))
    room = min(available // 2, there.f_bavail * there.f_frsize)
    return room >= _ROOM and not there.f_flag & os.ST_NOEXEC


# On a disk most of the suite waits for fsync. Child processes and workers inherit the choice.
if "TMPDIR" not in os.environ and _holds_the_tests():
    tempfile.tempdir = os.environ["TMPDIR"] = str(_MEMORY)

# AstrBot makes its data folder where it is imported.
if "ASTRBOT_ROOT" not in os.environ:
    os.environ["ASTRBOT_ROOT"] = tempfile.mkdtemp(prefix="astrbot-")
    atexit.register(shutil.rmtree, os.environ["ASTRBOT_ROOT"], ignore_errors=True)

# No deadline: a shared machine pauses for longer than any bound worth stating. Times are tested
# where they are laws.
_SLOW = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("quick", max_examples=15, deadline=None, suppress_health_check=_SLOW)
settings.register_profile(
    "ci",
    max_examples=50,
    deadline=None,
    derandomize=True,  # the same commit and selection of tests give the same answer
    print_blob=True,
    suppress_health_check=_SLOW,
)
settings.register_profile(
    "soak",
    max_examples=int(os.environ.get("SOAK_EXAMPLES", "1000")),
    deadline=None,
    print_blob=True,
    suppress_health_check=_SLOW,
)
settings.load_profile("ci")  # `--hypothesis-profile=quick` on the command line wins


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Files of tests/e2e that share a bot go to one process, so that it starts once."""
    if config.option.dist != "loadfile":
        return None
    from astrbot_plugin_scoped_memory.tests.e2e.bots import ByBot

    return ByBot(config, log)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out a file whose own mark is ruled out: importing AstrBot takes longer than all that
    `make quick` runs."""
    ruled_out = re.search(r"\bnot \([^)]*\bastrbot\b|\bnot astrbot\b", config.option.markexpr)
    if not ruled_out or not collection_path.match("test_*.py"):
        return None
    marks = _OF_FILE.search(collection_path.read_text("utf-8"))
    return True if marks and "pytest.mark.astrbot" in marks[0] else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that start an AstrBot first: they take minutes each, and one of them at the very end
    would leave the other process of `make test` with nothing to do."""
    items.sort(key=lambda item: not item.path.is_relative_to(ROOT / "tests" / "e2e"))
