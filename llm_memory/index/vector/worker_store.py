"""The port VectorStore over an embedded Chroma that lives in a process of its own, and the way to
the model that lives there, too."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from ...errors import IndexUnavailable
from ...models.passages import Key
from ...models.scope import ScopeFilter
from ...storage.child_process import import_path, python_program
from ...texts import Spoken
from ..chroma.scope_where import scope_where
from ..embedding.ports import Fingerprint, Vector, Vectors
from .embedded import EmbeddedChroma
from .messages import GREETING
from .names import collection_name
from .ports import IndexRecord, Neighbours
from .worker_process import WorkerEnded, WorkerLate, WorkerProcess

WORKER: Final = Path(__file__).with_name("worker.py")
DIED: Final = "died"
"""The code where the process ended by itself, or was ended."""
FAULT: Final = "fault"
HANGS: Final = "hangs"
CRASHED: Final = "crashed"
"""The code where it crashed while it opened the folder."""

_QUERY_SECONDS: Final = 120.0
"""Reading a large graph from a slow disk, the first time, takes long. Past it there is no hope."""
_OPENING_SECONDS: Final = 240.0
"""For the largest folder to be opened and asked, from the slowest disk."""
_LOADING_SECONDS: Final = 280.0
"""For a model to be tried and loaded from the slowest disk."""
_EMBEDDING_SECONDS: Final = 120.0
"""For a few texts. Past it there is no hope."""
_LETTING_GO_SECONDS: Final = 10.0
_ENDING_SECONDS: Final = 6.0
_LEAVING_SECONDS: Final = 30.0
"""For a process to end without a caller waiting."""


def worker_command(folder: Path, native: Path, language: Spoken = "zh") -> tuple[str, ...]:
    """Returns how the process is started; empty where this Python cannot start another.
    ``language`` is that of its log."""
    options = {
        "folder": str(folder),
        "native": str(native),
        "path": import_path(),
        "greeting": GREETING.decode(),
        "language": language,
    }
    return python_program(WORKER, json.dumps(options))


class WorkerStore:
    """Thread-safe. A store that was closed stays closed; make another for the same directory."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        folder: Path | None = None,
        start: Callable[[Sequence[str]], WorkerProcess] = WorkerProcess,
        query_seconds: float = _QUERY_SECONDS,
    ) -> None:
        """
        Args:
            command: Starts the process.
            folder: Where the index lies, for ``clear``; None where it is elsewhere.
            start: Starts it, and raises OSError if it cannot.
            query_seconds: After this long without an answer the process is ended.
        """
        self._command = tuple(command)
        self._folder = folder
        self._start = start
        self._query_seconds = query_seconds
        self._opening = threading.Lock()
        self._worker: WorkerProcess | None = None
        self._named: dict[str, Fingerprint] = {}
        self._discarded = ""
        """Why the folder was discarded, until it is opened again."""
        self._closed = threading.Event()

    def open(self) -> str:
        with self._opening:
            self._have_worker()
            self.ask("load")
            try:
                return self._open_folder()
            except IndexUnavailable as error:
                if error.code not in (CRASHED, HANGS):
                    raise
                reason = error.code
            # The process was the probe. Another one begins a new folder.
            self._give_up()
            self._have_worker()
            self.ask("discard", reason)
            return self._open_folder()

    def _open_folder(self) -> str:
        reason = str(self.ask("open", seconds=_OPENING_SECONDS, crashed=CRASHED))
        discarded, self._discarded = self._discarded, ""
        return reason or discarded

    def _have_worker(self) -> None:
        if self._closed.is_set():
            raise IndexUnavailable("the index is closed", code="closed")
        if self._worker is None or not self._worker.alive:
            self._give_up()
            try:
                self._worker = self._start(self._command)
            except (OSError, ValueError) as error:
                raise IndexUnavailable(f"no process: {error}", code=DIED) from error
        if self._closed.is_set():  # meanwhile
            self._give_up()

    def name_for(self, fingerprint: Fingerprint) -> str:
        name = collection_name(fingerprint)
        self._named[name] = fingerprint
        return name

    def collections(self) -> tuple[str, ...]:
        return tuple(self.ask("collections"))

    def use(self, collection: str) -> bool:
        return bool(self.ask("use", collection, self._named.get(collection)))

    def drop(self, collection: str) -> None:
        self.ask("drop", collection)

    def upsert(self, records: Sequence[IndexRecord], vectors: Vectors) -> None:
        # Without the text: it is not stored.
        self.ask("upsert", [replace(record, text="") for record in records], vectors)

    def delete(self, keys: Sequence[Key]) -> None:
        self.ask("delete", list(keys))

    def hashes(self) -> dict[Key, str]:
        found: dict[Key, str] = {}
        with self._translated():
            for page in self._running().answers("hashes"):
                found.update(page)
        return found

    def count(self) -> int:
        return int(self.ask("count"))

    def query(self, vector: Vector, scope_filter: ScopeFilter, k: int) -> Neighbours:
        scope_where(scope_filter)  # raises for anything but scopes, before it is sent
        found: Neighbours
        found = self.ask("query", vector, scope_filter, k, seconds=self._query_seconds)
        return found

    def worn(self) -> bool:
        return bool(self.ask("worn"))

    def discard(self, reason: str) -> None:
        with self._opening:  # also what holds so much that its process dies of it
            self._have_worker()
            self.ask("discard", reason)
            # Chroma writes memory to disk that it has never filled. What this process held, an id
            # that was purged too, would stand in the files of the next index.
            self._give_up()
            self._discarded = reason

    def clear(self) -> None:
        """Here: no process is started for it."""
        if self._folder is not None:
            EmbeddedChroma(self._folder, owner_patience=_LETTING_GO_SECONDS).clear()

    def reset(self) -> None:
        worker = self._worker
        if worker is None or not worker.alive:
            return
        try:
            self.ask("reset", seconds=_LETTING_GO_SECONDS)
        except IndexUnavailable:
            worker.kill()

    def close(self) -> None:
        self._closed.set()
        opening = not self._opening.acquire(blocking=False)
        worker, self._worker = self._worker, None
        if opening:
            # Importing Chroma, or looking into the folder, may take long: whoever opens next waits
            # for it, and not who closes.
            if worker is not None:
                worker.leave()
                late = threading.Timer(_LEAVING_SECONDS, worker.kill)
                late.daemon = True
                late.start()
            return
        self._opening.release()
        if worker is not None:
            with contextlib.suppress(Exception):
                worker.call("close", seconds=_LETTING_GO_SECONDS)
            worker.end(_ENDING_SECONDS)

    def _running(self) -> WorkerProcess:
        worker = self._worker
        if worker is None:
            raise IndexUnavailable("the index is not open", code="closed")
        return worker

    def ask(
        self, name: str, *arguments: object, seconds: float | None = None, crashed: str = FAULT
    ) -> Any:
        with self._translated(crashed=crashed):
            return self._running().call(name, *arguments, seconds=seconds)

    @contextlib.contextmanager
    def _translated(self, *, crashed: str = FAULT) -> Iterator[None]:
        worker = self._running()
        try:
            yield
        except WorkerLate as late:
            # Whatever holds it up holds up everything else, too.
            worker.kill()
            raise IndexUnavailable("the index does not answer", code=HANGS) from late
        except WorkerEnded as ended:
            # What dies of its folder again and again has it begun anew, as after any other fault.
            code = crashed if ended.crashed else DIED
            code = "closed" if self._closed.is_set() else code
            raise IndexUnavailable(f"the index's process ended: {ended}", code=code) from ended

    def _give_up(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()
