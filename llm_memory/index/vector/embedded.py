"""Chroma in this very process: one owner per directory, opened and closed any number of times."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ...errors import DirectoryInUse, IndexUnavailable
from ...storage.directory_lock import DirectoryLock
from ...storage.disk_space import DiskSpace
from ...storage.imports import import_whole
from ..embedding.native_probe import NativeProbe
from .collections import our_names
from .faults import translated
from .folder_check import DATABASE, GARBAGE, PARTIAL, ask
from .folder_guard import OPENINGS, FolderGuard
from .foreign_lock import PATIENCE, ForeignLock

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.config import System

CHROMA_TRIED: Final = Path(__file__).with_name("try_native.py")
"""The program that a NativeProbe of Chroma runs."""
_POLL_SECONDS: Final = 0.1
_BROKEN: Final = (GARBAGE, PARTIAL, OPENINGS)
"""The codes of a folder that is set aside."""


class EmbeddedChroma:
    """A connection to a directory. Not for two threads at once: its store sees to that."""

    def __init__(
        self,
        path: Path,
        *,
        native: NativeProbe | None = None,
        space: DiskSpace | None = None,
        patience: float = PATIENCE,
        owner_patience: float = 0.0,
    ) -> None:
        """Touches no disk.

        Args:
            path: The directory. What is known of it is written down beside it.
            native: Asked before Chroma is imported; None imports it unasked.
            space: The disk that the directory lies on.
            patience: Seconds that a call waits while another process has the database.
            owner_patience: Seconds that ``open`` waits for another owner of the directory to end.
        """
        self._lock = DirectoryLock(path)
        self._native = native
        self._space = space or DiskSpace(path)
        self._patience = patience
        self._owner_patience = owner_patience
        self._foreign: ForeignLock | None = None
        self._guard: FolderGuard | None = None
        self._set_aside = ""
        self._system: System | None = None
        self._client: ClientAPI | None = None

    def open(self) -> ClientAPI:
        """Take the directory, open it, ask it a few questions; set it aside if it is broken, and
        begin a new one.

        After an error nothing is held, and open may be called again. A broken directory may also
        end the process.

        Raises:
            IndexUnavailable: as ``load``; ``in_use``, another process has the directory; ``busy``,
                another program has the database; ``unreadable``, rights are missing; ``full``;
                ``stuck``, a broken index is in the way; ``faulty``, that was set aside too often;
                ``garbage`` or ``partial``, also a new one is broken; ``fault``, anything else.
        """
        try:
            with translated("opening the index"):
                return self._open()
        except BaseException:
            self._release()
            raise

    def _open(self) -> ClientAPI:
        if self._client is not None:
            return self._client
        self.load()
        guard = self._take()
        try:
            client = self._admitted(guard)
        except IndexUnavailable as error:
            if error.code not in _BROKEN:
                raise
            self._stop()
            guard.discard(error.code, str(error))
            client = self._admitted(guard)
        self._set_aside = guard.opened()
        self._foreign = ForeignLock(self._lock.path / DATABASE, patience=self._patience)
        self._foreign.open()
        return client

    def _admitted(self, guard: FolderGuard) -> ClientAPI:
        """Whatever ends the process at this is laid to the folder."""
        guard.admit()
        try:
            with translated("opening the index", opening=True):
                client = self._start()
                for name in our_names(client, self.owner):
                    ask(client.get_collection(name, embedding_function=None))
                return client
        except BaseException:  # also what is no Exception: a panic of Chroma's native part
            guard.ended()
            raise

    @property
    def held(self) -> bool:
        """True while the directory is ours: from before Chroma opens it until it is closed."""
        return self._guard is not None

    def abandoned(self) -> None:
        """The process is going to be ended, in the middle of an opening if there is one."""
        if self._guard is not None and self._foreign is None:
            self._guard.abandoned()

    def load(self) -> None:
        """Import Chroma, which takes a second or more. Idempotent.

        Raises:
            IndexUnavailable: ``missing``, there is none that can be imported; ``native``, it would
                end the process.
        """
        if self._native is not None and (refusal := self._native.refusal()):
            raise IndexUnavailable(f"Chroma does not run here: {refusal}", code="native")
        try:
            import_whole("chromadb.api.client")
        except ImportError as error:
            raise IndexUnavailable(f"no chromadb: {error}", code="missing") from error

    def _take(self) -> FolderGuard:
        """The directory, locked, and its guard."""
        try:
            self._acquire()
        except DirectoryInUse as error:
            raise IndexUnavailable(str(error), code="in_use") from error
        except OSError as error:
            raise IndexUnavailable(f"{type(error).__name__}: {error}", code="unreadable") from error
        if self._guard is None:
            self._guard = FolderGuard(self._lock.path, space=self._space)
        return self._guard

    def _acquire(self) -> None:
        deadline = time.monotonic() + self._owner_patience
        while True:
            try:
                self._lock.acquire()
            except DirectoryInUse:
                if time.monotonic() >= deadline:
                    raise
                time.sleep(_POLL_SECONDS)
            else:
                return

    def _start(self) -> ClientAPI:
        from chromadb.api.client import Client
        from chromadb.config import Settings, System

        # Not PersistentClient: Chroma caches systems by path before it starts them, so that one
        # that failed to start would be handed out at the next attempt.
        system = System(Settings(**chroma_settings(self._lock.path)))
        self._system = system
        system.start()
        client: ClientAPI = Client.from_system(system)
        self._client = client
        return client

    @property
    def owner(self) -> str:
        return ""  # the directory's lock says that no other process is here

    @property
    def set_aside(self) -> str:
        return self._set_aside

    def asking(self) -> None:
        if self._foreign is not None:
            self._foreign.wait(to_write=False)

    def writing(self, size: int) -> None:
        if self._foreign is not None:
            self._foreign.wait(to_write=True)
        if self._guard is not None:
            self._guard.writing(size)

    def removed(self, count: int) -> None:
        if self._guard is not None:
            self._guard.removed(count)

    def worn(self, living: int) -> bool:
        return self._guard is not None and self._guard.worn(living)

    def discard(self, reason: str) -> None:
        """Raises IndexUnavailable: ``in_use``, ``unreadable`` or ``stuck``."""
        try:
            self._take().discard(reason)
        finally:
            self._lock.release()

    def clear(self) -> None:
        """Raises IndexUnavailable as ``discard``."""
        if not self._lock.path.is_dir():
            return
        try:
            self._take().clear()
        finally:
            self._lock.release()

    def close(self) -> None:
        """Free files and directory. Idempotent. What Chroma says while it closes is of no use."""
        if self._client is not None and self._guard is not None:
            self._guard.closed()
        self._release()

    def _release(self) -> None:
        try:
            self._stop()
        finally:
            foreign, self._foreign = self._foreign, None
            if foreign is not None:
                foreign.close()
            self._lock.release()

    def _stop(self) -> None:
        client, self._client = self._client, None
        system, self._system = self._system, None
        with suppress(Exception):
            if client is not None:
                client.close()  # stops its system, too
            elif system is not None:
                system.stop()


def chroma_settings(folder: Path) -> dict[str, str | bool]:
    """How a folder is opened.

    All that matters is said here: what is not, the bot's environment and its .env decide.
    """
    return {
        "anonymized_telemetry": False,
        "chroma_api_impl": "chromadb.api.rust.RustBindingsAPI",
        "is_persistent": True,
        "persist_directory": str(folder),
        "migrations": "apply",
        "allow_reset": False,
    }
