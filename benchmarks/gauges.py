"""Gauges: percentiles, what holds up an event loop, and a process's memory."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import statistics
import threading
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_TICK_SECONDS = 0.005


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` (0 to 1) of the values lie; the nearest one, not between."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(share * len(ranked)))] if ranked else float("nan")


def spread(values: Sequence[float]) -> dict[str, float]:
    """p50, p95 and the largest, rounded."""
    return {
        "p50": round(statistics.median(values), 3),
        "p95": round(percentile(values, 0.95), 3),
        "max": round(max(values), 3),
    }


@dataclass
class Stalls:
    """By how many milliseconds each wake-up of a short sleeper came late; and by how many when the
    time is left out in which the system let threads of this process wait for a processor, the
    loop's own and whichever waited longest besides: what a busy machine adds. Linux tells that."""

    late: list[float] = field(default_factory=list)
    held: list[float] = field(default_factory=list)

    def summary(self) -> dict[str, float]:
        """The largest, the largest of our own making, p99, and how many were longer than 30 and
        100 ms."""
        return {
            "largest_ms": round(max(self.late, default=0.0), 1),
            "held_ms": round(max(self.held, default=0.0), 1),
            "p99_ms": round(percentile(self.late, 0.99), 1) if self.late else 0.0,
            "over_30_ms": sum(late > 30 for late in self.late),
            "over_100_ms": sum(late > 100 for late in self.late),
        }


@contextlib.asynccontextmanager
async def watched_loop() -> AsyncIterator[Stalls]:
    """Notes, while the block runs, how late the event loop wakes a task that sleeps 5 ms."""
    stalls = Stalls()

    async def watch() -> None:
        own, waited = threading.get_native_id(), _waited_for_processor()
        while True:
            before = time.perf_counter()
            await asyncio.sleep(_TICK_SECONDS)
            late = (time.perf_counter() - before - _TICK_SECONDS) * 1000
            earlier, waited = waited, _waited_for_processor()
            since = {thread: ms - earlier.get(thread, 0.0) for thread, ms in waited.items()}
            stalls.late.append(late)
            stalls.held.append(late - since.pop(own, 0.0) - max(since.values(), default=0.0))

    task = asyncio.create_task(watch())
    try:
        yield stalls
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def _waited_for_processor() -> dict[int, float]:
    """Milliseconds that each thread of this process could have run and was not let, so far."""
    found = {}
    for path in Path("/proc/self/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):
            found[int(path.parent.name)] = int(path.read_text(encoding="ascii").split()[1]) / 1e6
    return found


def noise(seconds: float = 2.0) -> dict[str, float]:
    """Stalls of a loop that does nothing: what the machine itself adds to every figure."""

    async def idle() -> Stalls:
        async with watched_loop() as stalls:
            await asyncio.sleep(seconds)
        return stalls

    return asyncio.run(idle()).summary()


def beside_noise(figures: Any, noise_ms: float) -> None:
    """Write beside all stalls in these figures how many times the machine's own they were."""
    inner = figures.values() if isinstance(figures, dict) else figures
    for value in inner:
        if isinstance(value, dict | list):
            beside_noise(value, noise_ms)
    if isinstance(figures, dict) and "stalls" in figures:
        stalls = figures["stalls"]
        stalls["by_noise"] = round(stalls["largest_ms"] / noise_ms, 2) if noise_ms else None


def synced_appends(path: Path, count: int, size: int) -> list[float]:
    """Milliseconds that a plain append of so many bytes takes, the disk's part included: what
    nobody can be quicker than who acknowledges only what is on the disk."""
    took = []
    with path.open("ab", buffering=0) as file:
        for _ in range(count):
            began = time.perf_counter()
            file.write(b"x" * size)
            os.fsync(file.fileno())
            took.append((time.perf_counter() - began) * 1000)
    return took


def cpu_seconds(pid: int) -> float | None:
    """CPU time that a process has used so far, all threads; None beyond Linux."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpu_milliseconds(pid: int) -> float:
    """CPU time of the threads that a process has now, exactly; 0 beyond Linux."""
    total = 0
    for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):
            total += int(path.read_text(encoding="ascii").split()[0])
    return total / 1e6


def resident_megabytes(pid: int, *, children: bool = True) -> float | None:
    """Resident memory of a process, and of all that it started; None beyond Linux."""
    total = 0
    for one in (pid, *(_children(pid) if children else ())):
        try:
            text = Path(f"/proc/{one}/status").read_text(encoding="ascii", errors="replace")
        except OSError:
            continue
        found = re.search(r"VmRSS:\s+(\d+) kB", text)
        total += int(found[1]) if found else 0
    return round(total / 1024, 1) if total else None


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(child) for child in path.read_text(encoding="ascii").split()]
    return [one for child in found for one in (child, *_children(child))]
