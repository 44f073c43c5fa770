"""The other end of ``process.py``: a program that answers its parent until that asks no more.

    python program.py '{"module": …, "arguments": […], "path": […]}'

The module makes the handlers: ``handlers(*arguments)``. It sees the engine as ``llm_memory``. Each
message is a line of JSON, and ``body`` raw bytes behind it. Asked:
``{"id", "what", "fields", "urgent", "seconds", "idle_seconds", "body"}``; answered:
``{"id", "fields", "body"}`` or ``{"id", "error", "text"}``, and between them
``{"loading": "onnxruntime"}``, or ``{"leaving": true}`` of one that was not asked for so long.
"""

from __future__ import annotations

import contextlib
import errno
import faulthandler
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from queue import Empty, PriorityQueue
from types import ModuleType
from typing import Any, BinaryIO, Final

type Json = str | int | float | bool | list[Json] | dict[str, Json] | None
type Message = Mapping[str, Json]
type Answer = tuple[Message, bytes]
type Handlers = Mapping[str, Callable[[Message, bytes], Answer]]
"""By what is asked: fields and body in, fields and body out."""

_LATER: Final = 2
_CODES: Final = {ImportError: "missing", PermissionError: "unreadable"}
_BY_NUMBER: Final = dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "full") | dict.fromkeys(
    (errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOLCK, errno.ESTALE), "unreadable"
)
_BY_TEXT: Final = {
    "disk is full": "full",
    **dict.fromkeys(("(code: 14)", "Too many open files"), "unreadable"),
}
"""What SQLite and Rust say: 14 is a file that cannot be opened."""


class Fault(Exception):
    """What a handler raises for its parent: ``code`` is stable."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


_parent: Final[list[BinaryIO]] = []
"""Whom this program speaks to."""


def _send(message: Message, body: bytes = b"") -> None:
    line = json.dumps({**message, "body": len(body)}).encode()
    for output in _parent:
        with contextlib.suppress(OSError):  # if it is gone, our input has ended
            output.write(line + b"\n" + body)
            output.flush()


def loading(library: str) -> None:
    """Said before a native library is imported: if the process dies of it, this is the reason. Only
    in a handler's own thread."""
    _send({"loading": library})


def _answer(asked: dict[str, Any], body: bytes, handlers: Handlers) -> None:
    """Or the code of a fault: its own, or ``missing``, ``unreadable``, ``full``, ``fault``."""
    try:
        found, body = handlers[asked["what"]](asked["fields"], body)
        _send({"id": asked["id"], "fields": {**found}}, body)
    except BaseException as error:  # noqa: BLE001 - a panic of a Rust library is no Exception
        code = next((code for kind, code in _CODES.items() if isinstance(error, kind)), "fault")
        code = _BY_NUMBER.get(getattr(error, "errno", 0), code)
        code = next((one for said, one in _BY_TEXT.items() if said in str(error)), code)
        text = f"{type(error).__name__}: {error}"[:500]
        if isinstance(error, Fault):
            code, text = error.code, str(error)
        _send({"id": asked["id"], "error": code, "text": text})


def read_message(stream: BinaryIO) -> Answer | None:
    """The next one, None at the end, which may come in the midst of one. What is no line of ours, a
    library printed: passed over."""
    for line in stream:
        with contextlib.suppress(ValueError):
            message = json.loads(line)
            if isinstance(message, dict):
                body = stream.read(size := message.get("body") or 0)
                return (message, body) if len(body) == size else None
    return None


def serve(handlers: Handlers) -> None:
    """Answer one after the other, urgent ones first, until standard input ends, or nothing is asked
    for the ``idle_seconds`` of the last question."""
    source, output = _streams()
    _parent.append(output)
    waiting: PriorityQueue[tuple[int, int, Any, bytes]] = PriorityQueue()

    def listen() -> None:
        number = 0
        while (message := read_message(source)) is not None:
            number += 1
            waiting.put((0 if message[0].get("urgent") else 1, number, *message))
        waiting.put((-1, 0, None, b""))

    threading.Thread(target=listen, daemon=True).start()
    idle_seconds: float | None = None
    with contextlib.suppress(Empty):
        while (asked := (turn := waiting.get(timeout=idle_seconds))[2]) is not None:
            idle_seconds = asked["idle_seconds"]
            # A native library that hangs keeps the interpreter: where no parent ends us any more,
            # whose patience begins anew once, with what we load, a thread of C's does.
            faulthandler.dump_traceback_later(_LATER * asked["seconds"], exit=True, file=2)
            _answer(asked, turn[3], handlers)
            faulthandler.cancel_dump_traceback_later()
    _send({"leaving": True})
    os._exit(0)  # what was answered is on the disk; libraries' threads are not asked to end


def _streams() -> tuple[BinaryIO, BinaryIO]:
    """Where questions come from and answers go. What a library prints goes to the errors."""
    for name in ("SIGINT", "SIGHUP"):  # meant for the bot, which then ends our input
        if (number := getattr(signal, name, None)) is not None:
            signal.signal(number, signal.SIG_IGN)
    try:
        os.fstat(2)
    except OSError:  # the bot was started without: a pipe of ours would take its place
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    source, output = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    return source, output


def _start(module: str, arguments: list[str], path: list[str]) -> None:
    """The engine is loaded from where this file lies, whatever the host calls it."""
    os.umask(0o077)
    sys.path += [entry for entry in path if entry not in sys.path]
    root = Path(__file__).resolve().parents[2]
    sys.modules["llm_memory"] = engine = ModuleType("llm_memory")
    engine.__path__ = [str(root)]
    program = import_module("llm_memory.index.child.program")
    program.serve(import_module(module).handlers(*arguments))


if __name__ == "__main__":
    _start(**json.loads(sys.argv[1]))
