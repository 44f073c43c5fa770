"""A child process that lives as long as we like and answers calls, several at once.

What runs in it can hold an interpreter's lock, leak or die: it is not ours. How it speaks is told
in ``frames.py``: we send ``{"id", "call", "args"}``; it answers ``{"id", "part"}`` any number of
times, and then ``{"id"}`` alone or ``{"id", "error"}``; ``{"log": [level, text]}`` is for the log.
After ``{"call": "end"}`` nothing is asked any more.
"""

from __future__ import annotations

import contextlib
import itertools
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import Any, BinaryIO, Final, cast

from ...log import logger
from ...storage.child_process import ChildEnd, child_environment, quiet_flags
from .frames import Frame, await_hello, read_frame, write_frame

_KEPT_LINES: Final = 20
_STATUS_SECONDS: Final = 5.0
_GREETING_SECONDS: Final = 120.0
"""For Python to start on the slowest disk. One that has not spoken by then never will."""
END: Final = "end"
"""The call that is the last one, and has no answer."""
_LEVELS: Final[Mapping[str, Callable[..., None]]] = {
    "DEBUG": logger.debug,
    "INFO": logger.info,
    "WARNING": logger.warning,
}


class WorkerEnded(Exception):
    """The process is not there any more; the text says how it ended.

    ``crashed``: it died of what it did, and not because it was ended.
    """

    def __init__(self, message: str, *, crashed: bool = False) -> None:
        super().__init__(message)
        self.crashed = crashed


class WorkerLate(Exception):
    """No answer in time. The process lives, as far as anybody can tell."""


