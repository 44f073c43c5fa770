"""The process in which embedded Chroma and a model live; started by ``worker_store.py``.

    python worker.py OPTIONS

OPTIONS is JSON: ``folder``, the index; ``native``, where the answer of the native probe is kept;
``path``, where packages are found, for a Python that does not look at PYTHONPATH; ``greeting``,
what the parent process expects to hear first; ``language``, that of the log.

Embedded Chroma holds the interpreter's lock from the beginning of a call to its end, does not give
back what it took, and may end the process that opens a broken folder; so may a model's native
library. Here that costs the bot nothing, and a question's words cross to us but once: they are
embedded and looked for in one call. The process ends when its standard input does, when it is told
to, or at SIGTERM: it closes the folder in order first.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from pickle import UnpicklingError
from types import ModuleType
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NoReturn, TextIO

if TYPE_CHECKING:
    from .worker_calls import WorkerCalls

_AT_ONCE: Final = 12
"""Calls: three queries, what is late of them, one of the owner's, four of texts to embed."""
_THREAD_LIMITS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
_CLOSING_SECONDS: Final = 5.0
_ASLEEP_SECONDS: Final = 300.0
"""No call of Chroma's takes so long."""
_LOOK_SECONDS: Final = 30.0
_OWNER_PATIENCE: Final = _CLOSING_SECONDS + 2.0
"""The process of a bot that was killed is still closing the folder when the next one comes."""


class Worker:
    """Answers calls of one store and one model. Each has a thread of its own."""

    def __init__(self, calls: WorkerCalls, output: BinaryIO) -> None:
        self._calls = calls
        self._output = output
        self._sending = threading.Lock()
        self._pool = ThreadPoolExecutor(_AT_ONCE)

    def serve(self, source: BinaryIO) -> None:
        """Until the other end of ``source`` is closed, or says that this is the end."""
        from .messages import next_message

        with contextlib.suppress(EOFError, UnpicklingError):
            while (asked := next_message(source)) is not None:
                self._pool.submit(self._answer, *asked)

    def log(self, message: Any) -> None:
        """A sink for the engine's logger."""
        from .messages import LOG

        record = message.record
        self._send(LOG, record["level"].name, record["message"])

    def _answer(self, number: int, name: str, arguments: Sequence[Any]) -> None:
        from .messages import DONE, ERROR, PART

        try:
            for part in self._calls.answer(name, arguments):
                self._send(PART, number, part)
            self._send(DONE, number)
        except BaseException as error:  # noqa: BLE001 - a panic of Chroma's is no Exception
            self._send(ERROR, number, _told(error))

    def _send(self, what: str, about: object, said: object = None) -> None:
        from .messages import packed

        message = packed((what, about, said))
        # The parent does not listen any more: our input has ended, too.
        with contextlib.suppress(OSError, ValueError), self._sending:
            self._output.write(message)
            self._output.flush()


def _told(error: BaseException) -> Exception:
    """As the caller gets it."""
    from ...errors import EmbeddingFailed, IndexUnavailable

    if isinstance(error, IndexUnavailable | EmbeddingFailed):
        return error
    for kind in (TypeError, ValueError):
        if type(error) is kind:
            return kind(str(error))
    return IndexUnavailable(str(error))


class Asked(Exception):
    """SIGTERM came."""


def run(options: Mapping[str, Any]) -> None:
    """Serve a store over the folder until the parent asks no more, and end the process."""
    from ...log import logger
    from ..embedding.native_probe import NativeProbe
    from .embedded import CHROMA_TRIED, EmbeddedChroma
    from .messages import GREETING
    from .vector_store import ChromaVectorStore
    from .worker_calls import WorkerCalls
    from .write_pace import WORKER_LONG, WritePace

    if options["greeting"] != GREETING.decode():
        # The plugin's files were replaced under a bot that runs: it would wait for us in vain.
        sys.exit("another version of the plugin than the one that runs; reload it")
    source, output = _streams()
    # Threads that contend for a core cost tenfold; read when the libraries are loaded.
    os.environ.update(dict.fromkeys(_THREAD_LIMITS, "1"))
    record = Path(options["native"])
    native = NativeProbe("chromadb", CHROMA_TRIED, record)
    connection = EmbeddedChroma(
        Path(options["folder"]), native=native, owner_patience=_OWNER_PATIENCE
    )
    store = ChromaVectorStore(connection, pace=WritePace(long=WORKER_LONG))
    worker = Worker(WorkerCalls(connection.load, store), output)
    logger.speak(options["language"])
    logger.add(worker.log, level="DEBUG", format="{message}", catch=True)
    with Path(os.devnull).open("w") as nowhere:
        over = threading.Event()
        awake = threading.Thread(target=_stay_awake, args=(over, nowhere), daemon=True)
        awake.start()
        with contextlib.suppress(Asked):
            worker.serve(source)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if not connection.held:  # importing, say: there is nothing to close
            os._exit(0)
        connection.abandoned()
        over.set()
        awake.join()
        faulthandler.dump_traceback_later(_CLOSING_SECONDS, exit=True, file=nowhere)
        with contextlib.suppress(BaseException):
            store.close()
        os._exit(0)  # what is left of Chroma is not asked to end in order


def _stay_awake(over: threading.Event, nowhere: TextIO) -> None:
    """Where Chroma hangs and holds the interpreter's lock, no Python thread here notices that
    the bot is gone. A thread of C's ends us then: it is put off as long as Python runs."""
    while not over.is_set():
        faulthandler.dump_traceback_later(_ASLEEP_SECONDS, exit=True, file=nowhere)
        over.wait(_LOOK_SECONDS)


def _streams() -> tuple[BinaryIO, BinaryIO]:
    """Where calls come from and answers go. What a library prints goes to the errors instead, or
    it would stand between our messages."""
    from .messages import GREETING

    for name in ("SIGINT", "SIGHUP"):  # meant for the bot: it closes us in order
        if (number := getattr(signal, name, None)) is not None:
            signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _asked)
    source = os.fdopen(os.dup(0), "rb")
    output = os.fdopen(os.dup(1), "wb")
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    output.write(GREETING)
    output.flush()
    return source, output


def _asked(_number: int, _frame: object) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Asked


if __name__ == "__main__":
    # Found by its folder, whatever the host calls the package that we are part of.
    given = json.loads(sys.argv[1])
    os.umask(0o077)  # people's words stand in what is made here
    sys.path += [entry for entry in given["path"] if entry not in sys.path]
    # Not by the engine's front door, which brings in all of it: thirty megabytes.
    engine = ModuleType("llm_memory")
    engine.__path__ = [str(Path(__file__).resolve().parents[2])]
    sys.modules["llm_memory"] = engine
    from llm_memory.index.vector import worker

    worker.run(given)
