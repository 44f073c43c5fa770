"""Chroma in this very process: one owner per directory, opened and closed any number of times."""

from __future__ import annotations

import importlib.metadata
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ...errors import DirectoryInUse, IndexUnavailable
from ...storage.directory_lock import DirectoryLock
from ...storage.disk_space import DiskSpace
from ...storage.imports import import_whole
from ..embedding.native_probe import NativeProbe
from .collections import our_names
from .faults import translated
from .folder_guard import DATABASE, FolderGuard
from .foreign_lock import PATIENCE, ForeignLock
from .probe_process import ProbeProcess

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.config import System

CHROMA_TRIED: Final = Path(__file__).with_name("try_native.py")
"""The program that a NativeProbe of Chroma runs."""
_POLL_SECONDS: Final = 0.1


class EmbeddedChroma:
    """A connection to a directory. Not for two threads at once: its store sees to that."""

    def __init__(
        self,
        path: Path,
        *,
        native: NativeProbe | None = None,
        prober: ProbeProcess | None = None,
        space: DiskSpace | None = None,
        patience: float = PATIENCE,
        owner_patience: float = 0.0,
    ) -> None:
        """Touches no disk.

        Args:
            path: The directory. What is known of it is written down beside it.
            native: Asked before Chroma is imported; None imports it unasked.
            prober: Looks into a directory of which nothing is known.
            space: The disk that the directory lies on.
            patience: Seconds that a call waits while another process has the database.
            owner_patience: Seconds that ``open`` waits for another owner of the directory to end.
        """
        self._lock = DirectoryLock(path)
        self._native = native
        self._prober = prober or ProbeProcess()
        self._space = space or DiskSpace(path)
        self._patience = patience
        self._owner_patience = owner_patience
        self._foreign: ForeignLock | None = None
        self._keeper: FolderGuard | None = None
        self._set_aside = ""
        self._system: System | None = None
        self._client: ClientAPI | None = None

    def open(self) -> ClientAPI:
        """Take the directory, look into it if need be, import Chroma (a second or more), open it.

        After an error nothing is held, and open may be called again.

        Raises:
            IndexUnavailable: ``missing``, there is no Chroma that can be imported; ``native``, it
                would end the process; ``in_use``, another process has the directory; ``busy``,
                another program has the database; ``unreadable``, rights are missing; ``full``;
                ``stuck``, a broken index is in the way; ``fault``, anything else.
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
        self._import()
        keeper = self._take()
        keeper.admit(_version())
        try:
            client = self._start()
            collections = self._read(client)
        except BaseException:  # also what is no Exception: a panic of Chroma's native part
            keeper.failed()
            raise
        self._set_aside = keeper.opened(collections)
        self._foreign = ForeignLock(self._lock.path / DATABASE, patience=self._patience)
        self._foreign.open()
        return client

    @property
    def held(self) -> bool:
        """True while the directory is ours: from before Chroma opens it until it is closed."""
        return self._lock.held

    def abandoned(self) -> None:
        """The process is going to be ended, in the middle of an opening if there is one."""
        if self._keeper is not None and self._client is None:
            self._keeper.abandoned()

    def _import(self) -> None:
        if self._native is not None and (refusal := self._native.refusal()):
            raise IndexUnavailable(f"Chroma does not run here: {refusal}", code="native")
        try:
            import_whole("chromadb.api.client")
        except ImportError as error:
            raise IndexUnavailable(f"no chromadb: {error}", code="missing") from error

    def _take(self) -> FolderGuard:
        """The directory, locked, and its keeper."""
        try:
            self._acquire()
        except DirectoryInUse as error:
            raise IndexUnavailable(str(error), code="in_use") from error
        except OSError as error:
            raise IndexUnavailable(f"{type(error).__name__}: {error}", code="unreadable") from error
        if self._keeper is None:
            folder = self._lock.path
            settings = chroma_settings(folder)
            self._keeper = FolderGuard(folder, settings, prober=self._prober, space=self._space)
        return self._keeper

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

    def _read(self, client: ClientAPI) -> int:
        """How many collections there are. Ours are read: what kills the process at that had better
        do it here, where it is counted, than at a first query."""
        for name in our_names(client, self.owner):
            client.get_collection(name, embedding_function=None).count()
        return len(client.list_collections())

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
        if self._keeper is not None:
            self._keeper.writing(size)

    def removed(self, count: int) -> None:
        if self._keeper is not None:
            self._keeper.removed(count)

    def worn(self, living: int) -> bool:
        return self._keeper is not None and self._keeper.worn(living)

    def settled(self) -> None:
        if self._keeper is not None and self._client is not None:
            self._keeper.settled(_version(), len(self._client.list_collections()))

    def mark_suspect(self) -> None:
        if self._keeper is not None and self._lock.held:
            self._keeper.mark_suspect()

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
        opened = self._client is not None
        try:
            if self._end_chroma() and opened and self._keeper is not None:
                self._keeper.closed(_version())
        finally:
            self._lock.release()

    def _release(self) -> None:
        try:
            self._end_chroma()
        finally:
            self._lock.release()

    def _end_chroma(self) -> bool:
        """False if Chroma complained: what it says is of no use, the next opening looks."""
        try:
            return self._stop()
        finally:
            foreign, self._foreign = self._foreign, None
            if foreign is not None:
                foreign.close()

    def _stop(self) -> bool:
        client, self._client = self._client, None
        system, self._system = self._system, None
        try:
            if client is not None:
                client.close()  # stops its system, too
            elif system is not None:
                system.stop()
        except Exception:  # noqa: BLE001
            return False
        return True


def chroma_settings(folder: Path) -> dict[str, str | bool]:
    """How a folder is opened, by us and by the probe.

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


def _version() -> str:
    try:
        return importlib.metadata.version("chromadb")
    except importlib.metadata.PackageNotFoundError:
        return ""
