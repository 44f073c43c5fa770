"""Starts the process that plays, ends it in every way, and compares what is there with what was
acknowledged."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from astrbot_plugin_scoped_memory.tests.support.dictionary import put_dictionary
from astrbot_plugin_scoped_memory.tests.support.load.comparison import compare
from astrbot_plugin_scoped_memory.tests.support.load.figures import Figures, Sample
from astrbot_plugin_scoped_memory.tests.support.load.ledger import Fate, Ledger, Line
from astrbot_plugin_scoped_memory.tests.support.load.plan import Plan
from astrbot_plugin_scoped_memory.tests.support.load.voice import heard
from astrbot_plugin_scoped_memory.tests.support.programs import program
from astrbot_plugin_scoped_memory.tests.support.stalls import StallWatch

CHILD = Path(__file__).with_name("child.py")
_PATIENCE_SECONDS = 60.0
_FAILURES = frozenset({"leak", "misplaced", "missing", "wrong", "refused"})


@dataclass(frozen=True, slots=True)
class End:
    """How and when a process is ended: after so many acknowledged writes, or so many seconds after
    its engine was open (or, for ``ready``, after its index was ready). With ``children`` the
    process that holds its index is ended, too, as when a container or the power goes."""

    by: signal.Signals = signal.SIGKILL
    children: bool = False
    seconds: float = 0.0
    ready: bool = False
    writes: int | None = None


class Referee:
    """One data folder, one ledger, many lives."""

    def __init__(self, root: Path, name: str, seed: int) -> None:
        self.root = root / "data"
        put_dictionary(self.root)
        self.ledger = Ledger()
        self.figures = Figures(name, seed)
        self._notes = root
        self._life = 0
        self._writes = 0
        self._memories = 0
        self._index = ""
        self._opened = asyncio.Event()
        self._ready = asyncio.Event()
        self._enough = asyncio.Event()

    async def life(self, end: End | None = None, **plan: Any) -> None:
        """Start the process, let it live, end it. ``plan`` are the fields of a Plan."""
        self._life += 1
        life = Plan(self._life, self.figures.seed * 1000 + self._life, **plan)
        files = self._notes / "plan.json", self._notes / "ledger.json"
        life.save(files[0])
        self.ledger.save(files[1])
        self._writes = 0
        self._index = "not open"
        for event in (self._opened, self._ready, self._enough):
            event.clear()
        errors = (self._notes / "errors.txt").open("wb")
        process = await asyncio.create_subprocess_exec(
            *program.command(CHILD, self.root, *files),
            env=_environment(),
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
        errors.close()
        assert process.stdout is not None
        started = time.monotonic()
        killer = asyncio.create_task(self._end(process, end)) if end else None
        try:
            async for line in process.stdout:
                event = heard(line)
                if event is not None:
                    self._take(event, end)
            status = await process.wait()
        finally:
            if killer is not None:
                killer.cancel()
                await asyncio.gather(killer, return_exceptions=True)
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        self.figures.seconds += time.monotonic() - started
        self._judge(status, end)

    async def _end(self, process: asyncio.subprocess.Process, end: End) -> None:
        if end.writes is not None:
            await self._enough.wait()
        else:
            await self._opened.wait()
            if end.ready:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._ready.wait(), _PATIENCE_SECONDS)
            await asyncio.sleep(end.seconds)
        self.figures.ended_while[self._index] += 1
        with contextlib.suppress(ProcessLookupError):
            if end.children:
                os.killpg(process.pid, end.by)
            else:
                process.send_signal(end.by)

    def _judge(self, status: int, end: End | None) -> None:
        """A process ends as it was meant to, or not. An index that a kill has left broken is the
        engine's business: nothing is deleted here, and a crash is a failure."""
        wanted = -end.by if end is not None and end.by is not signal.SIGINT else 0
        if status == wanted:
            self.figures.kills += status == -signal.SIGKILL
            self.figures.terminations += status == -signal.SIGTERM
            return
        said = (self._notes / "errors.txt").read_text("utf-8", "replace")[-3000:]
        if status < 0:
            self.figures.native_crashes += 1
            self.figures.more.setdefault("first native crash", f"status {status}: {said}")
        else:
            failure = {"event": "error", "life": self._life, "status": status, "said": said}
            self.figures.failures.append(failure)

    def _take(self, event: dict[str, Any], end: End | None) -> None:
        kind = event.pop("event")
        if kind in _FAILURES:
            self.figures.failures.append({"event": kind, "life": self._life, **event})
            return
        hear: dict[str, Callable[..., None]] = {
            "did": self._did,
            "stored": self._stored,
            "asked": self._asked,
            "became": self._became,
            "opened": self._was_opened,
            "ready": self._was_ready,
            "closed": self._closed,
            "vitals": self._vitals,
            "notice": self._notice,
            "logged": lambda text: self._notice("logged", text),
            "indexed": self._indexed,
            "audited": self._audited,
            "ended": lambda: None,
        }
        hear[kind](**event)
        if end is not None and end.writes is not None and self._writes >= end.writes:
            self._enough.set()

    def _did(self, act: str, outcome: str) -> None:
        self.figures.operations[f"{act} {outcome}"] += 1

    def _stored(self, serial: str, scope: str, owner: str, memory_id: str) -> None:
        self.figures.acknowledged += 1
        self._writes += 1
        self.ledger.stored(Line(serial, scope, owner, memory_id))

    def _asked(self, serial: str) -> None:
        self.ledger.becomes(serial, Fate.UNSURE)

    def _became(self, serial: str, fate: str) -> None:
        self.ledger.becomes(serial, Fate(fate))

    def _was_opened(self, scene: int, seconds: float) -> None:
        self.figures.took["open"].append(seconds)
        self.figures.reloads += scene > 1
        self._opened.set()

    def _was_ready(self, seconds: float) -> None:
        self.figures.took["index ready behind it"].append(seconds)
        self._ready.set()

    def _closed(self, seconds: float, rss: float, handles: int, threads: int, drops: int) -> None:
        self.figures.took["close"].append(seconds)
        self.figures.scope_check_drops += drops
        self.figures.samples.append(
            Sample(self._life, "closed", rss, handles, threads, self._memories)
        )

    def _vitals(
        self,
        loop_ms: float,
        interpreter_ms: float,
        where: str,
        rss: float,
        handles: int,
        threads: int,
        memories: int,
        index: str,
    ) -> None:
        self.figures.builds += index == "building" != self._index
        self._index = index
        self._memories = memories or self._memories
        self.figures.stall(loop_ms, interpreter_ms, where)
        if memories:
            self.figures.samples.append(Sample(self._life, "open", rss, handles, threads, memories))

    def _notice(self, code: str, params: str) -> None:
        self.figures.notices[code] += 1
        if self.figures.notices[code] == 1:
            self.figures.more[f"first notice {code}"] = params

    def _indexed(self, *, done: bool) -> None:
        self.figures.operations[f"index caught up {done}"] += 1

    def _audited(self, found: int, looked: int) -> None:
        self.figures.audits.append((found, looked))

    async def check(self) -> None:
        """Compare what the process left with the ledger."""
        await compare(self.root, self.ledger, self.figures)


def _environment() -> dict[str, str]:
    """Ours, but for what would compile every library anew in every life."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


async def soak(root: Path, *, seconds: float, kills: int, seed: int) -> Figures:
    """Half of the time in one long life with reloads; the other half in short ones that end by
    kill -9, but one, which ends by SIGTERM."""
    referee = Referee(root, "engine", seed)
    chance = random.Random(seed)
    short = seconds / 2 / (kills + 1)
    ends = [signal.SIGKILL] * kills + [signal.SIGTERM]
    chance.shuffle(ends)
    async with StallWatch() as idle:
        await referee.life(seconds=seconds / 2, reload_every=max(seconds / 20, 2.0))
        referee.figures.noise_ms = idle.take().loop_ms
    await referee.check()
    for by in ends:
        # Some are killed while they open and reload, most while the index is written.
        busy = chance.random() < 0.25
        whole = by is signal.SIGKILL and chance.random() < 0.5
        end = End(by, whole, short * chance.uniform(0.2, 1.4), ready=not busy)
        await referee.life(end, pause=0.2, reload_every=chance.uniform(2.0, 8.0) if busy else None)
        await referee.check()
    await referee.life(seconds=5.0)
    await referee.check()
    return referee.figures
