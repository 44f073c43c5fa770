"""By how much an event loop, and the interpreter under it, come late, and what a loop does in one
turn. Standard library only.

A loop that is late because a thread holds the interpreter's lock looks, from inside, like one that
is busy: a thread of our own is late by the same time then, and not otherwise.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
import time
import traceback
from dataclasses import dataclass, field
from types import FrameType, TracebackType
from typing import Final, Self

BEAT_SECONDS = 0.01
LOOK_SECONDS = 0.1
"""A loop that is late by so much is looked at: where does it stand?"""
_FRAMES = 6
_IDLE = frozenset({"_worker", "wait", "select", "get", "_connection_worker_thread"})
"""Where threads of pools and queues stand while they have nothing to do."""


@dataclass
class Stalls:
    """The latest that anything was, in milliseconds, and where the threads stood at the worst."""

    loop_ms: float = 0.0
    interpreter_ms: float = 0.0
    where: str = ""


@dataclass
class StallWatch:
    """``async with StallWatch() as watch``: measures the loop that it is entered in."""

    _since: Stalls = field(default_factory=Stalls)
    _seen: str = ""
    _beat: float = 0.0
    _stop: threading.Event = field(default_factory=threading.Event)
    _home: int = 0
    _task: asyncio.Task[None] | None = None
    _thread: threading.Thread | None = None

    async def __aenter__(self) -> Self:
        self._home = threading.get_ident()
        self._beat = time.perf_counter()
        self._task = asyncio.create_task(self._run())
        self._thread = threading.Thread(target=self._look, name="stall-watch", daemon=True)
        self._thread.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)

    def take(self) -> Stalls:
        """The worst since the last ``take``."""
        taken, self._since = self._since, Stalls()
        return taken

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            now = time.perf_counter()
            late = (now - self._beat - BEAT_SECONDS) * 1000
            self._beat = now
            if late > self._since.loop_ms:
                self._since.loop_ms = late
                if late >= LOOK_SECONDS * 1000:
                    self._since.where = self._seen
            self._seen = ""

    def _look(self) -> None:
        """In a thread: is the interpreter late, too, and what is everybody at?"""
        last = time.perf_counter()
        while not self._stop.wait(BEAT_SECONDS):
            now = time.perf_counter()
            late = (now - last - BEAT_SECONDS) * 1000
            last = now
            self._since.interpreter_ms = max(self._since.interpreter_ms, late)
            if now - self._beat >= LOOK_SECONDS and not self._seen:
                self._seen = self._standing()

    def _standing(self) -> str:
        """The loop's thread first; idle threads of pools are left out."""
        me = threading.get_ident()
        frames = sys._current_frames()
        home = frames.pop(self._home, None)
        texts = [f"loop: {_place(home)}"] if home is not None else []
        for ident, frame in frames.items():
            if ident != me and frame.f_code.co_name not in _IDLE:
                texts.append(f"thread: {_place(frame)}")
        return " || ".join(texts)


def _place(frame: FrameType) -> str:
    """The innermost frames, the outermost of them first."""
    stack = traceback.extract_stack(frame)[-_FRAMES:]
    return " > ".join(
        f"{step.filename.rsplit('/', 1)[-1]}:{step.lineno} in {step.name}" for step in stack
    )


class LoopSteps:
    """``with LoopSteps() as steps``: counts the calls that this thread, an event loop's, makes
    between one turn of the loop and the next, those of built-in functions included. A count, and no
    time: it is the same on any machine.

    Attributes:
        most: The most in one turn.
        turns: How many turns passed.
        ran: The names of all functions that ran on this thread.
    """

    _TURN: Final = asyncio.BaseEventLoop._run_once.__code__  # type: ignore[attr-defined]

    def __init__(self) -> None:
        self.most = 0
        self.turns = 0
        self.ran: set[str] = set()
        self._count = 0

    def __enter__(self) -> Self:
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            self.ran.add(frame.f_code.co_name)
            if frame.f_code is self._TURN:
                self.turns += 1
                self._count = 0
        if event in ("call", "c_call"):
            self._count += 1
            self.most = max(self.most, self._count)
