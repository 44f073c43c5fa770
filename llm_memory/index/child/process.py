"""The bot's end of a program of ours (``program.py``): started when it is asked, ended at rest."""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import BinaryIO, Final, cast

from ...errors import ScopedMemoryError
from ...storage.child_process import (
    FLAGS,
    ChildEnd,
    child_environment,
    import_path,
    python_program,
)
from .program import Answer, Fault, Json, Message, read_message

DIED: Final = "died"
HANGS: Final = "hangs"
CLOSED: Final = "closed"
NO_CHILD: Final = "no_child"
"""The code where this Python can start no other."""
NOT_STARTED: Final = "not_started"
"""The system has no memory, or no process left, for now."""
LOADING: Final = "while loading "
"""In the text of a death, before the library's name."""
_LEFT: Final = "left"
"""It had not been asked for so long, and ended before it began on this."""
_PROGRAM: Final = Path(__file__).with_name("program.py")
_ENDING_SECONDS: Final = 6.0
_ENVIRONMENT: Final = {
    "MALLOC_ARENA_MAX": "1",  # Linux's malloc keeps a heap for each thread (docs/dev/speed.md)
    # Threads that contend for a core cost tenfold.
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"),
}


class ChildFailed(Fault, ScopedMemoryError):
    """No answer. ``code``: one of those above, or the program's own."""


class Child:
    """A program in a process of its own, which is started for the next question whenever it is not
    there. Every method blocks; for any thread."""

    def __init__(
        self, module: str, arguments: Sequence[str] = (), *, idle_seconds: float | None = None
    ) -> None:
        """
        Args:
            module: Where ``handlers`` stands: ``llm_memory.index.chroma.program``.
            arguments: Of ``handlers``. Everybody on the machine can read them.
            idle_seconds: So long unasked, it ends; None leaves it running.
        """
        self._module, self._arguments = module, [*arguments]
        self.idle_seconds = idle_seconds
        self._changing = threading.Lock()
        self._life: _Life | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        """Of the process, None where none runs."""
        life = self._life
        return None if life is None or life.over else life.pid

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
        asked: dict[str, Json] = {"what": what, "fields": {**fields}, "urgent": urgent}
        asked |= {"seconds": seconds, "idle_seconds": self.idle_seconds}
        while True:
            with self._changing:
                if self._closed:
                    raise ChildFailed(CLOSED, "the program was closed")
                if self._life is None or self._life.over:
                    self._life = self._begun()
                life = self._life
            try:
                return life.ask(asked, body, seconds)
            except ChildFailed as failed:
                if failed.code != _LEFT:
                    raise

    def _begun(self) -> _Life:
        options = {"module": self._module, "arguments": self._arguments, "path": import_path()}
        command = python_program(_PROGRAM, json.dumps(options))
        if not command:
            raise ChildFailed(NO_CHILD, "this Python starts no other")
        try:
            return _Life(command)
        except (OSError, ValueError, RuntimeError) as error:
            raise ChildFailed(NOT_STARTED, f"not started: {error}") from error

    def end(self) -> None:
        """End its process; the next question starts another one."""
        with self._changing:
            life, self._life = self._life, None
        if life is not None:
            life.end()

    def close(self) -> None:
        """End it. Idempotent; all that is asked later fails with ``closed``."""
        self._closed = True
        self.end()


class _Life:
    """From a start of the program to its end."""

    def __init__(self, command: Sequence[str]) -> None:
        """Raises OSError if it cannot be started."""
        self._popen = subprocess.Popen(  # noqa: S603 - our own program
            [*command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=child_environment() | _ENVIRONMENT,
            creationflags=FLAGS,
        )
        self.pid = self._popen.pid
        self.over = False
        self._input = cast("BinaryIO", self._popen.stdin)
        self._writing = threading.Lock()
        self._waiting: dict[int, Future[Answer]] = {}
        self._loading = ""
        self._code = DIED
        self._sign = time.monotonic()
        threading.Thread(target=self._listen, name="scoped-memory-child", daemon=True).start()

    def ask(self, asked: Message, body: bytes, seconds: float) -> Answer:
        since, future = time.monotonic(), Future[Answer]()
        number = id(future)
        line = json.dumps({**asked, "id": number, "body": len(body)}).encode() + b"\n"
        self._waiting[number] = future
        try:
            # One that reads nothing leaves the write waiting, too.
            threading.Thread(target=self._write, args=(line + body,), daemon=True).start()
            if self.over:
                raise self._end()
            while (left := max(since, self._sign) + seconds - time.monotonic()) > 0:
                with contextlib.suppress(TimeoutError):
                    return future.result(left)
            self._kill()
            return future.result()
        finally:
            del self._waiting[number]

    def _write(self, message: bytes) -> None:
        with contextlib.suppress(OSError, ValueError), self._writing:
            self._input.write(message)
            self._input.flush()

    def _kill(self) -> None:
        self._code, self.over = HANGS, True
        self._popen.kill()

    def _listen(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while (message := read_message(cast("BinaryIO", self._popen.stdout))) is not None:
                self._sign = time.monotonic()
                self._hear(*message)
        self.over = True
        end = self._end()
        for future in list(self._waiting.values()):
            if not future.done():
                future.set_exception(end)

    def _hear(self, message: Message, body: bytes) -> None:
        future = self._waiting.get(cast("int", message.get("id")))
        self._loading = str(message.get("loading", ""))
        if "leaving" in message:
            self._code = _LEFT
        elif future is not None and "error" in message:
            future.set_exception(ChildFailed(str(message["error"]), str(message["text"])))
        elif future is not None:
            future.set_result((cast("Message", message["fields"]), body))

    def _end(self) -> ChildFailed:
        """What becomes of those who wait."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(_ENDING_SECONDS)
        end = ChildEnd(self._popen.poll())
        doing = f" {LOADING}{self._loading}" if self._loading else ""
        return ChildFailed(self._code, f"{end.death or f'status {end.status}'}{doing}")

    def end(self) -> None:
        """It sees that nothing follows, and ends; killed if it does not."""
        if self._writing.locked():  # to close it would wait for who writes
            self._kill()
        with contextlib.suppress(OSError, ValueError):
            self._input.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(_ENDING_SECONDS)
        self._popen.kill()
        self._popen.wait()
