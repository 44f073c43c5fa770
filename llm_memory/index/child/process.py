"""The bot's end of a program of ours (``program.py``): started when it is asked, ended at rest."""

from __future__ import annotations

import contextlib
import itertools
import json
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import BinaryIO, Final, Protocol, cast

from ...errors import ScopedMemoryError
from ...log import logger
from ...storage.child_process import (
    ChildEnd,
    child_environment,
    import_path,
    python_program,
    quiet_flags,
)
from .program import Answer, Fault, Handlers, Json, answer, read_message

DIED: Final = "died"
HANGS: Final = "hangs"
CLOSED: Final = "closed"
NO_CHILD: Final = "no_child"
"""The code where this Python can start no other."""

_PROGRAM: Final = Path(__file__).with_name("program.py")
_ENDING_SECONDS: Final = 6.0
_ENGINE: Final = __package__.removesuffix(".index.child")
_ENVIRONMENT: Final = {
    "MALLOC_ARENA_MAX": "1",  # Linux's malloc keeps a heap for each thread (docs/dev/speed.md)
    # Threads that contend for a core cost tenfold.
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"),
    "NO_PROXY": "*",  # a server is a neighbour: a proxy would see vectors and headers
}


class ChildFailed(ScopedMemoryError):
    """No answer. ``code``: ``died``, ``hangs``, ``closed``, ``no_child``, or the program's own."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


class Asked(Protocol):
    """A program of ours, wherever it runs. Every method blocks; for any thread."""

    def ask(
        self,
        what: str,
        fields: Mapping[str, Json],
        body: bytes = b"",
        *,
        seconds: float,
        urgent: bool = False,
    ) -> Answer:
        """What the handler ``what`` makes of ``fields`` and ``body``; urgent ones come first.

        ``seconds`` without a sign from the program are too many: it is ended. Raises ChildFailed.
        """
        ...

    def close(self) -> None:
        """End it. Idempotent; all that is asked later fails with ``closed``."""
        ...


class Child:
    """A program in a process of its own. One that has died is started for the next question."""

    def __init__(
        self, module: str, arguments: Sequence[str] = (), *, idle_seconds: float | None = None
    ) -> None:
        """
        Args:
            module: Where ``handlers`` stands: ``llm_memory.index.chroma.program``.
            arguments: Of ``handlers``. Everybody on the machine can read them.
            idle_seconds: So long unasked, it is ended; None leaves it running.
        """
        self._options = {"module": module, "arguments": [*arguments]}
        self._idle_seconds = idle_seconds
        self._changing = threading.Lock()
        self._process: _Process | None = None
        self._asking = 0
        self._asked_at = 0.0
        self._closed = False

    @property
    def pid(self) -> int | None:
        """Of the process, None where none runs."""
        process = self._process
        return process.pid if process is not None and process.alive else None

    def ask(
        self,
        what: str,
        fields: Mapping[str, Json],
        body: bytes = b"",
        *,
        seconds: float,
        urgent: bool = False,
    ) -> Answer:
        """See ``Asked``."""
        message: dict[str, Json] = {"what": what, "fields": dict(fields)}
        message |= {"seconds": seconds, "urgent": urgent}
        with self._changing:
            process = self._running()
            self._asking += 1
        try:
            return process.ask(message, body, seconds)
        finally:
            with self._changing:
                self._asking -= 1
                self._asked_at = time.monotonic()

    def _running(self) -> _Process:
        if self._closed:
            raise ChildFailed(CLOSED, "the program was closed")
        if self._process is None or not self._process.alive:
            command = python_program(_PROGRAM, json.dumps({**self._options, "path": import_path()}))
            if not command:
                raise ChildFailed(NO_CHILD, "this Python starts no other")
            try:
                self._process = _Process(command)
            except (OSError, ValueError, RuntimeError) as error:
                raise ChildFailed(DIED, f"not started: {error}") from error
            self._watch(self._process, self._idle_seconds)
        return self._process

    def _watch(self, process: _Process, seconds: float | None) -> None:
        if seconds is not None:
            timer = threading.Timer(seconds, self._rest, (process, self._idle_seconds))
            timer.daemon = True
            timer.start()

    def _rest(self, process: _Process, idle_seconds: float) -> None:
        with self._changing:
            if process is not self._process or not process.alive:
                return
            left = self._asked_at + idle_seconds - time.monotonic()
            if self._asking or left > 0:
                self._watch(process, max(left, 0.1 * idle_seconds))
                return
            self._process = None
        process.end()

    def close(self) -> None:
        """See ``Asked``."""
        with self._changing:
            self._closed = True
            process, self._process = self._process, None
        if process is not None:
            process.end()


class _Process:
    """One life of a child."""

    def __init__(self, command: Sequence[str]) -> None:
        """Raises OSError if it cannot be started."""
        self._popen = subprocess.Popen(  # noqa: S603 - our own program
            [*command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=child_environment() | _ENVIRONMENT,
            creationflags=quiet_flags(),
        )
        self.pid = self._popen.pid
        self._numbers = itertools.count(1)
        self._writing = threading.Lock()
        self._waiting: dict[int, SimpleQueue[tuple[Mapping[str, Json], bytes] | None]] = {}
        self._words: deque[str] = deque(maxlen=3)
        self._loading = ""
        self._sign = time.monotonic()
        self._ended = False
        self._late = False
        self._errors = self._thread(self._overhear)
        self._thread(self._listen)

    def _thread(self, work: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=work, name="scoped-memory-child", daemon=True)
        thread.start()
        return thread

    @property
    def alive(self) -> bool:
        return not (self._ended or self._late) and self._popen.poll() is None

    def ask(self, message: Mapping[str, Json], body: bytes, seconds: float) -> Answer:
        number = next(self._numbers)
        line = json.dumps({**message, "id": number, "body": len(body)}).encode() + b"\n"
        answers = self._waiting[number] = SimpleQueue()
        asked = time.monotonic()
        try:
            with contextlib.suppress(OSError, ValueError), self._writing:
                stream = cast("BinaryIO", self._popen.stdin)
                stream.write(line)
                stream.write(body)
                stream.flush()
            while True:
                left = max(asked, self._sign) + seconds - time.monotonic()
                try:
                    return self._read(None if self._ended else answers.get(timeout=max(left, 0.0)))
                except Empty:
                    if max(asked, self._sign) + seconds <= time.monotonic():
                        self._late = True
                        self._popen.kill()
                        raise ChildFailed(HANGS, self._doing("no answer")) from None
        finally:
            del self._waiting[number]

    def _read(self, message: tuple[Mapping[str, Json], bytes] | None) -> Answer:
        if message is None:
            raise ChildFailed(HANGS if self._late else DIED, self._doing(self._how_it_ended()))
        found, body = message
        if "error" in found:
            raise ChildFailed(str(found["error"]), str(found.get("text")))
        fields = found.get("fields")
        return fields if isinstance(fields, dict) else {}, body

    def _doing(self, text: str) -> str:
        return f"{text} (loading {self._loading})" if self._loading else text

    def _how_it_ended(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(_ENDING_SECONDS)
        self._errors.join(1.0)
        end = ChildEnd(self._popen.poll())
        return " ".join([end.death or f"status {end.status}", *self._words])

    def _listen(self) -> None:
        stream = cast("BinaryIO", self._popen.stdout)
        with contextlib.suppress(OSError, ValueError):
            while (message := read_message(stream)) is not None:
                self._sign = time.monotonic()
                self._hear(*message)
        self._ended = True
        for answers in list(self._waiting.values()):
            answers.put(None)

    def _hear(self, message: Mapping[str, Json], body: bytes) -> None:
        number, line = message.get("id"), message.get("log")
        if isinstance(line, list):
            logger.forward(str(line[0]), str(line[-1]))
        elif isinstance(number, int):
            self._loading = ""
            if (answers := self._waiting.get(number)) is not None:
                answers.put((message, body))
        else:
            self._loading = str(message.get("loading", ""))

    def _overhear(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            for line in cast("BinaryIO", self._popen.stderr):
                self._words.append(line.decode(errors="replace").rstrip()[:300])

    def end(self) -> None:
        """It sees that nothing follows, closes what it has, and ends; killed if it does not."""
        with contextlib.suppress(OSError, ValueError):
            cast("BinaryIO", self._popen.stdin).close()
        try:
            self._popen.wait(_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()


class Here:
    """The handlers in this very process, where Python can start no other."""

    def __init__(self, module: str, arguments: Sequence[str] = ()) -> None:
        self._module = module
        self._arguments = arguments
        self._turn = threading.Lock()
        self._handlers: Handlers | None = None
        self._closed = False

    def ask(
        self,
        what: str,
        fields: Mapping[str, Json],
        body: bytes = b"",
        *,
        seconds: float,
        urgent: bool = False,
    ) -> Answer:
        """See ``Asked``; nothing ends it."""
        with self._turn:
            if self._closed:
                raise ChildFailed(CLOSED, "the program was closed")
            if self._handlers is None:
                program = import_module(self._module.replace("llm_memory", _ENGINE, 1))
                self._handlers = cast("Handlers", program.handlers(*self._arguments))
            try:
                return answer(self._handlers, what, fields, body)
            except Fault as fault:
                raise ChildFailed(fault.code, str(fault)) from fault

    def close(self) -> None:
        """See ``Asked``."""
        with self._turn:
            self._closed = True
            if self._handlers is not None:
                with contextlib.suppress(Fault):
                    answer(self._handlers, "close", {}, b"")
