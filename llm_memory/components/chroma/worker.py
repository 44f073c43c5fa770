"""The process in which embedded Chroma lives; started by ``worker_store.py``.

    python worker.py OPTIONS

OPTIONS is JSON: ``folder``, the index; ``native``, where the answer of the native probe is kept;
``path``, where packages are found, for a Python that does not look at PYTHONPATH; ``greeting``,
what whoever started us expects to hear first.

Embedded Chroma holds the interpreter's lock from the beginning of a call to its end, does not give
back what it took, and may end the process that opens a broken folder. Here that costs the bot
nothing. The process ends when its standard input does, when it is told to, or at SIGTERM: it closes
the folder in order first.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NoReturn, TextIO

if TYPE_CHECKING:
    from ...ports import VectorStore
    from ..frames import Frame

_AT_ONCE: Final = 8
"""Calls: three queries, what is late of them, and one of the owner's."""
_PAGE: Final = 1000
_CLOSING_SECONDS: Final = 5.0
_ASLEEP_SECONDS: Final = 300.0
"""No call of Chroma's takes so long."""
_LOOK_SECONDS: Final = 30.0
_OWNER_PATIENCE: Final = _CLOSING_SECONDS + 2.0
"""The process of a bot that was killed is still closing the folder when the next one comes."""


class Worker:
    """Answers calls of one store. Each has a thread of its own."""

    def __init__(self, store: VectorStore, output: BinaryIO) -> None:
        self._store = store
        self._output = output
        self._sending = threading.Lock()
        self._pool = ThreadPoolExecutor(_AT_ONCE)

    def serve(self, source: BinaryIO) -> None:
        """Until the other end of ``source`` is closed, or says that this is the end."""
        from ..frames import read_frame
        from ..worker_process import END

        while (frame := read_frame(source)) is not None and frame.head["call"] != END:
            self._pool.submit(self._answer, frame)

    def log(self, message: Any) -> None:
        """A sink for the engine's logger."""
        record = message.record
        self._send({"log": [record["level"].name, record["message"]]})

    def _answer(self, frame: Frame) -> None:
        from ...errors import IndexUnavailable

        number = frame.head["id"]
        try:
            call = _CALLS[frame.head["call"]]
            for part in call(self._store, frame.head["args"], frame.body):
                self._send({"id": number, "part": part})
        except BaseException as error:  # noqa: BLE001 - a panic of Chroma's is no Exception
            code = error.code if isinstance(error, IndexUnavailable) else ""
            self._send({"id": number, "error": [type(error).__name__, str(error), code]})
        else:
            self._send({"id": number})

    def _send(self, head: Mapping[str, Any]) -> None:
        from ..frames import Frame, write_frame

        # Nobody listens any more: our input has ended, too.
        with contextlib.suppress(OSError, ValueError), self._sending:
            write_frame(self._output, Frame(head))


type Call = Callable[["VectorStore", Mapping[str, Any], bytes], Iterator[Any]]
"""Store, arguments, body; each part of the answer."""


def _use(store: VectorStore, args: Mapping[str, Any], _: bytes) -> Iterator[bool]:
    from . import wire

    if args["fingerprint"] is not None:
        store.name_for(wire.fingerprint_heard(args["fingerprint"]))
    yield store.use(args["collection"])


def _upsert(store: VectorStore, args: Mapping[str, Any], body: bytes) -> Iterator[None]:
    from . import wire

    store.upsert(wire.records_heard(args["records"]), wire.rows_heard(args["shape"], body))
    yield None


def _delete(store: VectorStore, args: Mapping[str, Any], _: bytes) -> Iterator[None]:
    from . import wire

    store.delete(wire.keys_heard(args["keys"]))
    yield None


def _hashes(store: VectorStore, _args: Mapping[str, Any], _: bytes) -> Iterator[Any]:
    from . import wire

    said = wire.hashes_said(store.hashes())
    for start in range(0, len(said), _PAGE):  # whoever takes them in can breathe between two
        yield said[start : start + _PAGE]


def _query(store: VectorStore, args: Mapping[str, Any], body: bytes) -> Iterator[Any]:
    from . import wire

    vector = wire.rows_heard(args["shape"], body)
    found = store.query(vector, wire.filter_heard(args["filter"]), args["k"])
    yield wire.neighbours_said(found)


def _plain(call: Callable[..., Any], *names: str) -> Call:
    def answer(store: VectorStore, args: Mapping[str, Any], _: bytes) -> Iterator[Any]:
        yield call(store, *(args[name] for name in names))

    return answer


_CALLS: Final[Mapping[str, Call]] = {
    "open": _plain(lambda store: store.open()),
    "collections": _plain(lambda store: list(store.collections())),
    "use": _use,
    "drop": _plain(lambda store, name: store.drop(name), "collection"),
    "upsert": _upsert,
    "delete": _delete,
    "hashes": _hashes,
    "count": _plain(lambda store: store.count()),
    "query": _query,
    "settled": _plain(lambda store: store.settled()),
    "worn": _plain(lambda store: store.worn()),
    "discard": _plain(lambda store, reason: store.discard(reason), "reason"),
    "reset": _plain(lambda store: store.reset()),
    "close": _plain(lambda store: store.close()),
}


class Asked(Exception):
    """SIGTERM came."""


def run(options: Mapping[str, Any]) -> None:
    """Serve a store over the folder until nobody asks any more, and end the process."""
    from ...log import logger
    from ..frames import GREETING
    from ..native_probe import NativeProbe
    from ..vector_store import ChromaVectorStore
    from .embedded import CHROMA_TRIED, EmbeddedChroma
    from .pace import WORKER_LONG, WritePace

    if options["greeting"] != GREETING.decode():
        # The plugin's files were replaced under a bot that runs: it would wait for us in vain.
        sys.exit("another version of the plugin than the one that runs; reload it")
    source, output = _streams()
    native = NativeProbe("chromadb", CHROMA_TRIED, Path(options["native"]))
    connection = EmbeddedChroma(
        Path(options["folder"]), native=native, owner_patience=_OWNER_PATIENCE
    )
    store = ChromaVectorStore(connection, pace=WritePace(long=WORKER_LONG))
    worker = Worker(store, output)
    if (add := getattr(logger, "add", None)) is not None:
        add(worker.log, level="DEBUG", format="{message}", catch=True)
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
    """Where Chroma hangs and holds the interpreter's lock, nobody here hears that the bot is gone.
    A thread of C's ends us then: it is put off as long as Python runs."""
    while not over.is_set():
        faulthandler.dump_traceback_later(_ASLEEP_SECONDS, exit=True, file=nowhere)
        over.wait(_LOOK_SECONDS)


def _streams() -> tuple[BinaryIO, BinaryIO]:
    """Where calls come from and answers go. What a library prints goes to the errors instead, or
    it would stand between our messages."""
    from ..frames import GREETING

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
    root = str(Path(__file__).resolve().parents[3])
    sys.path.insert(0, root)
    from llm_memory.components.chroma import worker

    sys.path.remove(root)
    worker.run(given)
