"""The other end of ``process.py``: a program that answers its parent until that asks no more.

    python program.py '{"module": …, "arguments": […], "path": […]}'

The module makes the handlers: ``handlers(*arguments)``. It sees the engine as ``llm_memory``. Each
message is a line of JSON and, where it says so, raw bytes behind it. Asked:
``{"id", "what", "fields", "urgent", "seconds", "body"}``; answered: ``{"id", "fields", "body"}`` or
``{"id", "error", "text"}``, and between them ``{"loading": "onnxruntime"}`` or
``{"log": ["INFO", "…"]}``. ``body`` counts the bytes.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from queue import PriorityQueue
from typing import BinaryIO, Final

type Json = str | int | float | bool | list[Json] | dict[str, Json] | None
type Answer = tuple[Mapping[str, Json], bytes]
type Handlers = Mapping[str, Callable[[Mapping[str, Json], bytes], Answer]]
"""By what is asked: fields and body in, fields and body out. ``close``, if there is one, is called
at the end."""

CLOSE: Final = "close"
_NEVER: Final = -1
"""Before all that waits: the parent is gone."""


class Fault(Exception):
    """What a handler raises for its parent: ``code`` is stable."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


class _Parent:
    """Whom this program speaks to; where it is none, but runs in the bot itself, to nobody."""

    def __init__(self) -> None:
        self.output: BinaryIO | None = None
        self._sending = threading.Lock()

    def send(self, message: Mapping[str, Json], body: bytes = b"") -> None:
        """The parent may be gone: then our input has ended, too."""
        line = json.dumps({**message, "body": len(body)}).encode() + b"\n"
        if self.output is not None:
            with contextlib.suppress(OSError, ValueError), self._sending:
                self.output.write(line)
                self.output.write(body)
                self.output.flush()


_parent: Final = _Parent()


def loading(library: str) -> None:
    """Said before a native library is imported: if the process dies of it, this is the reason."""
    _parent.send({"loading": library})


def log(level: str, line: str) -> None:
    """A line for the engine's log."""
    _parent.send({"log": [level, line]})


def answer(handlers: Handlers, what: str, fields: Mapping[str, Json], body: bytes) -> Answer:
    """One answer. Raises Fault: whatever else is raised has the code ``fault``."""
    try:
        return handlers[what](fields, body)
    except Fault:
        raise
    except BaseException as error:  # a panic of a Rust library is no Exception
        raise Fault("fault", f"{type(error).__name__}: {error}"[:500]) from error


def read_message(stream: BinaryIO) -> tuple[Mapping[str, Json], bytes] | None:
    """The next one, None at the end. What is no line of ours, a library printed: passed over."""
    for line in stream:
        with contextlib.suppress(ValueError):
            message = json.loads(line)
            if isinstance(message, dict):
                size = message.get("body")
                return message, stream.read(size) if isinstance(size, int) and size > 0 else b""
    return None


def serve(handlers: Handlers) -> None:
    """Answer one after the other, urgent ones first, until standard input ends."""
    source, _parent.output = _streams()
    waiting: PriorityQueue[tuple[int, int, Mapping[str, Json], bytes]] = PriorityQueue()

    def listen() -> None:
        number = 0
        while (message := read_message(source)) is not None:
            number += 1
            waiting.put((0 if message[0].get("urgent") else 1, number, *message))
        waiting.put((_NEVER, 0, {}, b""))

    threading.Thread(target=listen, daemon=True).start()
    while True:
        turn, _, asked, body = waiting.get()
        if turn == _NEVER:
            break
        # A native library that hangs keeps the interpreter, too: a thread of C's ends us then.
        faulthandler.dump_traceback_later(_seconds(asked), exit=True)
        _answer(handlers, asked, body)
        faulthandler.cancel_dump_traceback_later()
    faulthandler.dump_traceback_later(5.0, exit=True)
    with contextlib.suppress(BaseException):
        answer(handlers, CLOSE, {}, b"")
    os._exit(0)  # libraries' threads are not asked to end in order


def _answer(handlers: Handlers, asked: Mapping[str, Json], body: bytes) -> None:
    number, fields = asked.get("id"), asked.get("fields")
    try:
        found, raw = answer(
            handlers, str(asked.get("what")), fields if isinstance(fields, dict) else {}, body
        )
    except Fault as fault:
        _parent.send({"id": number, "error": fault.code, "text": str(fault)})
    else:
        _parent.send({"id": number, "fields": dict(found)}, raw)


def _seconds(asked: Mapping[str, Json]) -> float:
    seconds = asked.get("seconds")
    return float(seconds) + 1.0 if isinstance(seconds, int | float) else 300.0


def _streams() -> tuple[BinaryIO, BinaryIO]:
    """Where questions come from and answers go. What a library prints goes to the errors."""
    for name in ("SIGINT", "SIGHUP"):  # meant for the bot, which then ends our input
        if (number := getattr(signal, name, None)) is not None:
            signal.signal(number, signal.SIG_IGN)
    source, output = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    return source, output


def _start(module: str, arguments: Iterable[str], path: Iterable[str]) -> None:
    """The engine is loaded from where this file lies, under one name whatever the host calls it."""
    os.umask(0o077)
    sys.path += [entry for entry in path if entry not in sys.path]
    root = Path(__file__).resolve().parents[2]
    spec = spec_from_file_location(
        "llm_memory", root / "__init__.py", submodule_search_locations=[str(root)]
    )
    if spec is not None and spec.loader is not None:
        sys.modules["llm_memory"] = engine = module_from_spec(spec)
        spec.loader.exec_module(engine)
    program = import_module("llm_memory.index.child.program")
    program.serve(import_module(module).handlers(*arguments))


if __name__ == "__main__":
    _start(**json.loads(sys.argv[1]))
