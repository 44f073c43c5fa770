"""What a process weighs, as Linux tells it: zeros where there is no ``/proc``. Who its children
are, and whether they live."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

import psutil

from astrbot_plugin_scoped_memory.llm_memory.index.child import program


@dataclass(frozen=True, slots=True)
class Vitals:
    """Resident memory in MiB, open file handles, threads."""

    rss_mb: float = 0.0
    handles: int = 0
    threads: int = 0


def vitals(pid: int | str = "self") -> Vitals:
    """Of one process; of ourselves unless told otherwise."""
    home = Path("/proc") / str(pid)
    try:
        lines = (home / "status").read_text("utf-8").splitlines()
        told = dict(line.split(":", 1) for line in lines if ":" in line)
        handles = sum(1 for _ in (home / "fd").iterdir())
        rss, threads = int(told["VmRSS"].split()[0]), int(told["Threads"])
    except (OSError, KeyError, ValueError):
        return Vitals()
    return Vitals(round(rss / 1024, 1), handles, threads)


def family(leader: int) -> Vitals:
    """Of a process and all that share its group: a bot and what it has started."""
    whole = Vitals()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):
            stat = (folder / "stat").read_text("utf-8").rpartition(")")[2].split()
            if int(stat[2]) == leader:
                one = vitals(folder.name)
                whole = Vitals(
                    round(whole.rss_mb + one.rss_mb, 1),
                    whole.handles + one.handles,
                    whole.threads + one.threads,
                )
    return whole


def index_processes(parent: int) -> list[psutil.Process]:
    """The children of a process that hold an index or a model."""
    found = []
    for child in psutil.Process(parent).children():
        with contextlib.suppress(psutil.NoSuchProcess):  # it has ended meanwhile
            if any(Path(part).name == Path(program.__file__).name for part in child.cmdline()):
                found.append(child)
    return found


def lives(process: psutil.Process) -> bool:
    """False for one that has ended and that nobody has waited for, too."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False