class WorkerRefused(Exception):
    """The process answered with an error: ``kind`` is its class, ``code`` its own."""

    def __init__(self, kind: str, message: str, code: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.code = code


_ONE_ARENA: Final = {"MALLOC_ARENA_MAX": "1"}
"""Linux's malloc gives each thread a heap of its own, which it seldom gives back: with a dozen
threads thirty megabytes more for the same vectors (docs/speed.md). They hardly ever allocate at the
same time."""


class WorkerProcess:
    """One child. Thread-safe; what it is asked blocks its caller only."""

    def __init__(
        self, command: Sequence[str], *, greeting_seconds: float = _GREETING_SECONDS
    ) -> None:
        """Starts it; killed if it says nothing for so long. Raises OSError if that is not
        possible."""
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            [*command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=child_environment() | _ONE_ARENA,
            creationflags=quiet_flags(),
        )
        # All three are pipes; a type checker cannot know.
        self._input = cast("BinaryIO", self._process.stdin)
        output = cast("BinaryIO", self._process.stdout)
        errors = cast("BinaryIO", self._process.stderr)
        self._numbers = itertools.count(1)
        self._outbox: SimpleQueue[Frame | None] = SimpleQueue()
        self._changing = threading.Lock()
        self._waiting: dict[int, SimpleQueue[Frame | None]] = {}
        self._ended = False
        self._words: deque[str] = deque(maxlen=_KEPT_LINES)
        self._mute = threading.Timer(greeting_seconds, self.kill)
        self._mute.daemon = True
        self._mute.start()
        # Each pipe has a thread of its own: a caller waits for its answer, and for nothing else.
        self._overhearing = _thread(self._read_stderr, errors)
        _thread(self._listen, output)
        _thread(self._speak, self._input)

    @property
    def pid(self) -> int:
        """The child's number."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """It still answers, as far as anybody can tell."""
        return not self._ended

    def call(
        self, name: str, args: Mapping[str, Any], body: bytes = b"", *, seconds: float | None = None
    ) -> Any:
        """An answer that has one part. For the errors see ``answers``."""
        return self.whole(name, args, body, seconds=seconds)[0]

    def whole(
        self, name: str, args: Mapping[str, Any], body: bytes = b"", *, seconds: float | None = None
    ) -> tuple[Any, bytes]:
        """An answer that has one part, and its bytes. For the errors see ``answers``."""
        (answer,) = self.answers(name, args, body, seconds=seconds)
        return answer

    def answers(
        self, name: str, args: Mapping[str, Any], body: bytes = b"", *, seconds: float | None = None
    ) -> Iterator[tuple[Any, bytes]]:
        """Each part of an answer: what JSON says of it, and its bytes.

        Args:
            name: What is called.
            args: What JSON can say of its arguments.
            body: The rest of them.
            seconds: For the whole; None for as long as it takes.

        Raises:
            WorkerRefused: the call raised.
            WorkerLate: the time is over. Whatever it answers later is dropped.
            WorkerEnded: the process did, before or meanwhile.
        """
        number = next(self._numbers)
        deadline = None if seconds is None else time.monotonic() + seconds
        frames: SimpleQueue[Frame | None] = SimpleQueue()
        with self._changing:
            if self._ended:
                raise self._end()
            self._waiting[number] = frames
        try:
            self._outbox.put(Frame({"id": number, "call": name, "args": args}, body))
            while True:
                frame = _next(frames, deadline)
                if frame is None:
                    raise self._end()
                if (error := frame.head.get("error")) is not None:
                    raise WorkerRefused(*error)
                if "part" not in frame.head:
                    return
                yield frame.head["part"], frame.body
        finally:
            with self._changing:
                self._waiting.pop(number, None)

    def _speak(self, stream: BinaryIO) -> None:
        """What it does not take, because it ended, its listener tells of."""
        with contextlib.suppress(OSError, ValueError):
            while (frame := self._outbox.get()) is not None:
                write_frame(stream, frame)
        with contextlib.suppress(OSError, ValueError):
            stream.close()

    def _listen(self, stream: BinaryIO) -> None:
        try:
            if await_hello(stream):
                self._mute.cancel()
                while (frame := read_frame(stream)) is not None:
                    self._take(frame)
        except (OSError, ValueError, KeyError, MemoryError) as error:  # no message of ours
            logger.debug("索引进程说的话听不懂：{}", error)
        finally:
            self._over(stream)

    def _over(self, stream: BinaryIO) -> None:
        self._mute.cancel()
        with self._changing:
            self._ended = True
            waiting = list(self._waiting.values())
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_STATUS_SECONDS)  # it says more than its silence
        self._overhearing.join(1.0)
        for frames in waiting:
            frames.put(None)
        self._outbox.put(None)
        stream.close()

    def _take(self, frame: Frame) -> None:
        if (line := frame.head.get("log")) is not None:
            level, text = line
            _LEVELS.get(level, logger.error)("{}", text)
            return
        with self._changing:
            frames = self._waiting.get(frame.head["id"])
        if frames is not None:
            frames.put(frame)

    def _read_stderr(self, stream: BinaryIO) -> None:
        with contextlib.suppress(OSError, ValueError):
            for line in stream:
                self._words.append(line.decode(errors="replace").rstrip())
        stream.close()

    def _end(self) -> WorkerEnded:
        end = ChildEnd(self._process.poll(), "", "")
        status = "" if end.status is None else end.death or f"status {end.status}"
        words = " ".join(part for part in (status, *list(self._words)[-3:]) if part)
        return WorkerEnded(words, crashed=end.crashed)

    def kill(self) -> None:
        """End it now, whatever it does. Idempotent."""
        with contextlib.suppress(OSError):
            self._process.kill()
        self._release()

    def leave(self) -> None:
        """Tell it that no call follows: it closes what it has and ends, in its own time."""
        # Told, and not only hung up on: a process that the bot has forked may hold the other end.
        self._outbox.put(Frame({"id": 0, "call": END, "args": {}}))
        self._outbox.put(None)

    def end(self, seconds: float) -> None:
        """As ``leave``, but it has ended afterwards: killed if it doesn't in time. Idempotent,
        blocks."""
        self.leave()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        if self._process.poll() is None:
            self.kill()
        else:
            self._release()

    def _release(self) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5.0)  # else the system would keep its entry
        self._outbox.put(None)


def _thread(work: Callable[[BinaryIO], None], stream: BinaryIO) -> threading.Thread:
    thread = threading.Thread(target=work, args=(stream,), name="scoped-memory-worker", daemon=True)
    thread.start()
    return thread


def _next(frames: SimpleQueue[Frame | None], deadline: float | None) -> Frame | None:
    try:
        if deadline is None:
            return frames.get()
        return frames.get(timeout=max(0.0, deadline - time.monotonic()))
    except Empty:
        raise WorkerLate("no answer in time") from None
