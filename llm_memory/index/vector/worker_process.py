"""A child process that lives as long as we like and answers calls, several at once.

What runs in it can hold an interpreter's lock, leak or die: it is not ours. How it speaks is told
in ``messages.py``.
"""

from __future__ import annotations

import contextlib
import itertools
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from queue import Empty, SimpleQueue
from typing import Any, BinaryIO, Final, cast

from ...log import logger
from ...storage.child_process import ChildEnd, child_environment, quiet_flags
from .messages import DONE, ERROR, GREETING, LOG, next_message, packed

_KEPT_LINES: Final = 20
_STATUS_SECONDS: Final = 5.0
_GREETING_SECONDS: Final = 120.0
"""For Python to start on the slowest disk. One that has not spoken by then never will."""


class WorkerEnded(Exception):
    """The process is not there any more; the text says how it ended.

    ``crashed``: it died of what it did, and not because it was ended.
    """

    def __init__(self, message: str, *, crashed: bool = False) -> None:
        super().__init__(message)
        self.crashed = crashed


class WorkerLate(Exception):
    """No answer in time. The process lives, as far as anybody can tell."""


type _Answers = SimpleQueue[tuple[str, Any] | None]
"""What it says and of which kind that is; None once it has ended."""
_ONE_ARENA: Final = {"MALLOC_ARENA_MAX": "1"}
"""Linux's malloc gives each thread a heap of its own, which it seldom gives back: with a dozen
threads thirty megabytes more for the same vectors (docs/dev/speed.md). The threads hardly ever
allocate at the same time."""


class WorkerProcess:
    """One child. Thread-safe; what it is asked blocks its caller only."""

    def __init__(
        self, command: Sequence[str], *, greeting_seconds: float = _GREETING_SECONDS
    ) -> None:
        """Starts it; killed if it says nothing for so long. Raises OSError if that is not
        possible."""
        self.process = subprocess.Popen(  # noqa: S603 - our own program
            [*command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=child_environment() | _ONE_ARENA,
            creationflags=quiet_flags(),
        )
        # All three are pipes; a type checker cannot know.
        self._input = cast("BinaryIO", self.process.stdin)
        output = cast("BinaryIO", self.process.stdout)
        errors = cast("BinaryIO", self.process.stderr)
        self._numbers = itertools.count(1)
        self._outbox: SimpleQueue[bytes | None] = SimpleQueue()
        self._changing = threading.Lock()
        self._waiting: dict[int, _Answers] = {}
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
        return self.process.pid

    @property
    def alive(self) -> bool:
        """It still answers, as far as anybody can tell."""
        # Who reads what it says may hear of its end later than who waited for it.
        return not self._ended and self.process.poll() is None

    def call(self, name: str, *arguments: object, seconds: float | None = None) -> Any:
        """An answer that has one part. For the errors see ``answers``."""
        (answer,) = self.answers(name, *arguments, seconds=seconds)
        return answer

    def answers(self, name: str, *arguments: object, seconds: float | None = None) -> Iterator[Any]:
        """Each part of an answer.

        Args:
            name: What is called.
            arguments: Its arguments.
            seconds: For the whole; None for as long as it takes.

        Raises:
            WorkerLate: the time is over. Whatever it answers later is dropped.
            WorkerEnded: the process did, before or meanwhile.
            Exception: what the call raised.
        """
        number = next(self._numbers)
        deadline = None if seconds is None else time.monotonic() + seconds
        answers: _Answers = SimpleQueue()
        message = packed((number, name, arguments))
        with self._changing:
            ended = self._ended
            self._waiting[number] = answers
        try:
            if ended:
                raise self._end()
            self._outbox.put(message)
            while (answer := _next(answers, deadline)) is not None:
                what, said = answer
                if what == ERROR:
                    raise said
                if what == DONE:
                    return
                yield said
            raise self._end()
        finally:
            with self._changing:
                self._waiting.pop(number, None)

    def _speak(self, stream: BinaryIO) -> None:
        """What it does not take, because it ended, its listener tells of."""
        with contextlib.suppress(OSError, ValueError):
            while (message := self._outbox.get()) is not None:
                stream.write(message)
                stream.flush()
        with contextlib.suppress(OSError, ValueError):
            stream.close()

    def _listen(self, stream: BinaryIO) -> None:
        try:
            if any(line.endswith(GREETING) for line in stream):
                self._mute.cancel()
                while True:
                    self._take(*next_message(stream))
        except EOFError:
            pass
        except Exception as error:  # noqa: BLE001  (no message of ours: a pickle may raise anything)
            logger.debug("the index process sent an unreadable message: {}", error)
        finally:
            self.over(stream)

    def over(self, stream: BinaryIO) -> None:
        self._mute.cancel()
        with self._changing:
            self._ended = True
            waiting = list(self._waiting.values())
        self._hear_out()
        for answers in waiting:
            answers.put(None)
        self._outbox.put(None)
        stream.close()

    def _take(self, what: str, about: Any, said: Any) -> None:
        if what == LOG:
            logger.forward(about, said)
            return
        with self._changing:
            answers = self._waiting.get(about)
        if answers is not None:
            answers.put((what, said))

    def _read_stderr(self, stream: BinaryIO) -> None:
        with contextlib.suppress(OSError, ValueError):
            for line in stream:
                self._words.append(line.decode(errors="replace").rstrip())
        stream.close()

    def _hear_out(self) -> None:
        """How it ended and its last words say more than its silence."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_STATUS_SECONDS)
        self._overhearing.join(1.0)

    def _end(self) -> WorkerEnded:
        self._hear_out()
        end = ChildEnd(self.process.poll(), "", "")
        status = "" if end.status is None else end.death or f"status {end.status}"
        words = " ".join(part for part in (status, *list(self._words)[-3:]) if part)
        return WorkerEnded(words, crashed=end.crashed)

    def kill(self) -> None:
        """End it now, whatever it does. Idempotent."""
        with contextlib.suppress(OSError):
            self.process.kill()
        self._release()

    def leave(self) -> None:
        """Tell it that no call follows: it closes what it has and ends, in its own time."""
        # Told, and not only hung up on: a process that the bot has forked may hold the other end.
        self._outbox.put(packed(None))
        self._outbox.put(None)

    def end(self, seconds: float) -> None:
        """As ``leave``, but it has ended afterwards: killed if it doesn't in time. Idempotent,
        blocks."""
        self.leave()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        if self.process.poll() is None:
            self.kill()
        else:
            self._release()

    def _release(self) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5.0)  # else the system would keep its entry
        self._outbox.put(None)


def _thread(work: Callable[[BinaryIO], None], stream: BinaryIO) -> threading.Thread:
    thread = threading.Thread(target=work, args=(stream,), name="scoped-memory-worker", daemon=True)
    thread.start()
    return thread


def _next(answers: _Answers, deadline: float | None) -> tuple[str, Any] | None:
    try:
        if deadline is None:
            return answers.get()
        return answers.get(timeout=max(0.0, deadline - time.monotonic()))
    except Empty:
        raise WorkerLate("no answer in time") from None
