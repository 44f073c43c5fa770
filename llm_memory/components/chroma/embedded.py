"""Chroma inside our process: one owner per directory, opened and closed any number of times."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import DirectoryInUse, IndexUnavailable
from ..directory_lock import DirectoryLock
from .faults import translated

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.config import System


class EmbeddedChroma:
    """A connection to a directory. Not for two threads at once: its store sees to that."""

    def __init__(self, path: Path) -> None:
        self._lock = DirectoryLock(path)
        self._system: System | None = None
        self._client: ClientAPI | None = None

    def open(self) -> ClientAPI:
        """Import Chroma (a second or more), take the directory, open it.

        After an error nothing is held, and open may be called again.

        Raises:
            IndexUnavailable: Chroma is missing or broken, the directory is in use or unreadable.
        """
        try:
            with translated("opening the index"):
                return self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> ClientAPI:
        from chromadb.api.client import Client
        from chromadb.config import Settings, System

        try:
            self._lock.acquire()
        except DirectoryInUse as error:
            raise IndexUnavailable(str(error)) from error
        settings = Settings(
            # All that matters is said here: what is not, the bot's environment and .env decide.
            anonymized_telemetry=False,
            chroma_api_impl="chromadb.api.rust.RustBindingsAPI",
            is_persistent=True,
            persist_directory=str(self._lock.path),
            migrations="apply",
            allow_reset=False,
        )
        # Not PersistentClient: Chroma caches systems by path before it starts them, so that one
        # that failed to start would be handed out at the next attempt.
        system = System(settings)
        self._system = system
        system.start()
        client: ClientAPI = Client.from_system(system)
        self._client = client
        return client

    @property
    def owner(self) -> str:
        return ""  # the directory's lock says that nobody else is here

    @property
    def set_aside(self) -> str:
        return ""

    def writing(self, size: int) -> None:
        pass

    def removed(self, count: int) -> None:
        pass

    def worn(self, living: int) -> bool:
        return False

    def settled(self) -> None:
        pass

    def doubted(self) -> None:
        pass

    def discard(self, reason: str) -> None:
        pass

    def close(self) -> None:
        """Free files and directory. Idempotent. What Chroma says while it closes is of no use."""
        client, self._client = self._client, None
        system, self._system = self._system, None
        try:
            with suppress(Exception):
                if client is not None:
                    client.close()
            with suppress(Exception):
                if system is not None:
                    system.stop()
        finally:
            self._lock.release()
